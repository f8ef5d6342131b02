/**
 * RPC from the server to devices. Ids count from 0 per device and start again with the server. A two-way request is handed out on every
 * poll until it is answered or its time is over, and those behind it wait; a one-way request is handed out once, to whoever polls, even
 * to a poll whose client is gone.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../host/clock.ts';
import type { JsonObject, JsonValue } from '../host/json.ts';
import { LongPolls, type LongPollsOptions, type PollEnd } from './long-polls.ts';

export interface RpcMessage {
  readonly id: number;
  readonly method: string;
  readonly params: JsonValue;
}

export interface RpcCall {
  readonly method: string;
  readonly params: JsonValue;
  readonly oneway: boolean;
  readonly timeoutMs: number;
}

export type PersistentStatus = 'QUEUED' | 'SENT' | 'DELIVERED' | 'SUCCESSFUL' | 'TIMEOUT' | 'EXPIRED' | 'DELETED';

export interface PersistentRpc {
  readonly rpcId: string;
  readonly deviceId: string;
  readonly createdMs: number;
  readonly expirationMs: number;
  readonly request: JsonObject;
  status: PersistentStatus;
  response: JsonValue;
}

interface Pending {
  readonly message: RpcMessage;
  readonly oneway: boolean;
  readonly settle: (reply: JsonValue | undefined) => void;
  readonly onHanded: () => void;
}

export class RpcBroker {
  readonly #clock: Clock;
  readonly #polls: LongPolls<RpcMessage>;
  readonly #pending = new Map<string, Pending[]>();
  readonly #nextIds = new Map<string, number>();
  readonly #persistent = new Map<string, PersistentRpc>();

  constructor(options: LongPollsOptions) {
    this.#clock = options.clock;
    this.#polls = new LongPolls(options);
  }

  /** Open polls of a device, stale ones included. */
  waiting(deviceId: string): number {
    return this.#polls.waiting(deviceId);
  }

  /** The oldest request that is pending, or the next that comes. */
  async poll(deviceId: string, timeoutMs: number, gone: AbortSignal): Promise<PollEnd<RpcMessage>> {
    const queue = this.#pending.get(deviceId);
    const first = queue?.[0];
    if (queue === undefined || first === undefined) return await this.#polls.wait(deviceId, timeoutMs, gone);
    if (first.oneway) {
      queue.shift();
      first.settle(null);
    }
    first.onHanded();
    return { kind: 'message', message: first.message };
  }

  /** Resolves with a device's reply, at once with null for a one-way request, or with undefined when the time is over. */
  call(deviceId: string, call: RpcCall, onHanded: () => void = () => {}): Promise<JsonValue | undefined> {
    const id = this.#nextIds.get(deviceId) ?? 0;
    this.#nextIds.set(deviceId, id + 1);
    const message: RpcMessage = { id, method: call.method, params: call.params };
    return new Promise((resolve) => {
      const queue = this.#pending.get(deviceId) ?? [];
      this.#pending.set(deviceId, queue);
      const pending: Pending = {
        message,
        oneway: call.oneway,
        settle: (reply) => {
          cancel();
          resolve(reply);
        },
        onHanded,
      };
      const cancel = this.#clock.after(call.timeoutMs, () => {
        remove(queue, pending);
        resolve(undefined);
      });
      const taken = this.#polls.tell(deviceId, message);
      if (taken > 0) onHanded();
      if (call.oneway && taken > 0) pending.settle(null);
      else queue.push(pending);
    });
  }

  /** A device's reply; one to a request that nobody remembers is accepted and lost. */
  reply(deviceId: string, id: number, reply: JsonValue): void {
    const queue = this.#pending.get(deviceId) ?? [];
    const pending = queue.find(({ message, oneway }) => message.id === id && !oneway);
    if (pending === undefined) return;
    remove(queue, pending);
    pending.settle(reply);
  }

  /** Keeps a request until it is answered or expires; its state can be asked for by the id in the answer. */
  callPersistently(deviceId: string, call: RpcCall): PersistentRpc {
    const createdMs = this.#clock.wallMs();
    const record: PersistentRpc = {
      rpcId: randomUUID(),
      deviceId,
      createdMs,
      expirationMs: createdMs + call.timeoutMs,
      request: { method: call.method, params: call.params, oneway: call.oneway },
      status: 'QUEUED',
      response: null,
    };
    this.#persistent.set(record.rpcId, record);
    void this.call(deviceId, call, () => {
      record.status = 'DELIVERED';
    }).then((reply) => {
      if (reply === undefined) record.status = 'EXPIRED';
      else {
        record.status = 'SUCCESSFUL';
        record.response = reply;
      }
    });
    return record;
  }

  persistent(rpcId: string): PersistentRpc | undefined {
    return this.#persistent.get(rpcId);
  }

  forgetPersistent(rpcId: string): boolean {
    return this.#persistent.delete(rpcId);
  }

  /** As a server that restarts: ids from 0 again, pending requests forgotten, polls cut. */
  restart(): void {
    for (const queue of this.#pending.values()) for (const pending of queue) pending.settle(undefined);
    this.#pending.clear();
    this.#nextIds.clear();
    this.#polls.close();
  }

  forget(deviceId: string): void {
    for (const pending of this.#pending.get(deviceId) ?? []) pending.settle(undefined);
    this.#pending.delete(deviceId);
    this.#nextIds.delete(deviceId);
    this.#polls.forget(deviceId);
  }
}

function remove(queue: Pending[], pending: Pending): void {
  const at = queue.indexOf(pending);
  if (at !== -1) queue.splice(at, 1);
}
