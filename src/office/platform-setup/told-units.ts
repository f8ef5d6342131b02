/** Units as gateways tell them of their own keys, in the client attribute `units`. */
import { isJsonObject, type JsonObject } from '../../values/json.ts';
import { type Api, idIn } from './plan.ts';
import type { Units } from './units.ts';

/** Gateways of a fleet are much alike: the newest of them say what there is. */
const MAX_DEVICES = 50;
/** A unit as dashboards show it; a device may tell anything. */
const UNIT = /^[^<>&"\p{C}]{1,32}$/u;

/** By key; of two gateways that differ the newer one counts. @param profile name, which is the type of its devices. @throws PlatformError. */
export async function toldUnits(api: Api, profile: string): Promise<Units> {
  const units = new Map<string, string>();
  for (const device of await newestDevices(api, profile)) {
    const found = await api.get(
      `/api/plugins/telemetry/DEVICE/${idIn(device)}/values/attributes/CLIENT_SCOPE?keys=units`,
    );
    const told = Array.isArray(found) ? found.find((one) => isJsonObject(one) && one.key === 'units') : undefined;
    const value = isJsonObject(told) ? told.value : undefined;
    for (const [key, unit] of isJsonObject(value) ? Object.entries(value) : [])
      if (typeof unit === 'string' && UNIT.test(unit) && !units.has(key)) units.set(key, unit);
  }
  return units;
}

async function newestDevices(api: Api, type: string): Promise<readonly JsonObject[]> {
  const newest = { pageSize: String(MAX_DEVICES), page: '0', sortProperty: 'createdTime', sortOrder: 'DESC' };
  const found = await api.get(`/api/tenant/devices?${new URLSearchParams({ type, ...newest })}`);
  const data = isJsonObject(found) && Array.isArray(found.data) ? found.data : [];
  return data.filter(isJsonObject).slice(0, MAX_DEVICES);
}
