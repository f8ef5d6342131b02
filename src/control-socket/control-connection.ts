/** One caller on the control socket: its requests, their deadlines, its subscriptions. It ends when the caller does anything impossible. */

import { once } from 'node:events';
import type { Socket } from 'node:net';
import { refusal, retryable } from '../errors/agent-error.ts';
import { untilAborted } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import { encodeLine, JsonLink } from '../host/json-link.ts';
import type { LocalDoor } from '../operations/local-door.ts';
import type { JsonObject, JsonValue } from '../values/json.ts';
import {
  type ControlAccess,
  type ControlRequest,
  errorMessage,
  JOIN_GROUP,
  MAX_ANSWER_LENGTH,
  MAX_REQUEST_LENGTH,
  PROTOCOL_VERSION,
  parseRequest,
} from './control-protocol.ts';

export interface ControlConnectionDeps {
  readonly socket: Socket;
  readonly access: ControlAccess;
  readonly door: LocalDoor;
  /** Operations that others may ask for and this caller may not. */
  readonly withheld: ReadonlySet<string>;
  readonly clock: Clock;
}

/** One terminal never has more under way. */
const MAX_REQUESTS = 16;
const TOO_LONG = `the answer is longer than ${MAX_ANSWER_LENGTH / 1024 / 1024} MB: ask for less`;
/** Unread by a caller that is past this: it takes nothing, and is cut off. */
const MAX_BACKLOG_BYTES = 2 * MAX_ANSWER_LENGTH;

export class ControlConnection {
  readonly #deps: ControlConnectionDeps;
  readonly #running = new Map<number, AbortController>();
  /** Resolves when the caller has read what it was sent, or is gone; undefined while nobody waits for it. */
  #room: Promise<void> | undefined;

  constructor(deps: ControlConnectionDeps) {
    this.#deps = deps;
    const { socket } = deps;
    new JsonLink(socket, MAX_REQUEST_LENGTH).listen({
      message: (message) => this.#take(message),
      end: () => this.#abortAll(),
    });
    this.#send({ turnstone: PROTOCOL_VERSION, access: deps.access });
  }

  /** Ends the connection and what runs on it. Idempotent. */
  close(): void {
    this.#deps.socket.destroy();
    this.#abortAll();
  }

  /** Nothing is under way. */
  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  #take(message: JsonObject): void {
    if (typeof message.cancel === 'number') this.#running.get(message.cancel)?.abort();
    else void this.#serve(parseRequest(message));
    const { socket } = this.#deps;
    // A caller that asks faster than it reads answers is not heard until it has read them.
    if (!socket.writableNeedDrain || socket.isPaused()) return;
    socket.pause();
    socket.once('drain', () => socket.resume());
  }

  async #serve(request: ControlRequest): Promise<void> {
    const { id, method, deadlineMs } = request;
    const { door, clock } = this.#deps;
    const refused = (why: string): void => this.#send(errorMessage(id, refusal('control-socket/refused', why)));
    if (this.#running.has(id)) return refused('this id is under way already');
    if (this.#running.size >= MAX_REQUESTS) return refused(`at most ${MAX_REQUESTS} requests may be under way`);
    const isStream = door.operations.get(method)?.isStream === true;
    const ending = new AbortController();
    this.#running.set(id, ending);
    const late = retryable('control-socket/deadline', `${method} did not end within ${deadlineMs / 1000} s`);
    const cancelTimer = isStream ? () => {} : clock.after(deadlineMs, () => ending.abort(late));
    const work = this.#run(request, ending.signal);
    try {
      // A method that does not look at its signal must not keep its caller waiting.
      this.#send({ id, result: await untilAborted(work, ending.signal) });
    } catch (error) {
      this.#send(isStream && ending.signal.aborted ? { id, result: null } : errorMessage(id, error));
    } finally {
      cancelTimer();
      // Answered or not: what is still at work counts.
      await work.catch(() => {});
      this.#running.delete(id);
    }
  }

  async #run({ id, method, params }: ControlRequest, signal: AbortSignal): Promise<JsonValue> {
    const { door, withheld } = this.#deps;
    if (door.operations.has(method))
      return await door.ask(method, params, signal, (event) => this.#emit({ id, event }, signal));
    if (withheld.has(method))
      throw refusal(
        'control-socket/no-permission',
        `you may only look; ${method} is for the agent's group: ${JOIN_GROUP}`,
      );
    const known = [...door.operations.keys()].join(', ');
    throw refusal('control-socket/unknown-method', `the agent has no ${method.slice(0, 100)}; it has ${known}`);
  }

  async #emit(message: JsonObject, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    this.#send(message);
    const { socket } = this.#deps;
    if (!socket.writableNeedDrain || socket.destroyed) return;
    this.#room ??= this.#untilRoom();
    await this.#room;
  }

  /** Once for all streams of this caller. */
  async #untilRoom(): Promise<void> {
    const over = new AbortController();
    const ends = ['drain', 'close'].map((event) => once(this.#deps.socket, event, { signal: over.signal }));
    await Promise.race(ends).catch(() => {});
    over.abort();
    this.#room = undefined;
  }

  #send(message: JsonObject): void {
    const { socket } = this.#deps;
    if (socket.destroyed) return;
    // Bytes lie outside the heap, which is small.
    const line = Buffer.from(encodeLine(message));
    const isTooLong = line.length > MAX_ANSWER_LENGTH && typeof message.id === 'number';
    socket.write(
      isTooLong ? encodeLine(errorMessage(message.id as number, refusal('control-socket/too-long', TOO_LONG))) : line,
    );
    if (socket.writableLength > MAX_BACKLOG_BYTES) this.close();
  }

  #abortAll(): void {
    for (const ending of this.#running.values()) ending.abort();
  }
}
