/**
 * A dashboard that is kept up to date until a person changes it. The description holds a fingerprint of what this program has saved: where the
 * dashboard is no longer that, somebody has changed it, and it is theirs.
 */
import { createHash } from 'node:crypto';
import { isJsonObject, type JsonObject, type JsonValue } from '../../host/json.ts';
import { type Api, idIn, type Made, type Step } from './plan.ts';

const MARK = /Made by turnstone platform-setup \[([0-9a-f]{16})\]/;
const WHAT = 'dashboard';

/** As it is saved, with its fingerprint. */
export function marked(dashboard: JsonObject): JsonObject {
  const configuration = configurationOf(dashboard);
  const description = `Made by turnstone platform-setup [${fingerprintOf(configuration)}]`;
  return { ...dashboard, configuration: { description, ...configuration } };
}

export function dashboardStep(api: Api, wanted: JsonObject, found: JsonObject | undefined, note: (made: Made, id: string) => void): Step {
  const step = { what: WHAT, name: String(wanted.title) };
  const body = marked(wanted);
  const saveAs = (more: JsonObject) => async (made: Made) => note(made, idIn(await api.post('/api/dashboard', { ...body, ...more })));
  if (found === undefined) return { ...step, verdict: 'make', carryOut: saveAs({}) };
  const { description, ...configuration } = configurationOf(found);
  const fingerprint = fingerprintOf(configuration);
  if (fingerprint === fingerprintOf(configurationOf(wanted))) return { ...step, verdict: 'keep' };
  if (MARK.exec(String(description))?.[1] !== fingerprint)
    return { ...step, verdict: 'keep', why: 'somebody has changed it; delete or rename it to get a new one' };
  return { ...step, verdict: 'change', why: 'nobody has changed it since it was made', carryOut: saveAs(ownMembers(found)) };
}

/** Members of the one that is there, which a change leaves: whose it is, and who sees it. */
function ownMembers({ id = null, version = null, image = null, assignedCustomers = null, mobileHide = false }: JsonObject): JsonObject {
  return { id, version, image, assignedCustomers, mobileHide };
}

function configurationOf({ configuration }: JsonObject): JsonObject {
  return isJsonObject(configuration) ? configuration : {};
}

/** The same for the same content, in whatever order a server writes its members. */
function fingerprintOf(value: JsonObject): string {
  return createHash('sha256').update(canonical(value)).digest('hex').slice(0, 16);
}

function canonical(value: JsonValue | undefined): string {
  if (Array.isArray(value)) return `[${(value as readonly JsonValue[]).map(canonical).join(',')}]`;
  if (!isJsonObject(value)) return typeof value === 'bigint' ? String(value) : JSON.stringify(value ?? null);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`;
}
