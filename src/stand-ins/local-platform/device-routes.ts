/** Telemetry, attributes and RPC, seen by the device (platform/wire-facts.md, "Endpoints"). */
import { isJsonObject, type JsonObject, type JsonValue } from '../../values/json.ts';
import { asObject, type Scope } from './attribute-store.ts';
import type { PlatformDevice } from './device-registry.ts';
import { OK, PayloadFault, payloadFaultsAs, type Reply, textReply, wholeNumberOf } from './http-reply.ts';
import type { Call, Handler, Routes } from './http-service.ts';
import type { LocalPlatform } from './local-platform.ts';
import type { PollEnd } from './long-polls.ts';
import { documentReply, readAttributes, readDocument, readReply, readTelemetry } from './payload.ts';
import type { PlatformState } from './platform-state.ts';
import { deviceForm, type StoredValue } from './stored-value.ts';

/** Answers a client-side RPC as the rule chain; undefined: nothing within its time. */
export type ClientRpcHandler = (
  device: PlatformDevice,
  method: string,
  params: JsonValue,
) => Promise<JsonValue | undefined>;

export type DeviceHandler = (device: PlatformDevice, call: Call) => ReturnType<Handler>;

const RPC_BODY = { bodyLimit: 64 * 1024, needsBody: true };
const OVER_LIMIT: Reply = { status: 500 };
/** Methods that the demo's rule chain answers. */
const TIME_METHODS: ReadonlySet<string> = new Set(['getTime', 'getCurrentTime']);

export function deviceRoutes(platform: LocalPlatform): Routes {
  const { arrivals, attributePolls, rateLimit, rpc, settings, state } = platform;
  const { clock } = settings;
  const rules = { castStrings: !settings.strictTypes };
  const clientRpc =
    settings.clientRpc ??
    (async (_device, method) => (TIME_METHODS.has(method) ? { time: clock.wallMs() } : undefined));
  return {
    'POST /api/v1/:token/telemetry': {
      needsBody: true,
      handler: withToken(platform, (device, call) => {
        const records = readTelemetry(call.body, call.headers['content-type'], clock.wallMs(), rules);
        const points = records.reduce((sum, { values }) => sum + Object.keys(values).length, 0);
        if (!rateLimit.admits(device.id, points)) return OVER_LIMIT;
        if (records.length === 0) return 'unanswered';
        return { status: 200, whenDone: () => arrivals.telemetry(device, records) };
      }),
    },
    'POST /api/v1/:token/attributes': {
      needsBody: true,
      handler: withToken(platform, (device, call) => {
        const values = readAttributes(call.body, call.headers['content-type'], rules);
        if (!rateLimit.admits(device.id, Object.keys(values).length)) return OVER_LIMIT;
        return { status: 200, whenDone: () => arrivals.attributes(device, values) };
      }),
    },
    'GET /api/v1/:token/attributes': forDevice(platform, (device, call) => requestedAttributes(state, device, call)),
    'GET /api/v1/:token/attributes/updates': polling(platform, async (device, timeoutMs, call) =>
      pollReply(await attributePolls.wait(device.id, timeoutMs, call.gone), call, deviceForms),
    ),
    'GET /api/v1/:token/rpc': polling(platform, async (device, timeoutMs, call) =>
      pollReply(await rpc.poll(device.id, timeoutMs, call.gone), call, (message) => ({ ...message })),
    ),
    'POST /api/v1/:token/rpc/:id': {
      ...RPC_BODY,
      handler: (call) => {
        const id = wholeNumberOf(call.params.id, 'requestId', 'java.lang.Integer');
        return forDevice(platform, (device) => {
          rpc.reply(device.id, id, readReply(call.body, call.headers['content-type']));
          return OK;
        })(call);
      },
    },
    'POST /api/v1/:token/rpc': {
      ...RPC_BODY,
      handler: withToken(platform, async (device, call) => {
        const request = readDocument(call.body, call.headers['content-type']);
        if (!isJsonObject(request) || typeof request.method !== 'string' || !Object.hasOwn(request, 'params'))
          throw new PayloadFault('method and params are required', { silent: true });
        if (!rateLimit.admits(device.id)) return 'unanswered';
        const answer = await clientRpc(device, request.method, request.params ?? null);
        return documentReply(answer === undefined ? { error: 'timeout' } : answer, call.headers.accept);
      }),
    },
  };
}

/** Looks the token up and words a bad payload. */
function withToken({ state }: LocalPlatform, handler: DeviceHandler): Handler {
  return (call) => {
    const device = state.registry.byToken(call.params.token ?? '');
    if (device === undefined) return { status: 401 };
    return payloadFaultsAs(
      ({ silent, message }) => (silent ? { status: 500 } : textReply(500, message)),
      () => handler(device, call),
    );
  };
}

/** For every route that counts as one message, whatever it brings; `over` is how the limit looks there. */
export function forDevice(
  platform: LocalPlatform,
  handler: DeviceHandler,
  over: 'by-method' | 'empty' = 'by-method',
): Handler {
  return withToken(platform, (device, call) => {
    if (platform.rateLimit.admits(device.id)) return handler(device, call);
    // The real server fails a POST without a word, and lets a GET hang until its limit.
    return call.method === 'GET' && over === 'by-method' ? 'unanswered' : OVER_LIMIT;
  });
}

function polling(
  platform: LocalPlatform,
  poll: (device: PlatformDevice, timeoutMs: number, call: Call) => Promise<Reply>,
): Handler {
  return (call) => {
    const timeoutMs = wholeNumberOf(call.query.get('timeout'), 'timeout', 'long');
    return forDevice(platform, (device) => (timeoutMs < 0 ? { status: 408 } : poll(device, timeoutMs, call)))(call);
  };
}

function requestedAttributes({ attributes }: PlatformState, device: PlatformDevice, call: Call): Reply {
  const keys = { client: keysOf(call, 'clientKeys'), shared: keysOf(call, 'sharedKeys') };
  const all = keys.client.length === 0 && keys.shared.length === 0;
  const found: Record<string, JsonValue> = {};
  const add = (name: keyof typeof keys, scope: Scope): void => {
    const values = all || keys[name].length > 0 ? attributes.read(device.id, scope, all ? undefined : keys[name]) : [];
    if (values.length > 0) found[name] = deviceForms(asObject(values));
  };
  add('client', 'CLIENT_SCOPE');
  add('shared', 'SHARED_SCOPE');
  return documentReply(found, call.headers.accept);
}

/** Not trimmed: ` b` of `a, b` is a key that nobody has. Of `,` nothing is left, and nothing asks for everything. */
function keysOf({ query }: Call, name: string): readonly string[] {
  const text = query.get(name)?.replace(/,+$/, '') ?? '';
  return text === '' ? [] : text.split(',');
}

function deviceForms(values: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, deviceForm(value as StoredValue)]));
}

function pollReply<Message>(end: PollEnd<Message>, call: Call, form: (message: Message) => JsonObject): Reply {
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
