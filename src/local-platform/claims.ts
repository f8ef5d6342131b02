/** Claiming: the device opens a window with a secret, a customer's user comes through it in time (wire-facts.md, "Claim and provision"). */
import type { Clock } from '../host/clock.ts';
import { isJsonObject, stringifyJson } from '../host/json.ts';
import { type DeviceRoutesDeps, forDevice } from './device-routes.ts';
import { objectIn } from './entities.ts';
import { errorReply, jsonReply, type Reply } from './http-reply.ts';
import type { Call, Route } from './http-service.ts';
import { readDocument } from './payload.ts';
import { PayloadFault } from './payload-fault.ts';
import type { People } from './people.ts';
import type { PlatformState } from './platform-state.ts';
import { deviceJson } from './rest-devices.ts';

export interface ClaimsDeps extends Pick<DeviceRoutesDeps, 'state' | 'rateLimit'> {
  readonly state: PlatformState;
  readonly people: People;
  readonly clock: Clock;
  /** The system parameter `device.claim.duration`. */
  readonly defaultDurationMs: number;
}

interface Window {
  readonly secretKey: string;
  readonly untilMs: number;
}

export function claimRoutes(deps: ClaimsDeps): readonly Route[] {
  const { state, people, clock } = deps;
  const windows = new Map<string, Window>();
  return [
    {
      method: 'POST',
      path: '/api/v1/:token/claim',
      handler: forDevice(deps, (device, call) => {
        const claim = claimIn(call);
        const open = windows.get(device.id);
        // A window that is still open stays as it is; the answer is the same. A device that has an owner opens none.
        if (device.customer === undefined && (open === undefined || open.untilMs <= clock.wallMs()))
          windows.set(device.id, windowOf(claim, clock.wallMs(), deps.defaultDurationMs));
        return { status: 200 };
      }),
    },
    {
      method: 'POST',
      path: '/api/customer/device/:name/claim',
      handler: people.only((user, call) => {
        const device = state.registry.byName(call.params.name ?? '');
        if (device === undefined) return errorReply(404, "Requested item wasn't found!", clock, 32);
        const { secretKey } = call.body.length === 0 ? {} : objectIn(call);
        const window = windows.get(device.id);
        // Whoever tries shuts the window: a wrong secret costs the right one its chance.
        windows.delete(device.id);
        if (window === undefined) return jsonReply(device.customer === undefined ? 'FAILURE' : 'CLAIMED', 400);
        const isRight = window.untilMs > clock.wallMs() && window.secretKey === (typeof secretKey === 'string' ? secretKey : '');
        if (!isRight) return jsonReply('FAILURE', 400);
        if (device.customer !== undefined) return jsonReply('CLAIMED', 400);
        const claimed = { ...device, customer: user.username };
        state.saveDevice(claimed);
        return jsonReply({ response: 'SUCCESS', device: deviceJson(claimed) });
      }, 'CUSTOMER_USER'),
    },
    {
      method: 'DELETE',
      path: '/api/customer/device/:name/claim',
      handler: people.only((_user, call): Reply => {
        const device = state.registry.byName(call.params.name ?? '');
        if (device === undefined) return errorReply(404, "Requested item wasn't found!", clock, 32);
        const { customer: _released, ...free } = device;
        windows.delete(device.id);
        state.saveDevice(free);
        return { status: 200 };
      }),
    },
  ];
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

function windowOf({ secretKey, durationMs }: ReturnType<typeof claimIn>, nowMs: number, defaultMs: number): Window {
  return { secretKey, untilMs: nowMs + (durationMs > 0 ? durationMs : defaultMs) };
}
