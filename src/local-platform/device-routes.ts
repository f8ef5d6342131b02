/** Endpoints 1 to 7: telemetry, attributes and RPC, seen by the device (wire-facts.md). */
import type { Clock } from '../host/clock.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../host/json.ts';
import type { Arrivals } from './arrivals.ts';
import { type Attribute, asObject } from './attribute-store.ts';
import type { PlatformDevice } from './device-registry.ts';
import { type Reply, textReply } from './http-reply.ts';
import type { Call, Handler, Route } from './http-service.ts';
import type { LongPolls, PollEnd } from './long-polls.ts';
import { documentReply, readAttributes, readDocument, readTelemetry } from './payload.ts';
import { PayloadFault } from './payload-fault.ts';
import type { PlatformState } from './platform-state.ts';
import type { RateLimit } from './rate-limit.ts';
import { wholeNumberOf } from './request-faults.ts';
import type { RpcBroker } from './rpc-broker.ts';
import { replyIn } from './rpc-reply-body.ts';
import { deviceForm, type StoredValue, type ValueRules } from './stored-value.ts';

/** What the rule chain answers to a client-side RPC; undefined: nothing within its time. */
export type ClientRpcHandler = (device: PlatformDevice, method: string, params: JsonValue) => Promise<JsonValue | undefined>;

export interface DeviceRoutesDeps {
  readonly state: PlatformState;
  readonly attributePolls: LongPolls<JsonObject>;
  readonly rpc: RpcBroker;
  readonly rateLimit: RateLimit;
  readonly clientRpc: ClientRpcHandler;
  readonly clock: Clock;
  readonly arrivals: Arrivals;
  readonly rules: ValueRules;
}

export type DeviceHandler = (device: PlatformDevice, call: Call) => ReturnType<Handler>;

const PREFIX = '/api/v1/:token';
const RPC_BODY_LIMIT = 64 * 1024;
const DONE: Reply = { status: 200 };
const OVER_LIMIT: Reply = { status: 500 };

export function deviceRoutes(deps: DeviceRoutesDeps): readonly Route[] {
  const { arrivals, rateLimit, rpc, clock, rules } = deps;
  const of = (handler: DeviceHandler): Handler => forDevice(deps, handler);
  return [
    {
      method: 'POST',
      path: `${PREFIX}/telemetry`,
      needsBody: true,
      handler: withToken(deps, (device, call) => {
        const records = readTelemetry(call.body, call.headers['content-type'], clock.wallMs(), rules);
        const points = records.reduce((sum, { values }) => sum + Object.keys(values).length, 0);
        if (!rateLimit.admits(device.id, points)) return OVER_LIMIT;
        if (records.length === 0) return 'unanswered';
        return { status: 200, whenDone: () => arrivals.telemetry(device, records) };
      }),
    },
    {
      method: 'POST',
      path: `${PREFIX}/attributes`,
      needsBody: true,
      handler: withToken(deps, (device, call) => {
        const values = readAttributes(call.body, call.headers['content-type'], rules);
        if (!rateLimit.admits(device.id, Object.keys(values).length)) return OVER_LIMIT;
        return { status: 200, whenDone: () => arrivals.attributes(device, values) };
      }),
    },
    { method: 'GET', path: `${PREFIX}/attributes`, handler: of((device, call) => requestedAttributes(deps.state, device, call)) },
    {
      method: 'GET',
      path: `${PREFIX}/attributes/updates`,
      handler: polling(deps, async (device, timeoutMs, call) =>
        pollReply(await deps.attributePolls.wait(device.id, timeoutMs, call.gone), call, deviceForms),
      ),
    },
    {
      method: 'GET',
      path: `${PREFIX}/rpc`,
      handler: polling(deps, async (device, timeoutMs, call) => {
        const end = await rpc.poll(device.id, timeoutMs, call.gone);
        return pollReply(end.kind === 'message' ? { kind: 'message', message: { ...end.message } } : end, call);
      }),
    },
    {
      method: 'POST',
      path: `${PREFIX}/rpc/:id`,
      bodyLimit: RPC_BODY_LIMIT,
      needsBody: true,
      handler: (call) => {
        const id = wholeNumberOf(call.params.id, 'requestId', 'java.lang.Integer');
        return of((device) => {
          rpc.reply(device.id, id, replyIn(call.body, call.headers['content-type']));
          return DONE;
        })(call);
      },
    },
    {
      method: 'POST',
      path: `${PREFIX}/rpc`,
      bodyLimit: RPC_BODY_LIMIT,
      needsBody: true,
      handler: withToken(deps, async (device, call) => {
        const request = readDocument(call.body, call.headers['content-type']);
        if (!isJsonObject(request) || typeof request.method !== 'string' || !Object.hasOwn(request, 'params'))
          throw new PayloadFault('method and params are required', { silent: true });
        if (!rateLimit.admits(device.id)) return 'unanswered';
        const answer = await deps.clientRpc(device, request.method, request.params ?? null);
        return documentReply(answer === undefined ? { error: 'timeout' } : answer, call.headers.accept);
      }),
    },
  ];
}

/** Looks the token up and words a bad payload. */
function withToken(deps: Pick<DeviceRoutesDeps, 'state'>, handler: DeviceHandler): Handler {
  return async (call) => {
    const device = deps.state.registry.byToken(call.params.token ?? '');
    if (device === undefined) return { status: 401 };
    try {
      return await handler(device, call);
    } catch (error) {
      if (error instanceof PayloadFault) return error.silent ? { status: 500 } : textReply(500, error.message);
      throw error;
    }
  };
}

/** For every route that counts as one message, whatever it brings; `over` is how the limit looks there. */
export function forDevice(
  deps: Pick<DeviceRoutesDeps, 'state' | 'rateLimit'>,
  handler: DeviceHandler,
  over: 'by-method' | 'empty' = 'by-method',
): Handler {
  return withToken(deps, (device, call) => {
    if (deps.rateLimit.admits(device.id)) return handler(device, call);
    // The real server fails a POST without a word, and lets a GET hang until its limit.
    return call.method === 'GET' && over === 'by-method' ? 'unanswered' : OVER_LIMIT;
  });
}

function polling(deps: DeviceRoutesDeps, poll: (device: PlatformDevice, timeoutMs: number, call: Call) => Promise<Reply>): Handler {
  return (call) => {
    const timeoutMs = wholeNumberOf(call.query.get('timeout'), 'timeout', 'long');
    return forDevice(deps, (device) => (timeoutMs < 0 ? { status: 408 } : poll(device, timeoutMs, call)))(call);
  };
}

function requestedAttributes(state: PlatformState, device: PlatformDevice, call: Call): Reply {
  // Not trimmed: ` b` of `a, b` is a key that nobody has. Of `,` nothing is left, and nothing asks for everything.
  const list = (name: string): readonly string[] => {
    const text = call.query.get(name)?.replace(/,+$/, '') ?? '';
    return text === '' ? [] : text.split(',');
  };
  const clientKeys = list('clientKeys');
  const sharedKeys = list('sharedKeys');
  const all = clientKeys.length === 0 && sharedKeys.length === 0;
  const found: Record<string, JsonValue> = {};
  const add = (name: string, attributes: readonly Attribute[]): void => {
    if (attributes.length > 0) found[name] = deviceForms(asObject(attributes));
  };
  if (all || clientKeys.length > 0) add('client', state.attributes.read(device.id, 'CLIENT_SCOPE', all ? undefined : clientKeys));
  if (all || sharedKeys.length > 0) add('shared', state.attributes.read(device.id, 'SHARED_SCOPE', all ? undefined : sharedKeys));
  return documentReply(found, call.headers.accept);
}

function deviceForms(values: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, deviceForm(value as StoredValue)]));
}

function pollReply(end: PollEnd<JsonObject>, call: Call, form: (message: JsonObject) => JsonObject = (message) => message): Reply {
  switch (end.kind) {
    case 'message':
      return documentReply(form(end.message), call.headers.accept);
    case 'timeout':
      return { status: 408 };
    case 'cut':
      return { status: 503 };
    case 'deleted':
      return textReply(403, 'Device was deleted!');
  }
}
