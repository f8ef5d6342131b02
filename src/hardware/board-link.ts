/**
 * The agent's end of the simulated board's socket: requests with replies, events by handle. It outlives the board: when the connection is
 * lost every waiting request fails, and it is made again with backoff; then whoever held something opens it again.
 */

import { createConnection, type Socket } from 'node:net';
import { AgentError } from '../errors.ts';
import { Backoff } from '../host/backoff.ts';
import type { Clock } from '../host/clock.ts';
import { isJsonObject, type JsonValue, parseJson, stringifyJson } from '../host/json.ts';
import { nextTurn } from '../host/next-turn.ts';
import type { BoardEvent, BoardOperation, BoardOperations, BoardReply } from './board-protocol.ts';
import { withinDeadline } from './deadline.ts';

export interface BoardLinkDeps {
  readonly clock: Clock;
  readonly socketPath: string;
}

/** How soon, and at least how often, a lost board is looked for, ms. */
const RECONNECT = { firstMs: 50, maxMs: 2_000 };
/** A longer line than this is no message of the board's. */
const LONGEST_LINE = 4 * 1024 * 1024;
const PROTOCOL_VERSION = 1;

interface Waiting {
  readonly resolve: (result: JsonValue) => void;
  readonly reject: (error: AgentError) => void;
}

/** What is needed of it; a line within one process is another. */
export type BoardConnection = Pick<BoardLink, 'request' | 'onEvents' | 'onReconnect' | 'close'>;

export class BoardLink {
  readonly #deps: BoardLinkDeps;
  readonly #waiting = new Map<number, Waiting>();
  readonly #eventListeners = new Map<number, (event: BoardEvent) => void>();
  readonly #reconnectListeners = new Set<() => void>();
  readonly #closing = new AbortController();
  #socket: Socket | undefined;
  #connecting: Promise<Socket> | undefined;
  #lastId = 0;
  #connections = 0;

  constructor(deps: BoardLinkDeps) {
    this.#deps = deps;
  }

  /** @throws AgentError `hardware/board-gone`, `hardware/deadline` (retry), or what the board answered. */
  async request<Op extends BoardOperation>(
    op: Op,
    params: BoardOperations[Op]['params'],
    signal: AbortSignal,
  ): Promise<BoardOperations[Op]['result']> {
    const socket = this.#socket ?? (await withinDeadline(this.#connect(), 'connecting to the simulated board', signal));
    this.#lastId += 1;
    const id = this.#lastId;
    const reply = new Promise<JsonValue>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    socket.write(`${stringifyJson({ id, op, params: params as unknown as JsonValue })}\n`);
    try {
      return (await withinDeadline(reply, `simulated board: ${op}`, signal)) as BoardOperations[Op]['result'];
    } finally {
      this.#waiting.delete(id);
    }
  }

  /** Calls back with the events of one handle; undefined ends it. */
  onEvents(handle: number, listener: ((event: BoardEvent) => void) | undefined): void {
    if (listener === undefined) this.#eventListeners.delete(handle);
    else this.#eventListeners.set(handle, listener);
  }

  /** Calls back whenever a lost connection has been made again: handles are gone then, and must be opened anew. */
  onReconnect(listener: () => void): () => void {
    this.#reconnectListeners.add(listener);
    return () => this.#reconnectListeners.delete(listener);
  }

  /** Idempotent. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#socket?.destroy();
  }

  #connect(): Promise<Socket> {
    this.#connecting ??= this.#openSocket().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #openSocket(): Promise<Socket> {
    const socket = createConnection(this.#deps.socketPath);
    await new Promise<void>((resolve, reject) => {
      socket.once('error', (cause) => reject(gone('the simulated board does not answer', cause)));
      const read = lineReader((line) => {
        const message = parseJson(line);
        if (isJsonObject(message) && message.turnstoneBoard === PROTOCOL_VERSION) resolve();
        else if (isJsonObject(message) && message.turnstoneBoard !== undefined)
          reject(gone('the simulated board speaks another version of its protocol'));
        else this.#receive(message);
      });
      socket.on('data', (bytes) => {
        if (!read(bytes)) socket.destroy(new Error('a line without end'));
      });
      socket.once('close', () => reject(gone('the simulated board hung up')));
    });
    socket.on('error', () => {}); // close follows
    socket.once('close', () => this.#lost(socket));
    this.#socket = socket;
    this.#connections += 1;
    if (this.#connections > 1) for (const listener of this.#reconnectListeners) listener();
    return socket;
  }

  #receive(message: JsonValue): void {
    if (!isJsonObject(message)) return;
    if (typeof message.event === 'string') {
      const event = message as unknown as BoardEvent;
      const listener = this.#eventListeners.get(event.handle);
      if (listener !== undefined) listener(event);
      // It came in one piece with the reply that names its handle, which whoever waits for that reply has yet to see.
      else void nextTurn().then(() => this.#eventListeners.get(event.handle)?.(event));
      return;
    }
    const { id, result, error } = message as unknown as BoardReply;
    const waiting = this.#waiting.get(id);
    if (error !== undefined) waiting?.reject(new AgentError(error.code, error.message, { recovery: error.recovery }));
    else waiting?.resolve(result ?? null);
  }

  #lost(socket: Socket): void {
    if (this.#socket !== socket) return;
    this.#socket = undefined;
    this.#eventListeners.clear();
    for (const { reject } of this.#waiting.values()) reject(gone('the simulated board hung up'));
    this.#waiting.clear();
    if (!this.#closing.signal.aborted) void this.#reconnect(this.#closing.signal);
  }

  async #reconnect(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(RECONNECT, this.#deps.clock);
    while (!signal.aborted && this.#socket === undefined) {
      await this.#deps.clock.sleep(backoff.nextMs(), signal);
      if (!signal.aborted && this.#socket === undefined) await this.#connect().catch(() => {});
    }
  }
}

/** Cuts bytes into lines; false when a line grows too long. */
function lineReader(take: (line: string) => void): (bytes: Uint8Array) => boolean {
  const decoder = new TextDecoder();
  let rest = '';
  return (bytes) => {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) take(line);
    return rest.length <= LONGEST_LINE;
  };
}

function gone(message: string, cause?: unknown): AgentError {
  return new AgentError('hardware/board-gone', message, { recovery: 'retry', cause });
}
