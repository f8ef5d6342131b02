/** REST: devices and their credentials (wire-facts.md, "The people's side"). Shapes and spellings are the real platform's. */
import type { Clock } from '../host/clock.ts';
import type { JsonObject } from '../host/json.ts';
import type { PlatformDevice } from './device-registry.ts';
import { entityId, idIn, NOBODY_ID, objectIn, page, TENANT_ID } from './entities.ts';
import { errorReply, jsonReply, type Reply } from './http-reply.ts';
import type { Call, Route } from './http-service.ts';
import { assignedIn, OTA_KIND_NAMES, OTA_KINDS, type OtaPackages } from './ota-packages.ts';
import { PayloadFault } from './payload-fault.ts';
import type { People } from './people.ts';
import type { PlatformState } from './platform-state.ts';

export interface RestDevicesDeps {
  readonly state: PlatformState;
  readonly people: People;
  readonly clock: Clock;
  readonly packages: OtaPackages;
}

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
  ];
}

export function deviceJson(device: PlatformDevice): JsonObject {
  return {
    id: entityId('DEVICE', device.id),
    createdTime: device.createdMs,
    tenantId: entityId('TENANT', TENANT_ID),
    customerId: entityId('CUSTOMER', device.customer ?? NOBODY_ID),
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
  for (const kind of OTA_KIND_NAMES)
    if (assigned[OTA_KINDS[kind].field] !== before?.[OTA_KINDS[kind].field]) deps.packages.announce(device, kind);
  return jsonReply(deviceJson(device));
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
