/** REST: device profiles. A body replaces the profile as a whole, as on the real server; only key and secret of a body without them stay. */
import { randomUUID } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../../values/json.ts';
import type { DeviceProfile, ProvisionType } from './device-registry.ts';
import { checkVersion, existing, jsonReply, OK, PayloadFault, type Reply } from './http-reply.ts';
import type { Call, Routes } from './http-service.ts';
import type { LocalPlatform } from './local-platform.ts';
import { assignedIn, OTA_KIND_NAMES, OTA_KINDS } from './ota-packages.ts';
import { entityId, idIn, objectIn, page, TENANT_ID } from './payload.ts';
import { searched } from './rest-library.ts';

const PROVISION_TYPES: readonly ProvisionType[] = [
  'DISABLED',
  'ALLOW_CREATE_NEW_DEVICES',
  'CHECK_PRE_PROVISIONED_DEVICES',
];
/** Members that are kept, and that nothing here looks at. */
const KEPT = ['description', 'image', 'defaultDashboardId', 'defaultRuleChainId', 'defaultQueueName', 'transportType'];

export function restProfileRoutes(platform: LocalPlatform): Routes {
  const { people } = platform;
  const { registry, telemetry } = platform.state;
  const { devices, profiles } = registry;
  const found = (call: Call): DeviceProfile => existing(profiles.byId(call.params.id ?? ''));
  return {
    'POST /api/deviceProfile': people.admins((call) => saveProfile(platform, call)),
    'GET /api/deviceProfile/:id': people.admins((call) => jsonReply(profileJson(found(call)))),
    'DELETE /api/deviceProfile/:id': people.admins((call) => {
      const profile = found(call);
      if (profile.isDefault) throw new PayloadFault('Deletion of Default Device Profile is prohibited!');
      if (devices.all.some(({ profileId }) => profileId === profile.id))
        throw new PayloadFault('The device profile referenced by the devices cannot be deleted!');
      profiles.remove(profile.id);
      return OK;
    }),
    'GET /api/deviceProfiles': people.admins((call) =>
      jsonReply(page(searched(profiles.all.map(profileJson), 'name', call), call.query)),
    ),
    'GET /api/deviceProfileInfo/default': people.users(() => jsonReply(profileJson(registry.defaultProfile))),
    'GET /api/deviceProfile/devices/keys/timeseries': people.admins((call) => {
      const id = call.query.get('deviceProfileId');
      const own = devices.all.filter(({ profileId }) => id === null || profileId === id);
      return jsonReply([...new Set(own.flatMap((device) => [...telemetry.all(device.id).keys()]))].sort());
    }),
  };
}

function saveProfile({ packages, settings, state }: LocalPlatform, call: Call): Reply {
  const { devices, profiles } = state.registry;
  const body = objectIn(call);
  const id = idIn(body.id);
  const before = id === undefined ? undefined : existing(profiles.byId(id));
  const { name, provisionDeviceKey, profileData } = body;
  if (typeof name !== 'string' || name.trim() === '')
    throw new PayloadFault('Device profile name should be specified!');
  if (typeof body.type !== 'string') throw new PayloadFault('Device profile type should be specified!');
  if (typeof body.transportType !== 'string')
    throw new PayloadFault('Device profile transport type should be specified!');
  if (!isJsonObject(profileData) || !isJsonObject(profileData.transportConfiguration))
    throw new PayloadFault('Device profile transport configuration should be specified!');
  if (profiles.all.some((other) => other.name === name && other.id !== id))
    throw new PayloadFault('Device profile with such name already exists!');
  if (before !== undefined) checkVersion(body.version, before.version ?? 1);
  const configuration = isJsonObject(profileData.provisionConfiguration) ? profileData.provisionConfiguration : {};
  const type = body.provisionType ?? configuration.type ?? before?.provisionType;
  const secret = configuration.provisionDeviceSecret ?? before?.provisionDeviceSecret;
  const key = provisionDeviceKey ?? before?.provisionDeviceKey;
  if (typeof key === 'string' && profiles.all.some((other) => other.provisionDeviceKey === key && other.id !== id))
    throw new PayloadFault('Device profile with such provision device key already exists!');
  const assigned = assignedIn(body, {}, state.packages);
  for (const kind of OTA_KIND_NAMES)
    checkOfProfile(state.packages.byId(assigned[OTA_KINDS[kind].field] ?? '')?.deviceProfileId, id);
  const profile: DeviceProfile = {
    id: id ?? randomUUID(),
    name,
    isDefault: before?.isDefault ?? false,
    createdMs: before?.createdMs ?? settings.clock.wallMs(),
    provisionType: PROVISION_TYPES.find((known) => known === type) ?? 'DISABLED',
    provisionDeviceKey: textOf(key),
    provisionDeviceSecret: textOf(secret),
    ...assigned,
    version: (before?.version ?? 0) + 1,
    more: { ...Object.fromEntries(KEPT.map((member) => [member, body[member] ?? null])), profileData },
  };
  profiles.put(profile);
  for (const kind of OTA_KIND_NAMES) {
    const { field } = OTA_KINDS[kind];
    if (assigned[field] === before?.[field]) continue;
    for (const device of devices.all)
      if (device.profileId === profile.id && device[field] === undefined) packages.announce(device, kind);
  }
  return jsonReply(profileJson(profile));
}

function checkOfProfile(ofProfile: string | undefined, id: string | undefined): void {
  if (ofProfile !== undefined && ofProfile !== id)
    throw new PayloadFault("Can't assign firmware with different deviceProfile!");
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function profileJson(profile: DeviceProfile): JsonObject {
  const { profileData, ...more } = profile.more ?? {};
  return {
    id: entityId('DEVICE_PROFILE', profile.id),
    createdTime: profile.createdMs,
    tenantId: entityId('TENANT', TENANT_ID),
    name: profile.name,
    default: profile.isDefault,
    type: 'DEFAULT',
    transportType: 'DEFAULT',
    ...more,
    provisionType: profile.provisionType,
    provisionDeviceKey: profile.provisionDeviceKey ?? null,
    firmwareId: entityId('OTA_PACKAGE', profile.firmwareId),
    softwareId: entityId('OTA_PACKAGE', profile.softwareId),
    version: profile.version ?? 1,
    profileData: {
      configuration: { type: 'DEFAULT' },
      transportConfiguration: { type: 'DEFAULT' },
      alarms: null,
      ...(isJsonObject(profileData) ? profileData : {}),
      provisionConfiguration: {
        type: profile.provisionType,
        provisionDeviceSecret: profile.provisionDeviceSecret ?? null,
      },
    },
  };
}
