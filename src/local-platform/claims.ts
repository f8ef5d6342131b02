/** Claiming: the device opens a window with a secret (endpoint 8), a customer's user comes through it in time (platform-rest.md). */
import type { Clock } from '../host/clock.ts';
import { isJsonObject, type JsonObject } from '../host/json.ts';
import { type DeviceRoutesDeps, forDevice } from './device-routes.ts';
import { errorReply, jsonReply, type Reply } from './http-reply.ts';
import type { Route } from './http-service.ts';
import { readDocument } from './payload.ts';
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
        const claim = call.body.length === 0 ? {} : readDocument(call.body, call.headers['content-type']);
        const open = windows.get(device.id);
        // A window that is still open stays as it is; the answer is the same.
        if (open === undefined || open.untilMs <= clock.wallMs())
          windows.set(device.id, windowOf(isJsonObject(claim) ? claim : {}, clock.wallMs(), deps.defaultDurationMs));
        return { status: 200 };
      }),
    },
    {
      method: 'POST',
      path: '/api/customer/device/:name/claim',
      handler: people.only((user, call) => {
        const device = state.registry.byName(call.params.name ?? '');
        if (device === undefined) return errorReply(404, "Requested item wasn't found!", clock, 32);
        if (device.customer !== undefined) return jsonReply({ response: 'CLAIMED' });
        const body = call.body.length === 0 ? {} : readDocument(call.body, 'application/json');
        const secretKey = isJsonObject(body) && typeof body.secretKey === 'string' ? body.secretKey : '';
        const window = windows.get(device.id);
        if (window === undefined || window.untilMs <= clock.wallMs() || window.secretKey !== secretKey)
          return jsonReply({ response: 'FAILURE' });
        windows.delete(device.id);
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
        state.saveDevice(free);
        return { status: 200 };
      }),
    },
  ];
}

function windowOf({ secretKey, durationMs }: JsonObject, nowMs: number, defaultMs: number): Window {
  return {
    secretKey: typeof secretKey === 'string' ? secretKey : '',
    untilMs: nowMs + (typeof durationMs === 'number' && durationMs > 0 ? durationMs : defaultMs),
  };
}
