/** REST: RPC to devices, one-way, two-way and persistent (wire-facts.md, "The people's side"). */
import type { Clock } from '../host/clock.ts';
import { type JsonObject, stringifyJson } from '../host/json.ts';
import { entityId, objectIn } from './entities.ts';
import { errorReply, jsonReply, type Reply, textReply } from './http-reply.ts';
import type { Call, Route } from './http-service.ts';
import type { People } from './people.ts';
import type { PersistentRpc } from './persistent-rpcs.ts';
import type { PlatformState } from './platform-state.ts';
import type { RpcBroker } from './rpc-broker.ts';
import { RawReply } from './rpc-reply-body.ts';

export interface RestRpcDeps {
  readonly state: PlatformState;
  readonly people: People;
  readonly rpc: RpcBroker;
  readonly clock: Clock;
  /** The stock server raises shorter time-outs to 5000 ms. */
  readonly minTimeoutMs: number;
}

/** The older path of the plugin is still in use by dashboards, and has another word for a time-out. */
const PATHS = [
  { path: '/api/rpc', timeOutStatus: 504 },
  { path: '/api/plugins/rpc', timeOutStatus: 408 },
] as const;

const NO_METHOD =
  'Cannot invoke "com.fasterxml.jackson.databind.JsonNode.asText()" because the return value of "com.fasterxml.jackson.databind.JsonNode.get(String)" is null';

const DEFAULT_TIMEOUT_MS = 10_000;
/** How long a persistent request waits for its device when nothing else is said. */
const DEFAULT_EXPIRY_MS = 7 * 24 * 60 * 60 * 1000;

export function restRpcRoutes(deps: RestRpcDeps): readonly Route[] {
  const { people, rpc, clock } = deps;
  const notFound = (): Reply => errorReply(404, "Requested item wasn't found!", clock, 32);
  return [
    ...(['oneway', 'twoway'] as const).flatMap((way) =>
      PATHS.map(
        ({ path, timeOutStatus }): Route => ({
          method: 'POST',
          path: `${path}/${way}/:id`,
          handler: people.only((_user, call) => callDevice(deps, call, { oneway: way === 'oneway', timeOutStatus })),
        }),
      ),
    ),
    {
      method: 'GET',
      path: '/api/rpc/persistent/:rpcId',
      handler: people.only((_user, call) => {
        const record = rpc.persistent(call.params.rpcId ?? '');
        return record === undefined ? notFound() : jsonReply(persistentJson(record));
      }),
    },
    {
      method: 'DELETE',
      path: '/api/rpc/persistent/:rpcId',
      handler: people.only((_user, call) => (rpc.forgetPersistent(call.params.rpcId ?? '') ? { status: 200 } : notFound())),
    },
  ];
}

async function callDevice(
  deps: RestRpcDeps,
  call: Call,
  { oneway, timeOutStatus }: { readonly oneway: boolean; readonly timeOutStatus: number },
): Promise<Reply> {
  const { rpc, clock, minTimeoutMs } = deps;
  const device = deps.state.registry.byId(call.params.id ?? '');
  if (device === undefined) return textReply(404, "Device with requested id wasn't found!");
  const body = objectIn(call);
  const { method, params = null } = body;
  if (method === undefined) return errorReply(500, NO_METHOD, clock, 2);
  const timeoutMs = Math.max(minTimeoutMs, numberIn(body, 'timeout') ?? DEFAULT_TIMEOUT_MS);
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
  return oneway ? { status: 200 } : jsonReply(answer);
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
