/** Which methods there are, and who may call which, with what, how often. A request passes every gate here before anything is touched. */
import type { RpcMethodConfig } from '../config/schema/agent-config.ts';
import { AgentError, type ErrorCode } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';
import { expectUnlocked, mayAsk } from '../operations/may-ask.ts';
import { type Operation, operationsOn, TABLE_OPERATIONS } from '../operations/operation.ts';
import type { JsonObject, JsonValue } from '../values/json.ts';
import { type MatchesPattern, mismatchOf, shapeAsJson } from '../values/value-shape.ts';

/** Permissions of a method, built-in or declared; by default everything. `allowed` comes on top of the method's own shape. */
export type MethodPermission = Partial<Pick<RpcMethodConfig, 'enabled' | 'allowed' | 'mostPerMinute' | 'deadlineMs'>>;

export interface MethodTableDeps {
  readonly clock: Clock;
  /** Those that the platform may not ask for are left out. */
  readonly methods: readonly Operation[];
  readonly permissions: Readonly<Record<string, MethodPermission>>;
  /** True while someone works on the machine: nothing that moves may be started from afar. */
  readonly locked: () => boolean;
  /** Matches patterns of the configuration's shapes. */
  readonly matches?: MatchesPattern;
}

const RATE_WINDOW_MS = 60_000;

export class MethodTable {
  readonly #deps: MethodTableDeps;
  readonly #methods: ReadonlyMap<string, Operation>;
  readonly #callsAtMs = new Map<string, number[]>();

  /** @throws AgentError `rpc/method-twice` (stop) when two methods have one name. */
  constructor(deps: MethodTableDeps) {
    this.#deps = deps;
    const methods = new Map<string, Operation>();
    const own = deps.methods.filter((method) => mayAsk('platform', method));
    for (const method of [...own, ...operationsOn(TABLE_OPERATIONS, { list: () => this.#list() })]) {
      if (methods.has(method.name))
        throw new AgentError('rpc/method-twice', `the RPC method ${method.name} is there twice`, { recovery: 'stop' });
      methods.set(method.name, method);
    }
    this.#methods = methods;
  }

  /** The method, with its deadline as configured and whether these params move, when every gate is open. @throws AgentError `rpc/…` (drop) that says which one is not. */
  admit(name: string, params: JsonValue): Operation {
    const method = this.#methods.get(name);
    if (method === undefined)
      throw refused('rpc/unknown-method', `there is no method ${name.slice(0, 100)}; listMethods names them`);
    const permission = this.#permission(name);
    if (permission.enabled === false) throw refused('rpc/disabled', `${name} is switched off in the configuration`);
    const understood = method.understood === undefined ? params : method.understood(params);
    const mismatch = mismatchOf(method.params, understood, 'params', this.#deps.matches);
    if (mismatch !== undefined) throw refused('rpc/bad-params', mismatch);
    const notAllowed =
      permission.allowed === undefined
        ? undefined
        : mismatchOf(permission.allowed, understood, 'params', this.#deps.matches);
    if (notAllowed !== undefined) throw refused('rpc/not-allowed', `${notAllowed} by the configuration`);
    const moves = typeof method.moves === 'function' ? method.moves(params) : method.moves;
    expectUnlocked({ moves }, params, { asker: 'platform', locked: this.#deps.locked });
    // A question never moves either, and is refused all the same.
    const switchesOff = !moves && method.moves !== false;
    this.#countCall(name, permission.mostPerMinute, switchesOff);
    return { ...method, moves, deadlineMs: permission.deadlineMs ?? method.deadlineMs };
  }

  /** The method alone, for what happened before. */
  find(name: string): Operation | undefined {
    return this.#methods.get(name);
  }

  /** Switching off counts, and is never refused: what was switched on too often would stay on. */
  #countCall(name: string, mostPerMinute: number | undefined, switchesOff: boolean): void {
    if (mostPerMinute === undefined) return;
    const nowMs = this.#deps.clock.monotonicMs();
    const recent = (this.#callsAtMs.get(name) ?? []).filter((atMs) => nowMs - atMs < RATE_WINDOW_MS);
    this.#callsAtMs.set(name, recent);
    if (recent.length < mostPerMinute) recent.push(nowMs);
    else if (!switchesOff) throw refused('rpc/too-often', `${name} may be called ${mostPerMinute} times a minute`);
  }

  #permission(name: string): MethodPermission {
    const { permissions } = this.#deps;
    return (Object.hasOwn(permissions, name) && permissions[name]) || {};
  }

  #list(): JsonValue {
    return [...this.#methods.values()]
      .filter(({ name }) => this.#permission(name).enabled !== false)
      .map((method) => this.#describe(method));
  }

  #describe(method: Operation): JsonObject {
    const { name, description, moves } = method;
    const { allowed, mostPerMinute, deadlineMs = method.deadlineMs } = this.#permission(name);
    const shapes = { params: shapeAsJson(method.params), allowed: allowed && shapeAsJson(allowed) };
    return { name, description, ...shapes, mostPerMinute, deadlineMs, moves: moves !== false };
  }
}

function refused(code: ErrorCode, message: string): AgentError {
  return new AgentError(code, message, { recovery: 'drop' });
}
