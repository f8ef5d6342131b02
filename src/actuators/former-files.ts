/**
 * The files of the release before, read once: what was wished last of each output and when it switched, and which rules stood. They stay
 * where they are: that release finds them when an update is rolled back.
 */

import type { StateFile } from '../store/state-file.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../values/json.ts';
import { ANY_VERSION } from './priority-slots.ts';

/** The formats of `actuators.json` and `standing-rules.json`. */
export const FORMER_ACTUATORS_FORMAT = { format: 'turnstone/actuators', version: 1 } as const;
export const FORMER_RULES_FORMAT = { format: 'turnstone/standing-rules', version: 1 } as const;

export interface FormerFiles {
  readonly actuators: Pick<StateFile, 'read' | 'isLost'>;
  readonly rules: Pick<StateFile, 'read' | 'isLost'>;
}

/** The state of all outputs in the words of their own file; undefined where there is none. */
export async function takenOver({ actuators, rules }: FormerFiles): Promise<JsonObject | undefined> {
  const [known, standing] = await Promise.all([actuators.read(), rules.read()]);
  if (known === undefined && standing === undefined) return undefined;
  const wished = isJsonObject(known?.actuators) ? known.actuators : {};
  const rulesOf = Map.groupBy(
    Array.isArray(standing?.standing) ? standing.standing.flatMap(ruleOf) : [],
    ({ actuator }) => actuator,
  );
  const outputs = [...new Set([...Object.keys(wished), ...rulesOf.keys()])].map((name) => {
    const one = wished[name];
    const { value, isSilenced, ...history } = isJsonObject(one) ? one : {};
    const left = value === undefined || isSilenced === true ? {} : { left: value };
    return [name, { ...history, ...left, rules: rulesOf.get(name)?.map(({ rule }) => rule) ?? [] }] as const;
  });
  const { bootId = null, lostAtMs } = known ?? {};
  return { bootId, outputs: Object.fromEntries(outputs), ...(lostAtMs !== undefined && { lostAtMs }), isClosed: true };
}

/** Returns a rule's slot; one that was overruled says nothing before its condition begins again. */
function ruleOf(json: JsonValue): { readonly actuator: string; readonly rule: JsonObject }[] {
  if (!isJsonObject(json) || typeof json.actuator !== 'string') return [];
  const { rule: name = null, actuator, ended, overruled } = json;
  const phase = ended === true ? 'otherwise' : 'set';
  return [
    { actuator, rule: { name, version: ANY_VERSION, set: true, phase, isBarred: overruled === true, sinceMs: 0 } },
  ];
}
