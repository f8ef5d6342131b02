/**
 * Lines of a program's standard output. A line is the protocol's when it is a JSON object with nothing but the protocol's members, each of its type:
 * programs that know nothing of it print `id`, `state` and `value` of their own. NaN and Infinity are null.
 *
 *   {"readings": {"power": {"value": 3, "unit": "kW"}}}   {"fault": "no signal"}   {"ready": true}   {"state": {"pump": true}}
 *   {"id": 1, "ok": true, "value": true}                  {"id": 1, "error": "the valve is stuck"}
 */
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../values/json.ts';
import { withoutNoNumbers } from '../values/no-numbers.ts';

export interface ProgramAnswer {
  readonly kind: 'answer';
  readonly id: number;
  /** Undefined when the command was carried out. */
  readonly error?: string;
  readonly value?: JsonValue;
}

export interface ProgramReport {
  readonly kind: 'report';
  readonly line: string;
  readonly readings?: JsonObject;
  /** Words; null when it is over. */
  readonly fault?: string | null;
  /** States of its outputs. */
  readonly state?: JsonObject;
}

/** A line that is not the protocol's. */
export interface ProgramText {
  readonly kind: 'text';
  readonly line: string;
}

export type ProgramMessage = ProgramAnswer | ProgramReport | ProgramText;

const MAY_BE_PROTOCOL = /^\s*\{.*"(?:readings|fault|ready|state|id)"\s*:/;
const MAX_DEPTH = 8;
const REPORT: Readonly<Record<string, (value: JsonValue | undefined) => boolean>> = {
  readings: isJsonObject,
  fault: (value) => typeof value === 'string' || value === null,
  state: isJsonObject,
  ready: (value) => typeof value === 'boolean',
};
const ANSWER: Readonly<Record<string, (value: JsonValue | undefined) => boolean>> = {
  id: (value) => typeof value === 'number',
  ok: (value) => typeof value === 'boolean',
  error: (value) => typeof value === 'string',
  value: () => true,
};

export function programMessage(line: string): ProgramMessage {
  const text: ProgramText = { kind: 'text', line };
  if (!MAY_BE_PROTOCOL.test(line)) return text;
  let json: JsonValue;
  try {
    json = parseJson(withoutNoNumbers(line), { depth: MAX_DEPTH });
  } catch {
    return text;
  }
  if (!isJsonObject(json)) return text;
  if (isOf(json, ANSWER) && json.id !== undefined && (json.ok !== undefined || json.error !== undefined))
    return answerOf(json);
  if (!isOf(json, REPORT) || Object.keys(json).length === 0) return text;
  const { readings, fault, state } = json as Pick<ProgramReport, 'readings' | 'fault' | 'state'>;
  return {
    kind: 'report',
    line,
    ...(readings !== undefined && { readings }),
    ...(fault !== undefined && { fault }),
    ...(state !== undefined && { state }),
  };
}

function answerOf({ id, ok, error, value }: JsonObject): ProgramAnswer {
  const told = typeof error === 'string' ? error : ok === true ? undefined : 'it says no';
  return {
    kind: 'answer',
    id: Number(id),
    ...(told !== undefined && { error: told }),
    ...(value !== undefined && { value }),
  };
}

function isOf(json: JsonObject, members: typeof REPORT): boolean {
  return Object.entries(json).every(([key, value]) => Object.hasOwn(members, key) && members[key]?.(value) === true);
}
