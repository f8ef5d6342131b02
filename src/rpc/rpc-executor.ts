/**
 * Turns a request into exactly one reply, and a command into at most one movement (SAME-COMMAND.md).
 *
 *   same as an earlier one → the stored reply, or what can be told of an interrupted movement
 *   perhaps the same, and a movement → outcome-unknown
 *   else → the table's gates → (move: intent on disk) → run within the deadline → reply kept for repeats
 *
 * A request that takes longer than its deadline is answered all the same, so that those behind it get their turn; a movement that has begun goes on.
 */
import { AgentError, type ErrorCode, hasCode, messageOf } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { Operation, OperationCall } from '../operations/operation.ts';
import { isWidgetName } from '../operations/widget-names.ts';
import type { RpcRequest } from '../platform/device-api.ts';
import type { JsonObject, JsonValue } from '../values/json.ts';
import type { JournalEntry } from './journal-entries.ts';
import type { MethodTable } from './method-table.ts';
import { requestKey } from './request-key.ts';
import type { RpcJournal } from './rpc-journal.ts';
import { errorReply, faultText, outcomeUnknownReply, type ReplyBody, resultReply } from './rpc-reply.ts';
import { DEEDS, type Effect } from './same-command.ts';
import type { ToldCommand } from './told-command.ts';

const INTERRUPTED =
  'the agent was interrupted between starting this and replying: it was done once or not at all, and is not done again';
const MAY_BE_A_REPEAT =
  'the same command came before, and whether this repeats it cannot be told: nothing was moved now; see how things stand, and send it again';

/** Requests under way past which no new movement starts; those that switch off, or only ask, come on top. */
const MAX_UNDER_WAY = 16;

/** The moments at which a test may end the process. */
export type Checkpoint = 'before-intent' | 'after-intent' | 'after-movement' | 'after-reply';

export interface RpcExecutorDeps {
  readonly journal: RpcJournal;
  readonly methods: MethodTable;
  readonly clock: Clock;
  readonly log: Log;
  /** Told of each command that was carried out or refused; not of one that came before. */
  readonly onCommand?: (command: ToldCommand) => void;
  readonly checkpoint?: (name: Checkpoint, request: RpcRequest) => void;
}

export interface RpcAnswer {
  /** Undefined: it cannot be told whether this is what was under way; asked for again, it can. */
  readonly reply: JsonObject | undefined;
  /** It came before, or may have. */
  readonly repeat: boolean;
  /** To be called when the reply has been accepted, or given up. */
  readonly afterReply?: () => void;
}

export class RpcExecutor {
  readonly #deps: RpcExecutorDeps;
  readonly #running = new Map<string, Promise<RpcAnswer>>();
  /** Movements that were answered before they have ended: one for each actuator at most. */
  readonly #goingOn = new Set<Promise<void>>();

  constructor(deps: RpcExecutorDeps) {
    this.#deps = deps;
  }

  /** Never rejects: whatever goes wrong is the reply. */
  answer(request: RpcRequest, signal: AbortSignal): Promise<RpcAnswer> {
    const key = requestKey(request);
    const running = this.#running.get(key);
    if (running !== undefined) {
      const isSame = this.#deps.journal.comesAgain(request);
      return running.then(({ reply }) => ({ reply: isSame ? reply : undefined, repeat: true }));
    }
    const answering = this.#answer(request, signal).finally(() => this.#running.delete(key));
    this.#running.set(key, answering);
    return answering;
  }

  /** The reply in the form that the method's callers expect. */
  bodyOf({ method }: RpcRequest, reply: JsonObject): ReplyBody {
    const known = this.#deps.methods.find(method);
    if (reply.error !== undefined && (known?.isDeclared ?? isWidgetName(method))) return faultText(reply.error);
    return { json: known?.bare === true && reply.result !== undefined ? reply.result : reply };
  }

  /** True while a request is under way that is not answered yet. */
  get isBusy(): boolean {
    return this.#running.size > 0;
  }

  /** Resolves when nothing is under way. */
  async ended(): Promise<void> {
    await Promise.all(this.#running.values());
    await Promise.all(this.#goingOn);
  }

  /** The platform took the reply. */
  answered(request: RpcRequest): void {
    this.#deps.journal.answered(request);
    this.#deps.checkpoint?.('after-reply', request);
  }

  /** A call to the platform failed: it may have restarted since. */
  doubtPlatform(): void {
    this.#deps.journal.doubtPlatform();
  }

  async #answer(request: RpcRequest, signal: AbortSignal): Promise<RpcAnswer> {
    const recollection = this.#deps.journal.recall(request);
    if (recollection.verdict === 'new') return await this.#act(request, signal);
    const { verdict, earlier } = recollection;
    const deed = DEEDS[verdict][earlier.effect];
    if (deed === 'act') return { ...(await this.#act(request, signal)), repeat: true };
    if (deed === 'outcome-unknown') return { reply: this.#outcomeUnknown(request, MAY_BE_A_REPEAT), repeat: true };
    return { reply: earlier.reply ?? (await this.#recover(request, earlier)), repeat: true };
  }

  async #act(request: RpcRequest, signal: AbortSignal): Promise<RpcAnswer> {
    const answer = await this.#carryOut(request, signal);
    const { methods, onCommand } = this.#deps;
    const { method, params } = request;
    // Questions, and names that nobody knows, are no commands.
    const isCommand = (methods.find(method)?.effect ?? 'read') !== 'read';
    if (isCommand && answer.reply !== undefined) onCommand?.({ method, params, reply: answer.reply });
    return answer;
  }

  async #carryOut(request: RpcRequest, signal: AbortSignal): Promise<RpcAnswer> {
    const { log } = this.#deps;
    let effect: Effect = 'read';
    try {
      const method = this.#deps.methods.admit(request.method, request.params);
      // The request itself is not yet one of them.
      if (method.moves === true && this.#running.size >= MAX_UNDER_WAY)
        throw new AgentError('rpc/too-many', `${MAX_UNDER_WAY} others are under way`, { recovery: 'drop' });
      const own = typeof method.effect === 'function' ? method.effect(request.params) : method.effect;
      // A request that its gates refuse has moved nothing.
      const note = method.prepare?.(request.params, 'platform');
      effect = own;
      const result = await this.#run(method, { request, effect }, { asker: 'platform', note, signal });
      return this.#complete(request, effect, resultReply(result), method.afterReply);
    } catch (error) {
      if (!(error instanceof AgentError))
        log.error({ method: request.method.slice(0, 100), error: messageOf(error) }, 'an RPC method failed');
      return this.#complete(request, effect, errorReply(error));
    }
  }

  async #run(
    method: Operation,
    { request, effect }: { request: RpcRequest; effect: Effect },
    call: OperationCall,
  ): Promise<JsonValue> {
    const { journal, checkpoint } = this.#deps;
    if (effect === 'move') {
      checkpoint?.('before-intent', request);
      await journal.intend(request, call.note);
      checkpoint?.('after-intent', request);
    }
    const result = await this.#withinDeadline(method, request.params, call);
    if (effect !== 'read') checkpoint?.('after-movement', request);
    return result;
  }

  async #withinDeadline(
    method: Operation,
    params: JsonValue,
    { asker, note, signal }: OperationCall,
  ): Promise<JsonValue> {
    const { clock } = this.#deps;
    const ended = new AbortController();
    const { promise: late, reject } = Promise.withResolvers<never>();
    const overdue = (code: ErrorCode, how = ''): void =>
      reject(
        new AgentError(code, `${method.name} did not end within ${method.deadlineMs} ms${how}`, { recovery: 'drop' }),
      );
    const overdueAndGoesOn = (): void => overdue('rpc/under-way', ' and goes on: the actuator shows what comes of it');
    let cancel = clock.after(method.deadlineMs, () => {
      // A run that has not begun ends with the signal, and says so itself.
      if (method.goesOn === true) cancel = clock.after(0, overdueAndGoesOn);
      else overdue('rpc/deadline-passed');
      ended.abort();
    });
    const running = (async () =>
      await method.run(params, { asker, note, signal: AbortSignal.any([signal, ended.signal]) }))();
    try {
      return await Promise.race([running, late]);
    } catch (error) {
      if (hasCode(error, 'rpc/under-way')) this.#goOn(method.name, running);
      throw error;
    } finally {
      cancel();
    }
  }

  #goOn(method: string, running: Promise<JsonValue>): void {
    const { log } = this.#deps;
    const ending = running
      .then(
        () => log.info({ method }, 'a movement that was answered as under way has ended'),
        (error: unknown) =>
          log.warn({ method, error: messageOf(error) }, 'a movement that was answered as under way has failed'),
      )
      .finally(() => this.#goingOn.delete(ending));
    this.#goingOn.add(ending);
  }

  /** An intent without a reply: the process ended in between. Nothing is moved; at best the outcome can be read. */
  async #recover(request: RpcRequest, entry: JournalEntry): Promise<JsonObject> {
    let result: JsonValue | undefined;
    try {
      result = await this.#deps.methods.find(request.method)?.recover?.(entry.note ?? {}, request.params);
    } catch (error) {
      this.#deps.log.warn(
        { method: entry.method, error: messageOf(error) },
        'the outcome of an interrupted movement cannot be read',
      );
    }
    if (result === undefined) return this.#outcomeUnknown(request, INTERRUPTED);
    const reply = resultReply(result);
    this.#deps.journal.complete(request, entry.effect, reply);
    return reply;
  }

  /** Moves nothing, and says that it is not known whether something has moved. */
  #outcomeUnknown(request: RpcRequest, why: string): JsonObject {
    const reply = outcomeUnknownReply(why);
    this.#deps.journal.complete(request, 'move', reply);
    return reply;
  }

  #complete(request: RpcRequest, effect: Effect, reply: JsonObject, afterReply?: () => void): RpcAnswer {
    this.#deps.journal.complete(request, effect, reply);
    return { reply, repeat: false, afterReply };
  }
}
