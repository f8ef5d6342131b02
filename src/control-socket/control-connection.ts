/** One caller on the control socket: its requests, their deadlines, its subscriptions. It ends when the caller does anything impossible. */
import type { Socket } from 'node:net';
import { AgentError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { JsonObject, JsonValue } from '../host/json.ts';
import {
  type ControlAccess,
  type ControlRequest,
  decodeLine,
  encodeLine,
  errorMessage,
  LONGEST_REQUEST,
  PROTOCOL_VERSION,
  parseRequest,
} from './control-protocol.ts';
import { LineReader } from './line-reader.ts';

/** Answers once. */
export type ControlMethod = (params: JsonObject, signal: AbortSignal) => Promise<JsonValue> | JsonValue;
/**
 * Emits events until it ends by itself or the caller cancels. Whoever has much to tell waits for each `emit`: it resolves when the caller
 * has room for more.
 */
export type ControlStream = (params: JsonObject, emit: (event: JsonValue) => Promise<void>, signal: AbortSignal) => Promise<void>;

export interface ControlConnectionDeps {
  readonly socket: Socket;
  readonly access: ControlAccess;
  readonly methods: ReadonlyMap<string, ControlMethod>;
  readonly streams: ReadonlyMap<string, ControlStream>;
  readonly clock: Clock;
}

/** One terminal never has more under way. */
const MOST_REQUESTS = 16;
/** A caller that reads slower than it is told things is cut off, not waited for. */
const LARGEST_BACKLOG_BYTES = 8 * 1024 * 1024;

export class ControlConnection {
  readonly #deps: ControlConnectionDeps;
  readonly #running = new Map<number, AbortController>();
  readonly #reader = new LineReader(LONGEST_REQUEST);

  constructor(deps: ControlConnectionDeps) {
    this.#deps = deps;
    const { socket } = deps;
    socket.on('data', (bytes: Buffer) => this.#take(bytes));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#abortAll());
    this.#send({ turnstone: PROTOCOL_VERSION, access: deps.access });
  }

  /** Ends the connection and what runs on it. Idempotent. */
  close(): void {
    this.#deps.socket.destroy();
    this.#abortAll();
  }

  #take(bytes: Buffer): void {
    const lines = this.#reader.take(bytes);
    if (lines === undefined) this.close();
    else for (const line of lines) this.#takeLine(line);
  }

  #takeLine(line: string): void {
    try {
      const message = decodeLine(line, LONGEST_REQUEST);
      if (typeof message.cancel === 'number') this.#running.get(message.cancel)?.abort();
      else void this.#serve(parseRequest(message));
    } catch {
      // Whoever sends this does not speak the protocol.
      this.close();
    }
  }

  async #serve(request: ControlRequest): Promise<void> {
    const { id, deadlineMs } = request;
    if (this.#running.has(id) || this.#running.size >= MOST_REQUESTS) {
      const why = this.#running.has(id) ? 'this id is under way already' : `at most ${MOST_REQUESTS} requests may be under way`;
      return this.#send(errorMessage(id, new AgentError('control-socket/refused', why, { recovery: 'drop' })));
    }
    const ending = new AbortController();
    this.#running.set(id, ending);
    const isStream = this.#deps.streams.has(request.method);
    const late = new AgentError('control-socket/deadline', `${request.method} did not end within ${deadlineMs / 1000} s`, {
      recovery: 'retry',
    });
    const cancelTimer = isStream ? () => {} : this.#deps.clock.after(deadlineMs, () => ending.abort(late));
    try {
      const result = await raceAbort(this.#run(request, ending.signal), ending.signal);
      this.#send({ id, result });
    } catch (error) {
      this.#send(isStream && ending.signal.aborted ? { id, result: null } : errorMessage(id, error));
    } finally {
      cancelTimer();
      this.#running.delete(id);
    }
  }

  async #run({ id, method, params }: ControlRequest, signal: AbortSignal): Promise<JsonValue> {
    const { methods, streams, access } = this.#deps;
    const stream = streams.get(method);
    if (stream !== undefined) {
      await stream(params, (event) => this.#emit({ id, event }, signal), signal);
      return null;
    }
    const serve = methods.get(method);
    if (serve !== undefined) return serve(params, signal);
    const known = [...methods.keys(), ...streams.keys()].join(', ');
    const hint = access === 'read' ? ' for those who may only look' : '';
    throw new AgentError('control-socket/unknown-method', `the agent has no ${method.slice(0, 100)}${hint}; it has ${known}`, {
      recovery: 'drop',
    });
  }

  async #emit(message: JsonObject, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    this.#send(message);
    const { socket } = this.#deps;
    if (!socket.writableNeedDrain || socket.destroyed) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        socket.off('drain', done);
        socket.off('close', done);
        resolve();
      };
      socket.on('drain', done);
      socket.on('close', done);
    });
  }

  #send(message: JsonObject): void {
    const { socket } = this.#deps;
    if (socket.destroyed) return;
    socket.write(encodeLine(message));
    if (socket.writableLength > LARGEST_BACKLOG_BYTES) this.close();
  }

  #abortAll(): void {
    for (const ending of this.#running.values()) ending.abort();
  }
}

/** A method that does not look at its signal must not keep its caller waiting. */
async function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop: () => void = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
