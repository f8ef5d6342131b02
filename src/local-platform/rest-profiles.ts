/** REST: device profiles with their provisioning and packages. */
import { randomUUID } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../host/json.ts';
import type { DeviceProfile, ProvisionType } from './device-registry.ts';
import { entityId, idIn, objectIn, page, TENANT_ID } from './entities.ts';
import { jsonReply, OK, type Reply } from './http-reply.ts';
import type { Call, Routes } from './http-service.ts';
import type { LocalPlatform } from './local-platform.ts';
import { assignedIn, OTA_KIND_NAMES, OTA_KINDS } from './ota-packages.ts';
import { existing, PayloadFault } from './request-faults.ts';

const PROVISION_TYPES: readonly ProvisionType[] = ['DISABLED', 'ALLOW_CREATE_NEW_DEVICES', 'CHECK_PRE_PROVISIONED_DEVICES'];

export function restProfileRoutes(platform: LocalPlatform): Routes {
  const { people } = platform;
  const { registry } = platform.state;
  const { devices, profiles } = registry;
  return {
    'POST /api/deviceProfile': people.admins((call) => saveProfile(platform, call)),
    'DELETE /api/deviceProfile/:id': people.admins((call) => {
      const profile = existing(profiles.byId(call.params.id ?? ''));
      if (profile.isDefault) throw new PayloadFault('Deletion of Default Device Profile is prohibited!');
      if (devices.all.some(({ profileId }) => profileId === profile.id))
        throw new PayloadFault('The device profile referenced by the devices cannot be deleted!');
      profiles.remove(profile.id);
      return OK;
    }),
    'GET /api/deviceProfiles': people.admins((call) => jsonReply(page(profiles.all.map(profileJson), call.query))),
    'GET /api/deviceProfileInfo/default': people.users(() => jsonReply(profileJson(registry.defaultProfile))),
  };
}

function saveProfile({ packages, settings, state }: LocalPlatform, call: Call): Reply {
  const { devices, profiles } = state.registry;
  const body = objectIn(call);
  const { name, provisionDeviceKey, profileData } = body;
  const id = idIn(body.id);
  const before = profiles.byId(id ?? '');
  const named = typeof name === 'string' ? name : before?.name;
  if (named === undefined) throw new PayloadFault('Device profile name should be specified!');
  if (profiles.all.some((other) => other.name === named && other.id !== id))
    throw new PayloadFault('Device profile with such name already exists!');
  const configuration =
    isJsonObject(profileData) && isJsonObject(profileData.provisionConfiguration) ? profileData.provisionConfiguration : {};
  const type = body.provisionType ?? configuration.type ?? before?.provisionType;
  const secret = configuration.provisionDeviceSecret ?? before?.provisionDeviceSecret;
  const key = provisionDeviceKey ?? before?.provisionDeviceKey;
  const assigned = assignedIn(body, before ?? {}, state.packages);
  const profile: DeviceProfile = {
    id: id ?? randomUUID(),
    name: named,
    isDefault: before?.isDefault ?? false,
    createdMs: before?.createdMs ?? settings.clock.wallMs(),
    provisionType: PROVISION_TYPES.find((known) => known === type) ?? 'DISABLED',
    ...(typeof key === 'string' ? { provisionDeviceKey: key } : {}),
    ...(typeof secret === 'string' ? { provisionDeviceSecret: secret } : {}),
    ...assigned,
  };
  profiles.put(profile);
  for (const kind of OTA_KIND_NAMES) {
    const { field } = OTA_KINDS[kind];
    if (assigned[field] === before?.[field]) continue;
    for (const device of devices.all) if (device.profileId === profile.id && device[field] === undefined) packages.announce(device, kind);
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
    firmwareId: entityId('OTA_PACKAGE', profile.firmwareId),
    softwareId: entityId('OTA_PACKAGE', profile.softwareId),
    profileData: {
      provisionConfiguration: { type: profile.provisionType, provisionDeviceSecret: profile.provisionDeviceSecret ?? null },
    },
  };
}
