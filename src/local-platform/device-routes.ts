/** Endpoints 1 to 7: telemetry, attributes and RPC, seen by the device (device-http-api.md; how the real server answers: wire-facts.md). */
import type { Clock } from '../host/clock.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../host/json.ts';
import { type Attribute, asObject } from './attribute-store.ts';
import type { PlatformDevice } from './device-registry.ts';
import { errorReply, type Reply } from './http-reply.ts';
import type { Call, Handler, Route } from './http-service.ts';
import type { LongPolls, PollEnd } from './long-polls.ts';
import { documentReply, PayloadFault, readAttributes, readDocument, readTelemetry, type ValueRules } from './payload.ts';
import type { PlatformState } from './platform-state.ts';
import type { RateLimit } from './rate-limit.ts';
import type { RpcBroker } from './rpc-broker.ts';

/** What the rule chain answers to a client-side RPC; undefined: nothing within its time. */
export type ClientRpcHandler = (device: PlatformDevice, method: string, params: JsonValue) => Promise<JsonValue | undefined>;

export interface DeviceRoutesDeps {
  readonly state: PlatformState;
  readonly attributePolls: LongPolls<JsonObject>;
  readonly rpc: RpcBroker;
  readonly rateLimit: RateLimit;
  readonly clientRpc: ClientRpcHandler;
  readonly clock: Clock;
  readonly rules: ValueRules;
}

export type DeviceHandler = (device: PlatformDevice, call: Call) => ReturnType<Handler>;

const PREFIX = '/api/v1/:token';
const RPC_BODY_LIMIT = 64 * 1024;
const DONE: Reply = { status: 200 };

export function deviceRoutes(deps: DeviceRoutesDeps): readonly Route[] {
  const { state, rpc, clock, rules } = deps;
  const of = (handler: DeviceHandler): Handler => forDevice(deps, handler);
  return [
    {
      method: 'POST',
      path: `${PREFIX}/telemetry`,
      handler: of((device, call) => {
        const records = readTelemetry(call.body, call.headers['content-type'], clock.wallMs(), rules);
        if (records.length === 0) return 'unanswered';
        for (const record of records) state.saveTelemetry(device, record);
        return DONE;
      }),
    },
    {
      method: 'POST',
      path: `${PREFIX}/attributes`,
      handler: of((device, call) => {
        state.setAttributes(device.id, 'CLIENT_SCOPE', readAttributes(call.body, call.headers['content-type'], rules));
        return DONE;
      }),
    },
    { method: 'GET', path: `${PREFIX}/attributes`, handler: of((device, call) => requestedAttributes(state, device, call)) },
    {
      method: 'GET',
      path: `${PREFIX}/attributes/updates`,
      handler: of(async (device, call) => pollReply(await deps.attributePolls.wait(device.id, timeoutOf(call), call.gone), call)),
    },
    {
      method: 'GET',
      path: `${PREFIX}/rpc`,
      handler: of(async (device, call) => {
        const end = await rpc.poll(device.id, timeoutOf(call), call.gone);
        return pollReply(end.kind === 'message' ? { kind: 'message', message: { ...end.message } } : end, call);
      }),
    },
    {
      method: 'POST',
      path: `${PREFIX}/rpc/:id`,
      bodyLimit: RPC_BODY_LIMIT,
      handler: of((device, call) => {
        const { id = '' } = call.params;
        if (!/^-?\d+$/.test(id)) return errorReply(400, 'requestId must be an integer', clock, 2);
        rpc.reply(device.id, Number(id), call.body.length === 0 ? null : readDocument(call.body, call.headers['content-type']));
        return DONE;
      }),
    },
    {
      method: 'POST',
      path: `${PREFIX}/rpc`,
      bodyLimit: RPC_BODY_LIMIT,
      handler: of(async (device, call) => {
        const request = readDocument(call.body, call.headers['content-type']);
        if (!isJsonObject(request) || typeof request.method !== 'string' || !Object.hasOwn(request, 'params'))
          throw new PayloadFault('Invalid RPC request: method and params are required');
        const answer = await deps.clientRpc(device, request.method, request.params ?? null);
        return documentReply(answer === undefined ? { error: 'timeout' } : answer, call.headers.accept);
      }),
    },
  ];
}

/** Looks the token up, applies the rate limit and words a bad payload, for every route of a device. */
export function forDevice(deps: Pick<DeviceRoutesDeps, 'state' | 'rateLimit'>, handler: DeviceHandler): Handler {
  return async (call) => {
    const device = deps.state.registry.byToken(call.params.token ?? '');
    if (device === undefined) return { status: 401 };
    // The real server fails a POST without a word, and lets a GET hang until its limit.
    if (!deps.rateLimit.admits(device.id)) return call.method === 'GET' ? 'unanswered' : { status: 500 };
    try {
      return await handler(device, call);
    } catch (error) {
      if (error instanceof PayloadFault) return { status: 500, body: error.message, contentType: 'text/plain' };
      throw error;
    }
  };
}

function requestedAttributes(state: PlatformState, device: PlatformDevice, call: Call): Reply {
  // Not trimmed: ` b` of `a, b` is a key that nobody has.
  const list = (name: string): string[] | undefined => call.query.get(name)?.split(',');
  const clientKeys = list('clientKeys');
  const sharedKeys = list('sharedKeys');
  const all = clientKeys === undefined && sharedKeys === undefined;
  const found: Record<string, JsonValue> = {};
  const add = (name: string, attributes: readonly Attribute[]): void => {
    if (attributes.length > 0) found[name] = asObject(attributes);
  };
  if (all || clientKeys !== undefined) add('client', state.attributes.read(device.id, 'CLIENT_SCOPE', clientKeys));
  if (all || sharedKeys !== undefined) add('shared', state.attributes.read(device.id, 'SHARED_SCOPE', sharedKeys));
  return documentReply(found, call.headers.accept);
}

function timeoutOf(call: Call): number {
  const timeoutMs = Number(call.query.get('timeout') ?? 0);
  return Number.isFinite(timeoutMs) ? timeoutMs : 0;
}

function pollReply(end: PollEnd<JsonObject>, call: Call): Reply {
  switch (end.kind) {
    case 'message':
      return documentReply(end.message, call.headers.accept);
    case 'timeout':
      return { status: 408 };
    case 'cut':
      return { status: 503 };
    case 'deleted':
      return { status: 403, body: 'Device was deleted!', contentType: 'text/plain' };
  }
}
