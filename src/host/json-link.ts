/**
 * JSON lines over a stream socket: one object a line, both ways. A line that is too long or no JSON object ends the link, as whoever sends
 * it does not speak the protocol; so does a listener that throws.
 */
import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { AgentError } from '../errors/agent-error.ts';
import { isJsonObject, type JsonObject, parseJson, stringifyJson } from '../values/json.ts';
import { LineReader } from '../values/line-reader.ts';

export interface JsonLinkListener {
  message(message: JsonObject): void;
  /** Once; the cause is an AgentError for what was no message, the system's error for a broken connection, and undefined for an end in good order. */
  end(cause?: unknown): void;
}

export class JsonLink {
  readonly socket: Socket;
  readonly #maxLineBytes: number;
  readonly #reader: LineReader;
  #cause: unknown;

  /** Hears nothing before `listen` is called. */
  constructor(socket: Socket, maxLineBytes: number) {
    this.socket = socket;
    this.#maxLineBytes = maxLineBytes;
    this.#reader = new LineReader(maxLineBytes);
    socket.on('error', (error) => {
      this.#cause ??= error;
    });
  }

  /** To whoever listens on a Unix socket. @throws the system's error when nobody does. */
  static async connect(path: string, maxLineBytes: number): Promise<JsonLink> {
    const socket = createConnection(path);
    await once(socket, 'connect');
    return new JsonLink(socket, maxLineBytes);
  }

  listen(listener: JsonLinkListener): void {
    this.socket.once('close', () => listener.end(this.#cause));
    this.socket.on('data', (bytes: Buffer) => {
      try {
        for (const message of this.#messages(bytes)) listener.message(message);
      } catch (error) {
        this.#cause ??= error;
        this.close();
      }
    });
  }

  /** Nothing once it has ended. */
  send(message: JsonObject): void {
    if (this.socket.writable) this.socket.write(encodeLine(message));
  }

  /** Idempotent. */
  close(): void {
    this.socket.destroy();
  }

  *#messages(bytes: Buffer): Iterable<JsonObject> {
    const lines = this.#reader.readLines(bytes);
    if (lines === undefined) throw noMessage(`a line of more than ${this.#maxLineBytes} bytes`);
    for (const line of lines) {
      const message = parsed(line, this.#maxLineBytes);
      if (!isJsonObject(message)) throw noMessage('a line that is no JSON object');
      yield message;
    }
  }
}

export function encodeLine(message: JsonObject): string {
  return `${stringifyJson(message)}\n`;
}

function parsed(line: string, length: number): unknown {
  try {
    return parseJson(line, { length });
  } catch (cause) {
    throw noMessage('a line that is no JSON', cause);
  }
}

function noMessage(what: string, cause?: unknown): AgentError {
  return new AgentError('host/no-message', `the other side sent ${what}`, { recovery: 'drop', cause });
}
