/** One caller on the control socket: its requests, their deadlines, its subscriptions. It ends when the caller does anything impossible. */

import { once } from 'node:events';
import type { Socket } from 'node:net';
import { refusal, retryable } from '../errors/agent-error.ts';
import { untilAborted } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import { encodeLine, JsonLink } from '../host/json-link.ts';
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

/** Answers once. */
export type ControlMethod = (params: JsonObject, signal: AbortSignal) => Promise<JsonValue> | JsonValue;
/**
 * Emits events until it ends by itself or the caller cancels. Whoever has much to tell waits for each `emit`: it resolves when the caller
 * has room for more.
 */
export type ControlStream = (
  params: JsonObject,
  emit: (event: JsonValue) => Promise<void>,
  signal: AbortSignal,
) => Promise<void>;

/** Calls that a room answers: reading is for everyone on the machine, changing for the service's group. */
export interface ControlCalls {
  readonly methods?: Readonly<Record<string, ControlMethod>>;
  readonly readMethods?: Readonly<Record<string, ControlMethod>>;
  readonly readStreams?: Readonly<Record<string, ControlStream>>;
}

export interface ControlConnectionDeps {
  readonly socket: Socket;
  readonly access: ControlAccess;
  readonly methods: ReadonlyMap<string, ControlMethod>;
  readonly streams: ReadonlyMap<string, ControlStream>;
  /** Methods that others may call and this caller may not. */
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
    const { streams, clock } = this.#deps;
    const refused = (why: string): void => this.#send(errorMessage(id, refusal('control-socket/refused', why)));
    if (this.#running.has(id)) return refused('this id is under way already');
    if (this.#running.size >= MAX_REQUESTS) return refused(`at most ${MAX_REQUESTS} requests may be under way`);
    const isStream = streams.has(method);
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
    const { methods, streams, withheld } = this.#deps;
    const stream = streams.get(method);
    if (stream !== undefined) {
      await stream(params, (event) => this.#emit({ id, event }, signal), signal);
      return null;
    }
    const serve = methods.get(method);
    if (serve !== undefined) return serve(params, signal);
    if (withheld.has(method))
      throw refusal(
        'control-socket/no-permission',
        `you may only look; ${method} is for the agent's group: ${JOIN_GROUP}`,
      );
    const known = [...methods.keys(), ...streams.keys()].join(', ');
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
