/** Bytes to Modbus units and back: a serial port, or a TCP connection that is made when the first request needs it. */
import { createConnection, type Socket } from 'node:net';
import { type AgentError, retryable } from '../errors/agent-error.ts';
import { sentence } from '../names/sentences.ts';
import { toldError } from '../names/told-error.ts';
import { deadlineError, withinDeadline } from './deadline.ts';
import type { SerialPort } from './serial-port.ts';
import { ServerWords } from './server-words.ts';

/** Where the bytes of a line go. */
export interface LineListener {
  readonly onBytes: (bytes: Uint8Array) => void;
  /** The connection ended by itself. */
  readonly onLost: (error: AgentError) => void;
}

export interface ByteLine {
  /** Port or host, for messages. */
  readonly label: string;
  readonly isOpen: boolean;
  /** True when the other end closed the connection before anything came back for the last write. */
  readonly hungUpUnanswered: boolean;
  /** Opens it, where it is not. @throws AgentError `hardware/modbus-no-answer`, `hardware/deadline` (retry). */
  connect(signal: AbortSignal): Promise<void>;
  /** @throws AgentError `hardware/modbus-no-answer` (retry) where no connection is; as SerialPort.write. Nothing has left then. */
  write(bytes: Uint8Array, signal: AbortSignal): Promise<void>;
  /** Gives a connection up, so that the next request makes its own; a serial port stays open. */
  drop(): void;
  close(): Promise<void>;
}

export function serialLine(port: SerialPort, { onBytes }: LineListener): ByteLine {
  const stop = port.onBytes(onBytes);
  return {
    label: port.path,
    isOpen: true,
    hungUpUnanswered: false,
    connect: async () => {},
    write: (bytes, signal) => port.write(bytes, signal),
    drop: () => {},
    close: async () => {
      stop();
      await port.close();
    },
  };
}

export interface TcpPlace {
  readonly host: string;
  readonly port: number;
}

export interface TcpLineDeps {
  /** The host as it is configured. */
  readonly label: string;
  readonly place: (signal: AbortSignal) => Promise<TcpPlace>;
}

export class TcpLine implements ByteLine {
  readonly label: string;
  readonly #deps: TcpLineDeps;
  readonly #listener: LineListener;
  #socket: Socket | undefined;
  #isUnanswered = false;

  constructor(deps: TcpLineDeps, listener: LineListener) {
    this.label = deps.label;
    this.#deps = deps;
    this.#listener = listener;
  }

  get isOpen(): boolean {
    return this.#socket !== undefined;
  }

  get hungUpUnanswered(): boolean {
    return this.#socket === undefined && this.#isUnanswered;
  }

  async connect(signal: AbortSignal): Promise<void> {
    this.#socket ??= await withinDeadline(this.#open(signal), `connecting to ${this.label}`, signal);
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.#isUnanswered = true;
    if (this.#socket === undefined) throw this.#hungUp();
    this.#socket.write(bytes);
  }

  drop(): void {
    if (this.#socket === undefined) return;
    const socket = this.#socket;
    this.#socket = undefined;
    this.#isUnanswered = false;
    socket.destroy();
  }

  async close(): Promise<void> {
    this.drop();
  }

  async #open(signal: AbortSignal): Promise<Socket> {
    const { host, port } = await this.#deps.place(signal);
    const socket = createConnection({ host, port, noDelay: true });
    // A connection that nobody waits for any more is not made: the next request makes its own.
    const giveUp = (): void => void socket.destroy(deadlineError(`connecting to ${this.label}`, signal));
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', (cause) =>
        reject(
          toldError('hardware/modbus-no-answer', sentence('noModbusHost', { host: this.label }), {
            recovery: 'retry',
            cause,
          }),
        ),
      );
    }).finally(() => signal.removeEventListener('abort', giveUp));
    socket.on('error', () => {}); // close follows
    const words = new ServerWords();
    socket.on('data', (bytes) => {
      if (this.#socket !== socket) return;
      words.take(bytes);
      this.#isUnanswered = false;
      this.#listener.onBytes(bytes);
    });
    socket.once('close', () => {
      if (this.#socket !== socket) return; // dropped before: its end is no news
      this.#socket = undefined;
      this.#listener.onLost(this.#hungUp(words));
    });
    return socket;
  }

  #hungUp(words = new ServerWords()): AgentError {
    return retryable('hardware/modbus-no-answer', words.hungUp(`Modbus host ${this.label}`));
  }
}
