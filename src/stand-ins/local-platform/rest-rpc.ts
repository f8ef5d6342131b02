/** REST: RPC to devices, one-way, two-way and persistent. */
import { type JsonObject, stringifyJson } from '../../values/json.ts';
import { errorReply, existing, jsonReply, OK, type Reply, textReply } from './http-reply.ts';
import type { Call, Routes } from './http-service.ts';
import type { LocalPlatform } from './local-platform.ts';
import { entityId, objectIn, RawReply } from './payload.ts';
import type { PersistentRpc } from './rpc-broker.ts';

const NO_METHOD =
  'Cannot invoke "com.fasterxml.jackson.databind.JsonNode.asText()" because the return value of "com.fasterxml.jackson.databind.JsonNode.get(String)" is null';

const DEFAULT_TIMEOUT_MS = 10_000;
/** How long a persistent request waits for its device when nothing else is said. */
const DEFAULT_EXPIRY_MS = 7 * 24 * 60 * 60 * 1000;

export function restRpcRoutes(platform: LocalPlatform): Routes {
  const { people, rpc, state } = platform;
  const found = (call: Call): PersistentRpc => existing(state.rpcs.byId(call.params.rpcId ?? ''));
  return {
    'POST /api/rpc/oneway/:id': people.users((call) =>
      callDevice(platform, call, { oneway: true, timeOutStatus: 504 }),
    ),
    'POST /api/rpc/twoway/:id': people.users((call) =>
      callDevice(platform, call, { oneway: false, timeOutStatus: 504 }),
    ),
    // The older path of the plugin is still in use by dashboards, and has another status for a time-out.
    'POST /api/plugins/rpc/oneway/:id': people.users((call) =>
      callDevice(platform, call, { oneway: true, timeOutStatus: 408 }),
    ),
    'POST /api/plugins/rpc/twoway/:id': people.users((call) =>
      callDevice(platform, call, { oneway: false, timeOutStatus: 408 }),
    ),
    'GET /api/rpc/persistent/:rpcId': people.users((call) => jsonReply(persistentJson(found(call)))),
    'DELETE /api/rpc/persistent/:rpcId': people.users((call) => {
      rpc.forgetPersistent(found(call).rpcId);
      return OK;
    }),
  };
}

async function callDevice(
  { rpc, settings, state }: LocalPlatform,
  call: Call,
  { oneway, timeOutStatus }: { readonly oneway: boolean; readonly timeOutStatus: number },
): Promise<Reply> {
  const { clock, minRpcTimeoutMs } = settings;
  const device = state.registry.devices.byId(call.params.id ?? '');
  if (device === undefined) return textReply(404, "Device with requested id wasn't found!");
  const body = objectIn(call);
  const { method, params = null } = body;
  if (method === undefined) return errorReply(500, NO_METHOD, clock, 2);
  const timeoutMs = Math.max(minRpcTimeoutMs, numberIn(body, 'timeout') ?? DEFAULT_TIMEOUT_MS);
  const expirationMs = numberIn(body, 'expirationTime');
  const request = { method: typeof method === 'string' ? method : stringifyJson(method), params, oneway };
  const lifetimeMs = expirationMs === undefined ? undefined : Math.max(0, expirationMs - clock.wallMs());
  if (body.persistent === true) {
    const record = rpc.callPersistently(device.id, { ...request, timeoutMs: lifetimeMs ?? DEFAULT_EXPIRY_MS });
    return jsonReply({ rpcId: record.rpcId });
  }
  const answer = await rpc.call(device.id, { ...request, timeoutMs: lifetimeMs ?? timeoutMs });
  if (answer === undefined) return { status: timeOutStatus };
  if (answer instanceof RawReply) return { status: 406 };
  return oneway ? OK : jsonReply(answer);
}

function numberIn(body: JsonObject, name: string): number | undefined {
  const value = body[name];
  return typeof value === 'number' ? value : undefined;
}

function persistentJson(record: PersistentRpc): JsonObject {
  return {
    id: entityId('RPC', record.rpcId),
    createdTime: record.createdMs,
    deviceId: entityId('DEVICE', record.deviceId),
    expirationTime: record.expirationMs,
    request: record.request,
    response: record.response,
    status: record.status,
  };
}
