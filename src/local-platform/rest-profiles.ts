/** REST: device profiles with their provisioning and packages (wire-facts.md, "The people's side"). */
import { randomUUID } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../host/json.ts';
import type { DeviceProfile, ProvisionType } from './device-registry.ts';
import { entityId, idIn, objectIn, page, TENANT_ID } from './entities.ts';
import { errorReply, jsonReply, type Reply } from './http-reply.ts';
import type { Call, Route } from './http-service.ts';
import { assignedIn, OTA_KIND_NAMES, OTA_KINDS } from './ota-packages.ts';
import { PayloadFault } from './payload-fault.ts';
import type { RestDevicesDeps } from './rest-devices.ts';

const PROVISION_TYPES: readonly ProvisionType[] = ['DISABLED', 'ALLOW_CREATE_NEW_DEVICES', 'CHECK_PRE_PROVISIONED_DEVICES'];

export function restProfileRoutes(deps: RestDevicesDeps): readonly Route[] {
  const { people } = deps;
  const { registry } = deps.state;
  return [
    { method: 'POST', path: '/api/deviceProfile', handler: people.only((_user, call) => saveProfile(deps, call), 'TENANT_ADMIN') },
    {
      method: 'DELETE',
      path: '/api/deviceProfile/:id',
      handler: people.only((_user, call) => {
        const profile = registry.profile(call.params.id ?? '');
        if (profile === undefined) return errorReply(404, "Requested item wasn't found!", deps.clock, 32);
        if (profile.isDefault) throw new PayloadFault('Deletion of Default Device Profile is prohibited!');
        if (registry.devices.some(({ profileId }) => profileId === profile.id))
          throw new PayloadFault('The device profile referenced by the devices cannot be deleted!');
        deps.state.deleteProfile(profile.id);
        return { status: 200 };
      }, 'TENANT_ADMIN'),
    },
    {
      method: 'GET',
      path: '/api/deviceProfiles',
      handler: people.only((_user, call) => jsonReply(page(registry.profiles.map(profileJson), call.query)), 'TENANT_ADMIN'),
    },
    {
      method: 'GET',
      path: '/api/deviceProfileInfo/default',
      handler: people.only(() => jsonReply(profileJson(registry.defaultProfile))),
    },
  ];
}

function saveProfile(deps: RestDevicesDeps, call: Call): Reply {
  const { state, clock } = deps;
  const body = objectIn(call);
  const { name, provisionDeviceKey, profileData } = body;
  const id = idIn(body.id);
  const before = id === undefined ? undefined : state.registry.profile(id);
  const named = typeof name === 'string' ? name : before?.name;
  if (named === undefined) throw new PayloadFault('Device profile name should be specified!');
  if (state.registry.profiles.some((other) => other.name === named && other.id !== id))
    throw new PayloadFault('Device profile with such name already exists!');
  const configuration =
    isJsonObject(profileData) && isJsonObject(profileData.provisionConfiguration) ? profileData.provisionConfiguration : {};
  const type = body.provisionType ?? configuration.type ?? before?.provisionType;
  const secret = configuration.provisionDeviceSecret ?? before?.provisionDeviceSecret;
  const key = provisionDeviceKey ?? before?.provisionDeviceKey;
  const assigned = assignedIn(body, before ?? {}, deps.packages);
  const profile: DeviceProfile = {
    id: id ?? randomUUID(),
    name: named,
    isDefault: before?.isDefault ?? false,
    createdMs: before?.createdMs ?? clock.wallMs(),
    provisionType: PROVISION_TYPES.find((known) => known === type) ?? 'DISABLED',
    ...(typeof key === 'string' ? { provisionDeviceKey: key } : {}),
    ...(typeof secret === 'string' ? { provisionDeviceSecret: secret } : {}),
    ...assigned,
  };
  state.saveProfile(profile);
  for (const kind of OTA_KIND_NAMES) {
    const { field } = OTA_KINDS[kind];
    if (assigned[field] === before?.[field]) continue;
    for (const device of state.registry.devices)
      if (device.profileId === profile.id && device[field] === undefined) deps.packages.announce(device, kind);
  }
  return jsonReply(profileJson(profile));
}

function profileJson(profile: DeviceProfile): JsonObject {
  return {
    id: entityId('DEVICE_PROFILE', profile.id),
    createdTime: profile.createdMs,
    tenantId: entityId('TENANT', TENANT_ID),
    name: profile.name,
    default: profile.isDefault,
    type: 'DEFAULT',
    transportType: 'DEFAULT',
    provisionType: profile.provisionType,
    provisionDeviceKey: profile.provisionDeviceKey ?? null,
    firmwareId: profile.firmwareId === undefined ? null : entityId('OTA_PACKAGE', profile.firmwareId),
    softwareId: profile.softwareId === undefined ? null : entityId('OTA_PACKAGE', profile.softwareId),
    profileData: {
      provisionConfiguration: { type: profile.provisionType, provisionDeviceSecret: profile.provisionDeviceSecret ?? null },
    },
  };
}
