/** Devices that provision themselves by a profile's key and secret, and claiming (platform/wire-facts.md, "Claim and provision"). */

import { randomBytes } from 'node:crypto';
import { isJsonObject, type JsonObject, type JsonValue, stringifyJson } from '../../values/json.ts';
import type { DeviceProfile, PlatformDevice } from './device-registry.ts';
import { forDevice } from './device-routes.ts';
import {
  errorReply,
  existing,
  jsonReply,
  OK,
  PayloadFault,
  payloadFaultsAs,
  type Reply,
  textReply,
} from './http-reply.ts';
import type { Call, Routes } from './http-service.ts';
import type { LocalPlatform } from './local-platform.ts';
import { objectIn, readDocument } from './payload.ts';
import type { PlatformState } from './platform-state.ts';
import { deviceJson } from './rest-devices.ts';

/** Server-side attribute by which the real platform remembers that a device was provisioned. */
const PROVISION_STATE = 'provisionState';
const CREDENTIALS_TYPES: readonly string[] = ['ACCESS_TOKEN', 'X509_CERTIFICATE', 'MQTT_BASIC', 'LWM2M_CREDENTIALS'];

export function provisionRoutes(platform: LocalPlatform): Routes {
  return {
    'POST /api/v1/provision': {
      needsBody: true,
      handler: ({ body, headers }) =>
        payloadFaultsAs(
          ({ message }) => errorReply(500, message, platform.settings.clock, 2),
          () => provision(requestIn(readDocument(body, headers['content-type'])), platform),
        ),
    },
  };
}

function provision(request: ReturnType<typeof requestIn>, { state, settings }: LocalPlatform): Reply {
  const { registry } = state;
  const isLegacy = settings.legacyProvisioning;
  const deviceName = request.deviceName.trim();
  if (request.deviceName !== '' && deviceName === '') return refusal('FAILURE');
  const profile =
    request.key === ''
      ? undefined
      : registry.profiles.all.find(({ provisionDeviceKey }) => provisionDeviceKey === request.key);
  if (profile === undefined || profile.provisionType === 'DISABLED' || profile.provisionDeviceSecret !== request.secret)
    return refusal('NOT_FOUND');
  const known = registry.byName(deviceName);
  if (profile.provisionType === 'CHECK_PRE_PROVISIONED_DEVICES') return checkPreProvisioned(known, profile, state);
  if (known !== undefined) return refusal('FAILURE');
  const proposed =
    isLegacy || request.credentialsType !== 'ACCESS_TOKEN' || request.token === '' ? undefined : request.token;
  if (proposed !== undefined && registry.byToken(proposed) !== undefined) return refusal('FAILURE');
  const device = registry.draft(
    {
      name: deviceName === '' ? randomBytes(10).toString('hex') : deviceName,
      profileId: profile.id,
      type: profile.name,
      gateway: !isLegacy && request.gateway,
      accessToken: proposed,
    },
    settings.clock.wallMs(),
  );
  registry.devices.put(device);
  return success(device, state);
}

/** A device that exists already, once: its token is the one that it has. */
function checkPreProvisioned(known: PlatformDevice | undefined, profile: DeviceProfile, state: PlatformState): Reply {
  if (known === undefined || known.profileId !== profile.id) return refusal('FAILURE');
  const [provisioned] = state.attributes.read(known.id, 'SERVER_SCOPE', [PROVISION_STATE]);
  return provisioned?.value === 'provisioned' ? refusal('FAILURE') : success(known, state);
}

function success(device: PlatformDevice, state: PlatformState): Reply {
  state.setAttributes(device.id, 'SERVER_SCOPE', { [PROVISION_STATE]: 'provisioned' });
  return asText({ credentialsValue: device.accessToken, credentialsType: 'ACCESS_TOKEN', status: 'SUCCESS' });
}

function refusal(status: 'NOT_FOUND' | 'FAILURE'): Reply {
  return asText({
    errorMsg: status === 'NOT_FOUND' ? 'Provision data was not found!' : 'Failed to provision device!',
    status,
  });
}

/** JSON that does not say so, as the real server's is. */
function asText(answer: JsonObject): Reply {
  return textReply(200, stringifyJson(answer));
}

/** @throws PayloadFault in the real server's words. */
function requestIn(body: JsonValue) {
  if (!isJsonObject(body)) throw new PayloadFault(`Can't parse value: ${stringifyJson(body)}`);
  const text = (name: string, isRequired = false): string => {
    const value = body[name];
    if (value === undefined && isRequired)
      throw new PayloadFault(`Failed to find the field ${name} in JSON body ${stringifyJson(body)}!`);
    if (typeof value === 'object') throw new PayloadFault(value === null ? 'JsonNull' : 'JsonObject');
    return String(value ?? '');
  };
  const credentialsType = body.credentialsType === undefined ? 'ACCESS_TOKEN' : text('credentialsType');
  if (!CREDENTIALS_TYPES.includes(credentialsType))
    throw new PayloadFault(
      `No enum constant org.thingsboard.server.gen.transport.TransportProtos.CredentialsType.${credentialsType}`,
    );
  return {
    /** Empty: the server makes one up. */
    deviceName: text('deviceName'),
    key: text('provisionDeviceKey', true),
    secret: text('provisionDeviceSecret', true),
    credentialsType,
    token: text('token'),
    gateway: body.gateway === true,
  };
}

interface Window {
  readonly secretKey: string;
  readonly untilMs: number;
}

export function claimRoutes(platform: LocalPlatform): Routes {
  const { state, people, settings } = platform;
  const { devices } = state.registry;
  const { clock } = settings;
  const windows = new Map<string, Window>();
  return {
    'POST /api/v1/:token/claim': forDevice(platform, (device, call) => {
      const { secretKey, durationMs } = claimIn(call);
      const open = windows.get(device.id);
      const untilMs = clock.wallMs() + (durationMs > 0 ? durationMs : settings.claimDurationMs);
      // A window that is still open stays as it is; the answer is the same. A device that has an owner opens none.
      if (device.customer === undefined && (open === undefined || open.untilMs <= clock.wallMs()))
        windows.set(device.id, { secretKey, untilMs });
      return OK;
    }),
    'POST /api/customer/device/:name/claim': people.users((call, user) => {
      const device = existing(state.registry.byName(call.params.name ?? ''));
      const { secretKey } = call.body.length === 0 ? {} : objectIn(call);
      const window = windows.get(device.id);
      // Whoever tries shuts the window: a wrong secret costs the right one its chance.
      windows.delete(device.id);
      if (window === undefined) return jsonReply(device.customer === undefined ? 'FAILURE' : 'CLAIMED', 400);
      const isRight =
        window.untilMs > clock.wallMs() && window.secretKey === (typeof secretKey === 'string' ? secretKey : '');
      if (!isRight) return jsonReply('FAILURE', 400);
      if (device.customer !== undefined) return jsonReply('CLAIMED', 400);
      const claimed = { ...device, customer: user.username };
      devices.put(claimed);
      return jsonReply({ response: 'SUCCESS', device: deviceJson(claimed) });
    }, 'CUSTOMER_USER'),
    'DELETE /api/customer/device/:name/claim': people.users((call) => {
      const { customer: _released, ...free } = existing(state.registry.byName(call.params.name ?? ''));
      windows.delete(free.id);
      devices.put(free);
      return OK;
    }),
  };
}

/** Text of any kind of value, as the real server's parser gives it. @throws PayloadFault for what is no claim. */
function claimIn({ body, headers }: Call): { readonly secretKey: string; readonly durationMs: number } {
  const claim = body.length === 0 ? {} : readDocument(body, headers['content-type']);
  if (!isJsonObject(claim)) throw new PayloadFault(`Can't parse value: ${stringifyJson(claim)}`);
  const { secretKey = '', durationMs = 0 } = claim;
  if (typeof secretKey === 'object') throw new PayloadFault('secretKey is no text', { silent: true });
  if (typeof durationMs === 'object' || typeof durationMs === 'boolean' || !/^-?\d+/.test(String(durationMs)))
    throw new PayloadFault('durationMs is no number', { silent: true });
  return { secretKey: String(secretKey), durationMs: Number.parseInt(String(durationMs), 10) };
}
