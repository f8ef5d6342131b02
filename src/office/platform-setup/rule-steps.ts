/**
 * Alarm rules of a profile: made where there is none of that name, and kept up to date until a person changes one. One that this program made
 * under another name, as its key had no label then, or another one, is the same rule.
 */
import { isJsonObject, type JsonObject, type JsonValue } from '../../values/json.ts';
import { plainRuleName } from './alarm-rules.ts';
import { isNamedByMark, isSame, isUntouched, markOf, namedMarkOf } from './mark.ts';
import { type Api, idIn, type Made, reference, type Step } from './plan.ts';

const WHAT = 'alarm rule';

/** As it is saved, with its mark. */
export function markedRule(rule: JsonObject): JsonObject {
  const [name, plain] = [String(rule.name), plainRuleName(rule)];
  const content = contentOf(rule);
  const description = plain === undefined || plain === name ? markOf(content) : namedMarkOf(content, name);
  return { ...rule, additionalInfo: { description } };
}

/** Alarm rules of a profile, which may not be there yet; undefined on a platform that has no such rules. @throws PlatformError. */
export async function alarmRulesOf(
  api: Api,
  profileId: string | undefined,
): Promise<readonly JsonObject[] | undefined> {
  const all = '/api/calculatedFields?types=ALARM&entityType=DEVICE_PROFILE';
  // Without types the platform leaves out alarm rules.
  if (profileId !== undefined) return api.list(`${all}&entities=${profileId}`);
  return (await api.get(`${all}&pageSize=1&page=0`)) === undefined ? undefined : [];
}

/** One step for each rule. @param found undefined on a platform that has no such rules. */
export function ruleSteps(
  api: Api,
  rules: readonly JsonObject[],
  found: readonly JsonObject[] | undefined,
): readonly Step[] {
  if (found === undefined)
    return [{ what: WHAT, name: 'all', verdict: 'keep', why: 'left out: this platform is older than 4.3' }];
  return rules.map((rule) => ruleStep(api, rule, foundFor(rule, found)));
}

/** The rule of that name, else the one that had the key's plain name, or has a name that this program gave to a rule on this key. */
function foundFor(rule: JsonObject, found: readonly JsonObject[]): JsonObject | undefined {
  const alarms = found.filter(({ type }) => type === 'ALARM');
  const plain = plainRuleName(rule);
  const isOurs = (one: JsonObject): boolean =>
    plain !== undefined && plainRuleName(one) === plain && isNamedByMark(String(one.name), descriptionOf(one));
  return (
    alarms.find(({ name }) => name === rule.name) ??
    alarms.find(({ name }) => plain !== undefined && name === plain) ??
    alarms.find(isOurs)
  );
}

function descriptionOf({ additionalInfo }: JsonObject): JsonValue | undefined {
  return isJsonObject(additionalInfo) ? additionalInfo.description : undefined;
}

function ruleStep(api: Api, rule: JsonObject, found: JsonObject | undefined): Step {
  const hasLabel = rule.name !== plainRuleName(rule);
  // Without a configuration no label is known, and the name that one has given stays.
  const name = String(hasLabel || found === undefined ? rule.name : found.name);
  const step = { what: WHAT, name };
  const saveAs =
    (more: JsonObject) =>
    async ({ profile }: Made) => {
      await api.post('/api/calculatedField', {
        ...markedRule({ ...rule, name }),
        entityId: reference('DEVICE_PROFILE', idIn(profile)),
        ...more,
      });
    };
  if (found === undefined) return { ...step, verdict: 'make', carryOut: saveAs({}) };
  const content = contentOf(found);
  const isNamed = found.name === name;
  if (isSame(content, contentOf(rule)) && isNamed) return { ...step, verdict: 'keep' };
  const { id = null, version = null, debugSettings = null } = found;
  if (!isUntouched(content, descriptionOf(found)))
    return {
      ...step,
      verdict: 'keep',
      why: 'it differs, and somebody has made or changed it; delete or rename it to get a new one',
    };
  return {
    ...step,
    verdict: 'change',
    why: isNamed ? 'nobody has changed it since it was made' : `it was ${String(found.name)}; the label names it now`,
    carryOut: saveAs({ id, version, debugSettings }),
  };
}

/** All that a rule does. A server writes members that say nothing, which nobody has changed. */
function contentOf({ configuration }: JsonObject): JsonObject {
  return isJsonObject(configuration) ? (meant(configuration) as JsonObject) : {};
}

function meant(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(meant);
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).map(([name, member]) => [name, meant(member ?? null)] as const);
  return Object.fromEntries(members.filter(([, member]) => !isNothing(member)));
}

function isNothing(value: JsonValue): boolean {
  if (value === null || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}
