/**
 * RPC from the server to devices. Ids count from 0 per device and start again with the server. A two-way request is handed out on every
 * poll until it is answered or its time is over, and those behind it wait; a one-way request is handed out once, to whoever polls, even
 * to a poll whose client is gone. Persistent ones that were never handed out outlive a restart, under new ids.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../host/clock.ts';
import { getOrInsert } from '../../values/get-or-insert.ts';
import type { JsonObject, JsonValue } from '../../values/json.ts';
import type { KeptTable } from './device-registry.ts';
import { LongPolls, type LongPollsOptions, type PollEnd } from './long-polls.ts';
import { RawReply } from './payload.ts';

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

/** A request that the platform's database knows. */
export interface PersistentRpc {
  readonly rpcId: string;
  readonly deviceId: string;
  readonly createdMs: number;
  readonly expirationMs: number;
  /** `{method, params, oneway}` */
  readonly request: JsonObject;
  readonly status: 'QUEUED' | 'DELIVERED' | 'SUCCESSFUL' | 'EXPIRED';
  readonly response: JsonValue;
}

/** Undefined when the time is over; null for a one-way request that was handed out. */
export type RpcResult = JsonValue | RawReply | undefined;

interface Pending {
  readonly message: RpcMessage;
  readonly oneway: boolean;
  /** Record of a persistent request, whose state is told. */
  readonly record: PersistentRpc | undefined;
  readonly settle: (result: RpcResult) => void;
}

export class RpcBroker {
  readonly #clock: Clock;
  readonly #polls: LongPolls<RpcMessage>;
  readonly #persistent: KeptTable<PersistentRpc>;
  readonly #pending = new Map<string, Pending[]>();
  readonly #nextIds = new Map<string, number>();

  constructor(options: LongPollsOptions, persistent: KeptTable<PersistentRpc>) {
    this.#clock = options.clock;
    this.#persistent = persistent;
    this.#polls = new LongPolls(options);
  }

  /** Open polls of a device, stale ones included. */
  waiting(deviceId: string): number {
    return this.#polls.waiting(deviceId);
  }

  /** The oldest request that is pending, or the next that comes. */
  async poll(deviceId: string, timeoutMs: number, gone: AbortSignal): Promise<PollEnd<RpcMessage>> {
    const first = this.#pending.get(deviceId)?.[0];
    if (first === undefined) return await this.#polls.wait(deviceId, timeoutMs, gone);
    this.#handedOut(first);
    return { kind: 'message', message: first.message };
  }

  /** Resolves with a device's reply, with null for a one-way request once somebody took it, or with undefined when the time is over. */
  call(deviceId: string, call: RpcCall, record?: PersistentRpc): Promise<RpcResult> {
    const id = this.#nextIds.get(deviceId) ?? 0;
    this.#nextIds.set(deviceId, id + 1);
    const message: RpcMessage = { id, method: call.method, params: call.params };
    return new Promise((resolve) => {
      const queue = getOrInsert(this.#pending, deviceId, () => []);
      const settle = (result: RpcResult): void => {
        cancel();
        if (queue.includes(pending)) queue.splice(queue.indexOf(pending), 1);
        resolve(result);
      };
      const pending: Pending = { message, oneway: call.oneway, record, settle };
      const cancel = this.#clock.after(call.timeoutMs, () => {
        this.#change(record, { status: 'EXPIRED' });
        settle(undefined);
      });
      queue.push(pending);
      if (this.#polls.tell(deviceId, message) > 0) this.#handedOut(pending);
    });
  }

  /** A device's reply; one to a request that nobody remembers is accepted and lost. */
  reply(deviceId: string, id: number, reply: JsonValue | RawReply): void {
    const pending = this.#pending.get(deviceId)?.find(({ message }) => message.id === id);
    if (pending === undefined) return;
    const response = reply instanceof RawReply ? { error: reply.text } : reply;
    this.#change(pending.record, { status: 'SUCCESSFUL', response });
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
    this.#persistent.put(record);
    void this.call(deviceId, call, record);
    return this.#persistent.byId(record.rpcId) ?? record;
  }

  forgetPersistent(rpcId: string): void {
    for (const queue of this.#pending.values()) queue.find(({ record }) => record?.rpcId === rpcId)?.settle(undefined);
    this.#persistent.remove(rpcId);
  }

  /** As a server that stops: pending requests dropped, polls cut. */
  stop(): void {
    for (const deviceId of [...this.#pending.keys()]) this.#settleAll(deviceId);
    this.#polls.close();
  }

  /** As a server that starts: ids from 0 again, and what is persistent and was never handed out waits once more. */
  requeue(): void {
    this.#nextIds.clear();
    for (const record of this.#persistent.all.filter(({ status }) => status === 'QUEUED')) {
      const timeoutMs = record.expirationMs - this.#clock.wallMs();
      const { method, params = null, oneway } = record.request;
      if (timeoutMs <= 0) this.#change(record, { status: 'EXPIRED' });
      else
        void this.call(record.deviceId, { method: String(method), params, oneway: oneway === true, timeoutMs }, record);
    }
  }

  /** A server that stops and starts at once. */
  restart(): void {
    this.stop();
    this.requeue();
  }

  forget(deviceId: string): void {
    this.#settleAll(deviceId);
    this.#nextIds.delete(deviceId);
    for (const rpc of this.#persistent.all) if (rpc.deviceId === deviceId) this.#persistent.remove(rpc.rpcId);
    this.#polls.forget(deviceId);
  }

  #settleAll(deviceId: string): void {
    for (const pending of [...(this.#pending.get(deviceId) ?? [])]) pending.settle(undefined);
    this.#pending.delete(deviceId);
  }

  /** Nothing, for one that is not persistent or was deleted meanwhile. */
  #change(record: PersistentRpc | undefined, change: Partial<Pick<PersistentRpc, 'status' | 'response'>>): void {
    const rpc = this.#persistent.byId(record?.rpcId ?? '');
    if (rpc !== undefined) this.#persistent.put({ ...rpc, ...change });
  }

  /** One-way requests are over with that; two-way ones wait for their reply, and are handed out again until it comes. */
  #handedOut(pending: Pending): void {
    this.#change(pending.record, { status: 'DELIVERED' });
    if (pending.oneway) pending.settle(null);
  }
}
