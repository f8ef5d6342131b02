/** REST: devices with their credentials. Shapes and spellings are the real platform's (platform/wire-facts.md, "The people's side"). */

import type { JsonObject } from '../../values/json.ts';
import type { PlatformDevice } from './device-registry.ts';
import { existing, jsonReply, OK, PayloadFault, type Reply } from './http-reply.ts';
import type { Call, Routes } from './http-service.ts';
import type { LocalPlatform } from './local-platform.ts';
import { assignedIn, OTA_KIND_NAMES, OTA_KINDS } from './ota-packages.ts';
import { entityId, idIn, NOBODY_ID, objectIn, page, TENANT_ID } from './payload.ts';
import type { PlatformState } from './platform-state.ts';

export function restDeviceRoutes(platform: LocalPlatform): Routes {
  const { people, state } = platform;
  const { devices } = state.registry;
  const found = (call: Call): PlatformDevice => existing(devices.byId(call.params.id ?? ''));
  return {
    'POST /api/device': people.admins((call) => saveDevice(platform, call)),
    'GET /api/tenant/devices': people.admins((call) => {
      const name = call.query.get('deviceName');
      return jsonReply(
        name === null
          ? page(listed(devices.all, call).map(deviceJson), call.query)
          : deviceJson(existing(state.registry.byName(name))),
      );
    }),
    'GET /api/device/:id': people.users((call) => jsonReply(deviceJson(found(call)))),
    'DELETE /api/device/:id': people.admins((call) => {
      state.deleteDevice(found(call).id);
      return OK;
    }),
    'GET /api/device/:id/credentials': people.admins((call) => jsonReply(credentialsJson(found(call)))),
    'POST /api/device/credentials': people.admins((call) => {
      const { deviceId, credentialsId } = objectIn(call);
      const device = existing(devices.byId(idIn(deviceId) ?? ''));
      if (typeof credentialsId !== 'string' || credentialsId === '')
        throw new PayloadFault('Device credentials id should be specified!');
      checkUnheld(state, credentialsId, device.id);
      const changed = { ...device, accessToken: credentialsId };
      devices.put(changed);
      return jsonReply(credentialsJson(changed));
    }),
  };
}

/** Those of a type, where one is asked for; the newest first, where that is. */
function listed(devices: readonly PlatformDevice[], { query }: Call): readonly PlatformDevice[] {
  const type = query.get('type') ?? '';
  const found = type === '' ? devices : devices.filter((device) => device.type === type);
  const isNewestFirst = query.get('sortProperty') === 'createdTime' && query.get('sortOrder') === 'DESC';
  return isNewestFirst ? found.toSorted((a, b) => b.createdMs - a.createdMs) : found;
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
    firmwareId: entityId('OTA_PACKAGE', device.firmwareId),
    softwareId: entityId('OTA_PACKAGE', device.softwareId),
    additionalInfo: { gateway: device.gateway },
  };
}

function saveDevice({ packages, settings, state }: LocalPlatform, call: Call): Reply {
  const { registry } = state;
  const body = objectIn(call);
  const { name, type, label } = body;
  if (typeof name !== 'string' || name.trim() === '') throw new PayloadFault('Device name should be specified!');
  const id = idIn(body.id);
  const before = id === undefined ? undefined : existing(registry.devices.byId(id));
  const sameName = registry.byName(name);
  if (sameName !== undefined && sameName.id !== id) throw new PayloadFault('Device with such name already exists!');
  const accessToken = call.query.get('accessToken') ?? undefined;
  if (accessToken !== undefined) checkUnheld(state, accessToken, id);
  const profileId = idIn(body.deviceProfileId);
  const {
    firmwareId: _firmware,
    softwareId: _software,
    ...kept
  } = before ?? registry.draft({ name }, settings.clock.wallMs());
  const assigned = assignedIn(body, before ?? {}, state.packages);
  const device: PlatformDevice = {
    ...kept,
    name,
    ...(typeof type === 'string' ? { type } : {}),
    ...(typeof label === 'string' ? { label } : {}),
    accessToken: accessToken ?? kept.accessToken,
    profileId: profileId ?? kept.profileId,
    ...assigned,
  };
  registry.devices.put(device);
  for (const kind of OTA_KIND_NAMES)
    if (assigned[OTA_KINDS[kind].field] !== before?.[OTA_KINDS[kind].field]) packages.announce(device, kind);
  return jsonReply(deviceJson(device));
}

/** @throws PayloadFault for the token of another device. */
function checkUnheld({ registry }: PlatformState, accessToken: string, id: string | undefined): void {
  const holder = registry.byToken(accessToken);
  if (holder !== undefined && holder.id !== id)
    throw new PayloadFault('Device credentials are already assigned to another device!');
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
