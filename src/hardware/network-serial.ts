/**
 * Serial ports behind a device server (`tcp://host:4001`): the bytes as they are on the line, whose settings are the server's own. A
 * connection that is lost comes back by itself, as a port that was unplugged does.
 */
import { createConnection, type Socket } from 'node:net';
import { messageOf, retryable } from '../errors/agent-error.ts';
import { Backoff } from '../host/backoff.ts';
import type { Clock } from '../host/clock.ts';
import { Listeners } from '../values/listeners.ts';
import { answerWithin, withinDeadline } from './deadline.ts';
import { type SerialPort, unplugged } from './serial-port.ts';
import { ServerWords } from './server-words.ts';

/** How soon, and at least how often, a lost connection is tried again, ms. */
const RECONNECT = { firstMs: 250, maxMs: 10_000 };
/** Timeout of a connection attempt. */
const CONNECT_MS = 10_000;
/** A connection that ends sooner does not reset the backoff. */
const STEADY_MS = 5_000;
/** Silence after which the kernel probes the connection: a server that lost its power closes nothing. */
const KEEP_ALIVE_MS = 10_000;
const PLACE = /^(?:tcp|rfc2217):\/\/\[?([^/]*?)\]?:(\d+)$/;

/** True when a port is one of a device server. */
export function isNetworkPort(port: string): boolean {
  return PLACE.test(port);
}

export class NetworkSerialPort implements SerialPort {
  readonly path: string;
  onClosed: () => void = () => {};
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  readonly #bytes = new Listeners<[Uint8Array]>();
  readonly #plugs = new Listeners<[boolean, string]>();
  readonly onBytes = this.#bytes.add;
  readonly onPlug = this.#plugs.add;
  readonly #closing = new AbortController();
  #socket: Socket | undefined;
  #outage: string | undefined;
  #cancelSteady = (): void => {};

  /** @throws AgentError `hardware/serial-no-port`, `hardware/deadline` (both retry). */
  static async open(path: string, clock: Clock, signal: AbortSignal): Promise<NetworkSerialPort> {
    const port = new NetworkSerialPort(path, clock);
    const connecting = port.#connect();
    try {
      await withinDeadline(connecting, `connecting to ${path}`, signal);
      return port;
    } catch (error) {
      connecting.catch(() => {});
      await port.close();
      throw error;
    }
  }

  private constructor(path: string, clock: Clock) {
    this.path = path;
    this.#clock = clock;
    this.#backoff = new Backoff(RECONNECT, clock);
  }

  get outage(): string | undefined {
    return this.#outage;
  }

  get plugged(): boolean {
    return this.#socket !== undefined;
  }

  async write(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    const socket = this.#socket;
    if (socket === undefined) throw unplugged(this.path, this.#outage);
    const what = `writing to ${this.path}`;
    const write = (resolve: () => void, reject: (error: unknown) => void): void =>
      void socket.write(bytes, (cause) =>
        cause ? reject(retryable('hardware/serial-failed', what, cause)) : resolve(),
      );
    await answerWithin<void>(write, what, signal);
  }

  /** Ends a connection that is of no use; it is made again, as after a loss. */
  drop(reason: string): void {
    this.#socket?.destroy(new Error(reason));
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    this.#cancelSteady();
    this.onClosed();
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  async #connect(): Promise<void> {
    const [, host = '', port = ''] = PLACE.exec(this.path) ?? [];
    const socket = createConnection({
      host,
      port: Number(port),
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_MS,
    });
    const { signal } = this.#closing;
    const giveUp = (): void => void socket.destroy(new Error('the port was closed'));
    const cancel = this.#clock.after(CONNECT_MS, () => socket.destroy(new Error('no answer')));
    signal.addEventListener('abort', giveUp, { once: true });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', (cause) =>
        reject(retryable('hardware/serial-no-port', `no connection to ${this.path}: ${messageOf(cause)}`, cause)),
      );
    }).finally(() => {
      cancel();
      signal.removeEventListener('abort', giveUp);
    });
    let reason: string | undefined;
    const words = new ServerWords();
    socket.on('error', (error) => {
      reason = messageOf(error); // close follows
    });
    socket.on('data', (bytes) => {
      words.take(bytes);
      this.#bytes.tell(bytes);
    });
    let isSteady = false;
    this.#cancelSteady = this.#clock.after(STEADY_MS, () => {
      isSteady = true;
      this.#outage = undefined;
      this.#backoff.reset();
    });
    // Bytes of a steady line do not tell why the server hung up.
    socket.on('close', () => this.#lost(reason ?? (isSteady ? new ServerWords() : words).hungUp('the server')));
    this.#socket = socket;
  }

  #lost(reason: string): void {
    this.#socket = undefined;
    this.#cancelSteady();
    this.#outage = `has no connection: ${reason}`;
    if (this.#closing.signal.aborted) return;
    this.#plugs.tell(false, reason);
    void this.#reconnect(this.#closing.signal);
  }

  async #reconnect(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#clock.sleep(this.#backoff.nextMs(), signal);
      if (signal.aborted) return;
      const fault: unknown = await this.#connect().catch((error: unknown) => error);
      if (fault === undefined && !signal.aborted) return this.#plugs.tell(true, 'back');
    }
  }
}
