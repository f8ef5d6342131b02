/**
 * Turns a request into exactly one reply, and at most one movement.
 *
 *   seen before? ─ yes → the stored reply, or what can be told of an interrupted movement
 *        └ no → the table's gates → (move: intent on disk) → run within the deadline → reply kept for repeats
 */
import { AgentError, messageOf } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { JsonObject, JsonValue } from '../host/json.ts';
import type { Log } from '../host/log.ts';
import type { RpcRequest } from '../platform/device-api.ts';
import type { Effect, JournalEntry } from './journal-entries.ts';
import type { MethodTable } from './method-table.ts';
import { requestKey } from './request-key.ts';
import type { RpcJournal } from './rpc-journal.ts';
import type { RpcMethod } from './rpc-method.ts';
import { errorReply, replyOfError, resultReply } from './rpc-reply.ts';

/** The moments at which a test may end the process. */
export type Checkpoint = 'before-intent' | 'after-intent' | 'after-movement' | 'after-reply';

export interface RpcExecutorDeps {
  readonly journal: RpcJournal;
  readonly methods: MethodTable;
  readonly clock: Clock;
  readonly log: Log;
  readonly checkpoint?: (name: Checkpoint, request: RpcRequest) => void;
}

export interface RpcAnswer {
  readonly reply: JsonObject;
  /** Nothing was done for it: the reply is that of an earlier request. */
  readonly repeat: boolean;
  /** To be called when the reply has been taken, or given up. */
  readonly afterReply?: () => void;
}

export class RpcExecutor {
  readonly #deps: RpcExecutorDeps;
  readonly #running = new Map<string, Promise<RpcAnswer>>();

  constructor(deps: RpcExecutorDeps) {
    this.#deps = deps;
  }

  /** Never rejects: whatever goes wrong is the reply. */
  answer(request: RpcRequest, signal: AbortSignal): Promise<RpcAnswer> {
    const key = requestKey(request);
    const running = this.#running.get(key);
    if (running !== undefined) return running.then((answer) => ({ reply: answer.reply, repeat: true }));
    const answering = this.#answer(request, signal).finally(() => this.#running.delete(key));
    this.#running.set(key, answering);
    return answering;
  }

  /** The platform took the reply. */
  answered(request: RpcRequest): void {
    this.#deps.journal.answered(request);
    this.#deps.checkpoint?.('after-reply', request);
  }

  async #answer(request: RpcRequest, signal: AbortSignal): Promise<RpcAnswer> {
    const { journal, log } = this.#deps;
    const entry = journal.find(request);
    if (entry?.reply !== undefined) return { reply: entry.reply, repeat: true };
    if (entry !== undefined) return { reply: await this.#recover(request, entry), repeat: true };
    if (journal.isRestart(request)) log.info({ id: request.id }, 'the platform counts RPC ids from the start again');
    let effect: Effect = 'read';
    try {
      const method = this.#deps.methods.admit(request.method, request.params);
      effect = typeof method.effect === 'function' ? method.effect(request.params) : method.effect;
      const note = method.prepare?.(request.params);
      const result = await this.#run(method, effect, { request, note, signal });
      return this.#complete(request, effect, resultReply(result), method.afterReply);
    } catch (error) {
      if (!(error instanceof AgentError)) log.error({ method: request.method, error: messageOf(error) }, 'an RPC method failed');
      return this.#complete(request, effect, errorReply(error));
    }
  }

  async #run(
    method: RpcMethod,
    effect: Effect,
    { request, note, signal }: { readonly request: RpcRequest; readonly note: JsonObject | undefined; readonly signal: AbortSignal },
  ): Promise<JsonValue> {
    const { journal, checkpoint } = this.#deps;
    if (effect === 'move') {
      checkpoint?.('before-intent', request);
      await journal.intend(request, note);
      checkpoint?.('after-intent', request);
    }
    const result = await this.#withinDeadline(method, request.params, { note, signal });
    if (effect !== 'read') checkpoint?.('after-movement', request);
    return result;
  }

  async #withinDeadline(
    method: RpcMethod,
    params: JsonValue,
    { note, signal }: { readonly note: JsonObject | undefined; readonly signal: AbortSignal },
  ): Promise<JsonValue> {
    const ended = new AbortController();
    let cancel = (): void => {};
    const deadline = new Promise<never>((_resolve, reject) => {
      cancel = this.#deps.clock.after(method.deadlineMs, () => {
        reject(new AgentError('rpc/deadline-passed', `${method.name} did not end within ${method.deadlineMs} ms`, { recovery: 'drop' }));
        ended.abort();
      });
    });
    try {
      return await Promise.race([method.run(params, { note, signal: AbortSignal.any([signal, ended.signal]) }), deadline]);
    } finally {
      cancel();
    }
  }

  /** An intent without a reply: the process ended in between. Nothing is moved; at best the outcome can be read. */
  async #recover(request: RpcRequest, entry: JournalEntry): Promise<JsonObject> {
    let result: JsonValue | undefined;
    try {
      result = await this.#deps.methods.find(request.method)?.recover?.(entry.note ?? {}, request.params);
    } catch (error) {
      this.#deps.log.warn({ method: request.method, error: messageOf(error) }, 'the outcome of an interrupted movement cannot be read');
    }
    const message = 'the agent was interrupted between starting this and replying: it was done once or not at all, and is not done again';
    const reply = result === undefined ? replyOfError('uncertain', message) : resultReply(result);
    this.#deps.journal.complete(request, entry.effect, reply);
    return reply;
  }

  #complete(request: RpcRequest, effect: Effect, reply: JsonObject, afterReply?: () => void): RpcAnswer {
    this.#deps.journal.complete(request, effect, reply);
    return { reply, repeat: false, ...(afterReply === undefined ? {} : { afterReply }) };
  }
}
