/** One caller on the control socket: its requests, their deadlines, its subscriptions. It ends when the caller does anything impossible. */

import { once } from 'node:events';
import type { Socket } from 'node:net';
import { untilAborted } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import type { JsonObject, JsonValue } from '../host/json.ts';
import { encodeLine, JsonLink } from '../host/json-link.ts';
import {
  type ControlAccess,
  type ControlRequest,
  errorMessage,
  JOIN_GROUP,
  MAX_ANSWER_LENGTH,
  MAX_REQUEST_LENGTH,
  PROTOCOL_VERSION,
  parseRequest,
  refusal,
  retry,
} from './control-protocol.ts';
import type { LongAnswer, LongAnswers } from './long-answers.ts';
import type { UnderWay } from './under-way.ts';

/** Answers once. */
export type ControlMethod = (params: JsonObject, signal: AbortSignal) => Promise<JsonValue> | JsonValue;
/**
 * Emits events until it ends by itself or the caller cancels. Whoever has much to tell waits for each `emit`: it resolves when the caller
 * has room for more.
 */
export type ControlStream = (params: JsonObject, emit: (event: JsonValue) => Promise<void>, signal: AbortSignal) => Promise<void>;

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
  /** Shared by all callers. */
  readonly longAnswers: LongAnswers;
  /** Shared by all callers of this socket. */
  readonly underWay: UnderWay;
  /** This caller takes slower than it is told. */
  readonly onBacklog: () => void;
}

/** One terminal never has more under way. */
const MAX_REQUESTS = 16;
const LISTENERS_OF_SOCKET = 10;
const TOO_LONG = `the answer is longer than ${MAX_ANSWER_LENGTH / 1024 / 1024} MB: ask for less`;
/** Longer answers take their turn. */
const LONG_BYTES = 256 * 1024;

export class ControlConnection {
  readonly #deps: ControlConnectionDeps;
  readonly #running = new Map<number, AbortController>();
  /** Resolves when the caller has read what it was sent, or is gone; undefined while nobody waits for it. */
  #room: Promise<void> | undefined;

  constructor(deps: ControlConnectionDeps) {
    this.#deps = deps;
    const { socket } = deps;
    // Each long answer waits for the caller's end.
    socket.setMaxListeners(LISTENERS_OF_SOCKET + MAX_REQUESTS);
    new JsonLink(socket, MAX_REQUEST_LENGTH).listen({ message: (message) => this.#take(message), end: () => this.#abortAll() });
    void this.#send({ turnstone: PROTOCOL_VERSION, access: deps.access });
  }

  get access(): ControlAccess {
    return this.#deps.access;
  }

  /** Bytes that this caller has not read yet. */
  get backlogBytes(): number {
    return this.#deps.socket.writableLength;
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
    const { streams, underWay, clock } = this.#deps;
    const refused = (why: string): void => void this.#send(errorMessage(id, refusal('control-socket/refused', why)));
    if (this.#running.has(id)) return refused('this id is under way already');
    if (this.#running.size >= MAX_REQUESTS) return refused(`at most ${MAX_REQUESTS} requests may be under way`);
    const isStream = streams.has(method);
    const begun = { isStream, giveWay: () => this.close() };
    if (!underWay.begin(begun)) return refused('the agent has as many requests under way as it can hold: try again later');
    const ending = new AbortController();
    this.#running.set(id, ending);
    const late = retry('control-socket/deadline', `${method} did not end within ${deadlineMs / 1000} s`);
    const cancelTimer = isStream ? () => {} : clock.after(deadlineMs, () => ending.abort(late));
    const work = this.#run(request, ending.signal);
    try {
      // A method that does not look at its signal must not keep its caller waiting.
      const result = await untilAborted(work, ending.signal);
      // A long answer that waits for its turn is still under way.
      await this.#send({ id, result });
    } catch (error) {
      await this.#send(isStream && ending.signal.aborted ? { id, result: null } : errorMessage(id, error));
    } finally {
      cancelTimer();
      // Answered or not: what is still at work counts.
      await work.catch(() => {});
      this.#running.delete(id);
      underWay.over(begun);
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
      throw refusal('control-socket/no-permission', `you may only look; ${method} is for the agent's group: ${JOIN_GROUP}`);
    const known = [...methods.keys(), ...streams.keys()].join(', ');
    throw refusal('control-socket/unknown-method', `the agent has no ${method.slice(0, 100)}; it has ${known}`);
  }

  async #emit(message: JsonObject, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await this.#send(message);
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

  /** Resolves when it was handed over, which a long answer waits for. */
  async #send(message: JsonObject): Promise<void> {
    const { socket, onBacklog } = this.#deps;
    if (socket.destroyed) return;
    // Bytes lie outside the heap, which is small.
    const line = Buffer.from(encodeLine(message));
    if (line.length > MAX_ANSWER_LENGTH && typeof message.id === 'number')
      return this.#send(errorMessage(message.id, refusal('control-socket/too-long', TOO_LONG)));
    if (line.length > LONG_BYTES) return this.#sendInTurn(line);
    if (!socket.write(line)) onBacklog();
  }

  async #sendInTurn(line: Buffer): Promise<void> {
    const { socket, longAnswers } = this.#deps;
    const answer: LongAnswer = { bytes: line.length, left: () => socket.writableLength, giveUp: () => this.close() };
    const { promise, resolve } = Promise.withResolvers<void>();
    const over = (): void => {
      socket.off('close', over);
      longAnswers.over(answer);
      resolve();
    };
    // Its caller may leave while it waits.
    socket.on('close', over);
    void longAnswers.turn(answer).then(() => socket.write(line, over));
    return promise;
  }

  #abortAll(): void {
    for (const ending of this.#running.values()) ending.abort();
  }
}
