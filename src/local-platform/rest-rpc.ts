/** REST: RPC to devices, one-way, two-way and persistent (platform-rest.md). */
import type { Clock } from '../host/clock.ts';
import type { JsonObject } from '../host/json.ts';
import { entityId, objectIn } from './entities.ts';
import { errorReply, jsonReply, type Reply } from './http-reply.ts';
import type { Call, Route } from './http-service.ts';
import { PayloadFault } from './payload.ts';
import type { People } from './people.ts';
import type { PlatformState } from './platform-state.ts';
import type { PersistentRpc, RpcBroker } from './rpc-broker.ts';

export interface RestRpcDeps {
  readonly state: PlatformState;
  readonly people: People;
  readonly rpc: RpcBroker;
  readonly clock: Clock;
  /** The stock server raises shorter time-outs to 5000 ms. */
  readonly leastTimeoutMs: number;
}

const DEFAULT_TIMEOUT_MS = 10_000;
/** How long a persistent request waits for its device when nothing else is said. */
const DEFAULT_EXPIRY_MS = 7 * 24 * 60 * 60 * 1000;

export function restRpcRoutes(deps: RestRpcDeps): readonly Route[] {
  const { people, rpc, clock } = deps;
  const notFound = (): Reply => errorReply(404, "Requested item wasn't found!", clock, 32);
  return [
    ...(['oneway', 'twoway'] as const).flatMap((way) =>
      // The older path of the plugin is still in use by dashboards.
      [`/api/rpc/${way}/:id`, `/api/plugins/rpc/${way}/:id`].map(
        (path): Route => ({ method: 'POST', path, handler: people.only((_user, call) => callDevice(deps, call, way === 'oneway')) }),
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

async function callDevice(deps: RestRpcDeps, call: Call, oneway: boolean): Promise<Reply> {
  const { rpc, clock, leastTimeoutMs } = deps;
  const device = deps.state.registry.byId(call.params.id ?? '');
  if (device === undefined) return errorReply(404, "Device with requested id wasn't found!", clock, 32);
  const body = objectIn(call);
  const { method, params = null } = body;
  if (typeof method !== 'string' || method === '') throw new PayloadFault('Invalid request body: method is missing');
  const timeoutMs = Math.max(leastTimeoutMs, numberIn(body, 'timeout') ?? DEFAULT_TIMEOUT_MS);
  if (body.persistent === true) {
    const expirationMs = numberIn(body, 'expirationTime') ?? clock.wallMs() + DEFAULT_EXPIRY_MS;
    const record = rpc.callPersistently(device.id, { method, params, oneway, timeoutMs: Math.max(0, expirationMs - clock.wallMs()) });
    return jsonReply({ rpcId: record.rpcId });
  }
  const reply = rpc.call(device.id, { method, params, oneway, timeoutMs });
  if (oneway) return { status: 200 };
  const answer = await reply;
  return answer === undefined ? { status: 504 } : jsonReply(answer);
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
