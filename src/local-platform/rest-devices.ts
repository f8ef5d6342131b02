/** REST: devices, their credentials and profiles (platform-rest.md). Shapes and spellings are the real platform's. */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../host/clock.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../host/json.ts';
import type { DeviceProfile, PlatformDevice, ProvisionType } from './device-registry.ts';
import { type Call, errorReply, jsonReply, type Reply, type Route } from './http-service.ts';
import { OTA_KINDS, type OtaKind, type OtaPackages } from './ota-packages.ts';
import { PayloadFault, readDocument } from './payload.ts';
import type { People } from './people.ts';
import type { PlatformState } from './platform-state.ts';

export interface RestDevicesDeps {
  readonly state: PlatformState;
  readonly people: People;
  readonly clock: Clock;
  readonly packages: OtaPackages;
}

/** All entities belong to one tenant. */
export const TENANT_ID = '13814000-1dd2-11b2-8080-808080808080';
const KINDS: readonly OtaKind[] = ['FIRMWARE', 'SOFTWARE'];
const PROVISION_TYPES: readonly ProvisionType[] = ['DISABLED', 'ALLOW_CREATE_NEW_DEVICES', 'CHECK_PRE_PROVISIONED_DEVICES'];

export function restDeviceRoutes(deps: RestDevicesDeps): readonly Route[] {
  const { state, people, clock } = deps;
  const { registry } = state;
  const found = (device: PlatformDevice | undefined): Reply =>
    device === undefined ? errorReply(404, "Requested item wasn't found!", clock, 32) : jsonReply(deviceJson(device));
  return [
    { method: 'POST', path: '/api/device', handler: people.only((_user, call) => saveDevice(deps, call), 'TENANT_ADMIN') },
    {
      method: 'GET',
      path: '/api/tenant/devices',
      handler: people.only((_user, call) => {
        const name = call.query.get('deviceName');
        return name === null ? jsonReply(page(registry.devices.map(deviceJson), call.query)) : found(registry.byName(name));
      }, 'TENANT_ADMIN'),
    },
    { method: 'GET', path: '/api/device/:id', handler: people.only((_user, call) => found(registry.byId(call.params.id ?? ''))) },
    {
      method: 'DELETE',
      path: '/api/device/:id',
      handler: people.only((_user, call) => {
        const { id = '' } = call.params;
        if (registry.byId(id) === undefined) return found(undefined);
        state.deleteDevice(id);
        return { status: 200 };
      }, 'TENANT_ADMIN'),
    },
    {
      method: 'GET',
      path: '/api/device/:id/credentials',
      handler: people.only((_user, call) => {
        const device = registry.byId(call.params.id ?? '');
        return device === undefined ? found(undefined) : jsonReply(credentialsJson(device));
      }, 'TENANT_ADMIN'),
    },
    {
      method: 'POST',
      path: '/api/device/credentials',
      handler: people.only((_user, call) => {
        const { deviceId, credentialsId } = objectIn(call);
        const device = registry.byId(idIn(deviceId) ?? '');
        if (device === undefined) return found(undefined);
        if (typeof credentialsId !== 'string' || credentialsId === '') throw new PayloadFault('Device credentials id should be specified!');
        const holder = registry.byToken(credentialsId);
        if (holder !== undefined && holder.id !== device.id)
          throw new PayloadFault('Device credentials are already assigned to another device!');
        const changed = { ...device, accessToken: credentialsId };
        state.saveDevice(changed);
        return jsonReply(credentialsJson(changed));
      }, 'TENANT_ADMIN'),
    },
    { method: 'POST', path: '/api/deviceProfile', handler: people.only((_user, call) => saveProfile(deps, call), 'TENANT_ADMIN') },
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

/** `{id, entityType}`, the form of every id inside a body. */
export function entityId(entityType: string, id: string): JsonObject {
  return { entityType, id };
}

/** The id inside an `{id, entityType}`. */
export function idIn(value: JsonValue | undefined): string | undefined {
  return isJsonObject(value) && typeof value.id === 'string' ? value.id : undefined;
}

/** The body as an object. @throws PayloadFault for anything else. */
export function objectIn(call: Call): JsonObject {
  const document = readDocument(call.body, 'application/json');
  if (!isJsonObject(document)) throw new PayloadFault('Required request body is missing');
  return document;
}

/** One page of a list, by `pageSize` and `page`. */
export function page(items: readonly JsonObject[], query: URLSearchParams): JsonObject {
  const pageSize = Math.max(1, Number(query.get('pageSize') ?? 100) || 100);
  const at = Math.max(0, Number(query.get('page') ?? 0) || 0);
  const totalPages = Math.ceil(items.length / pageSize);
  return {
    data: items.slice(at * pageSize, (at + 1) * pageSize),
    totalPages,
    totalElements: items.length,
    hasNext: at + 1 < totalPages,
  };
}

export function deviceJson(device: PlatformDevice): JsonObject {
  return {
    id: entityId('DEVICE', device.id),
    createdTime: device.createdMs,
    tenantId: entityId('TENANT', TENANT_ID),
    customerId: device.customer === undefined ? null : entityId('CUSTOMER', device.customer),
    name: device.name,
    type: device.type,
    label: device.label,
    deviceProfileId: entityId('DEVICE_PROFILE', device.profileId),
    firmwareId: device.firmwareId === undefined ? null : entityId('OTA_PACKAGE', device.firmwareId),
    softwareId: device.softwareId === undefined ? null : entityId('OTA_PACKAGE', device.softwareId),
    additionalInfo: { gateway: device.gateway },
  };
}

function saveDevice(deps: RestDevicesDeps, call: Call): Reply {
  const { state, clock } = deps;
  const { registry } = state;
  const body = objectIn(call);
  const { name, type, label } = body;
  if (typeof name !== 'string' || name.trim() === '') throw new PayloadFault('Device name should be specified!');
  const id = idIn(body.id);
  const before = id === undefined ? undefined : registry.byId(id);
  if (id !== undefined && before === undefined) return errorReply(404, "Requested item wasn't found!", clock, 32);
  const sameName = registry.byName(name);
  if (sameName !== undefined && sameName.id !== id) throw new PayloadFault('Device with such name already exists!');
  const accessToken = call.query.get('accessToken') ?? undefined;
  const holder = accessToken === undefined ? undefined : registry.byToken(accessToken);
  if (holder !== undefined && holder.id !== id) throw new PayloadFault('Device credentials are already assigned to another device!');
  const profileId = idIn(body.deviceProfileId);
  const { firmwareId, softwareId, ...kept } = before ?? registry.draft({ name }, clock.wallMs());
  const assigned = assignedIn(body, { firmwareId, softwareId }, deps.packages);
  const device: PlatformDevice = {
    ...kept,
    name,
    ...(typeof type === 'string' ? { type } : {}),
    ...(typeof label === 'string' ? { label } : {}),
    ...(accessToken === undefined ? {} : { accessToken }),
    ...(profileId === undefined ? {} : { profileId }),
    ...assigned,
  };
  state.saveDevice(device);
  for (const kind of KINDS) if (assigned[OTA_KINDS[kind].field] !== before?.[OTA_KINDS[kind].field]) deps.packages.announce(device, kind);
  return jsonReply(deviceJson(device));
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
  for (const kind of KINDS) {
    const { field } = OTA_KINDS[kind];
    if (assigned[field] === before?.[field]) continue;
    for (const device of state.registry.devices)
      if (device.profileId === profile.id && device[field] === undefined) deps.packages.announce(device, kind);
  }
  return jsonReply(profileJson(profile));
}

/** The packages that a body assigns, with those of before where it says nothing. @throws PayloadFault for one without a file. */
function assignedIn(
  body: JsonObject,
  before: { readonly firmwareId?: string | undefined; readonly softwareId?: string | undefined },
  packages: OtaPackages,
): { readonly firmwareId?: string; readonly softwareId?: string } {
  const assigned: { firmwareId?: string; softwareId?: string } = {};
  for (const kind of KINDS) {
    const { field } = OTA_KINDS[kind];
    const id = Object.hasOwn(body, field) ? idIn(body[field]) : before[field];
    if (id === undefined) continue;
    const ota = packages.byId(id);
    if (ota === undefined) throw new PayloadFault(`Can't assign non-existent ${kind.toLowerCase()}!`);
    if (ota.file === undefined && ota.url === undefined)
      throw new PayloadFault(`Can't assign ${kind.toLowerCase()} that doesn't have data!`);
    assigned[field] = id;
  }
  return assigned;
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

function credentialsJson(device: PlatformDevice): JsonObject {
  return {
    id: { id: device.id },
    createdTime: device.createdMs,
    deviceId: entityId('DEVICE', device.id),
    credentialsType: 'ACCESS_TOKEN',
    credentialsId: device.accessToken,
    credentialsValue: null,
  };
}
