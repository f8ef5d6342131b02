/** A dashboard that is kept up to date until a person changes it: then it is theirs. */
import { isJsonObject, type JsonObject } from '../../values/json.ts';
import { isSame, isUntouched, markOf } from './mark.ts';
import { type Api, idIn, type Made, type Step } from './plan.ts';

const WHAT = 'dashboard';

/** As it is saved, with its fingerprint. */
export function marked(dashboard: JsonObject): JsonObject {
  const configuration = configurationOf(dashboard);
  return { ...dashboard, configuration: { description: markOf(configuration), ...configuration } };
}

export function dashboardStep(
  api: Api,
  wanted: JsonObject,
  found: JsonObject | undefined,
  note: (made: Made, id: string) => void,
): Step {
  const step = { what: WHAT, name: String(wanted.title) };
  const body = marked(wanted);
  const saveAs = (more: JsonObject) => async (made: Made) =>
    note(made, idIn(await api.post('/api/dashboard', { ...body, ...more })));
  if (found === undefined) return { ...step, verdict: 'make', carryOut: saveAs({}) };
  const { description, ...configuration } = configurationOf(found);
  if (isSame(configuration, configurationOf(wanted))) return { ...step, verdict: 'keep' };
  if (!isUntouched(configuration, description))
    return { ...step, verdict: 'keep', why: 'somebody has changed it; delete or rename it to get a new one' };
  return {
    ...step,
    verdict: 'change',
    why: 'nobody has changed it since it was made',
    carryOut: saveAs(ownMembers(found)),
  };
}

/** Members of the one that is there, which a change leaves: whose it is, and who sees it. */
function ownMembers({
  id = null,
  version = null,
  image = null,
  assignedCustomers = null,
  mobileHide = false,
}: JsonObject): JsonObject {
  return { id, version, image, assignedCustomers, mobileHide };
}

function configurationOf({ configuration }: JsonObject): JsonObject {
  return isJsonObject(configuration) ? configuration : {};
}
