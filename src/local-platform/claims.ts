/** Claiming: the device opens a window with a secret, a user of a customer comes through it in time (platform/wire-facts.md, "Claim and provision"). */
import { isJsonObject, stringifyJson } from '../host/json.ts';
import { forDevice } from './device-routes.ts';
import { objectIn } from './entities.ts';
import { jsonReply, OK } from './http-reply.ts';
import type { Call, Routes } from './http-service.ts';
import type { LocalPlatform } from './local-platform.ts';
import { readDocument } from './payload.ts';
import { existing, PayloadFault } from './request-faults.ts';
import { deviceJson } from './rest-devices.ts';

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
      const isRight = window.untilMs > clock.wallMs() && window.secretKey === (typeof secretKey === 'string' ? secretKey : '');
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
