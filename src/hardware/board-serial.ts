/** Serial ports of a simulated board: real ttys where the board made a pty, else bytes over the board's socket. */

import { AgentError } from '../errors.ts';
import { withinMs } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import type { BoardConnection } from './board-link.ts';
import type { SerialDescription, SerialPort, SerialPorts, SerialSettings } from './serial-port.ts';

const CLOSE_DEADLINE_MS = 1_000;
const REOPEN_DEADLINE_MS = 5_000;

export class BoardSerial implements SerialPorts {
  readonly #link: BoardConnection;
  readonly #clock: Clock;
  readonly #open = new Set<SerialPort>();
  #ttys: SerialPorts | undefined;

  constructor(link: BoardConnection, clock: Clock) {
    this.#link = link;
    this.#clock = clock;
  }

  async open(settings: SerialSettings, signal: AbortSignal): Promise<SerialPort> {
    const { handle, device } = await this.#link.request('serial.open', settings, signal);
    const port =
      device === undefined
        ? new BoardSerialPort({ link: this.#link, clock: this.#clock }, settings, handle)
        : await this.#openTty({ ...settings, port: device }, signal);
    this.#open.add(port);
    return port;
  }

  async list(signal: AbortSignal): Promise<readonly SerialDescription[]> {
    return await this.#link.request('serial.list', {}, signal);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((port) => port.close()));
    await this.#ttys?.close();
  }

  async #openTty(settings: SerialSettings, signal: AbortSignal): Promise<SerialPort> {
    if (this.#ttys === undefined) {
      const { LinuxSerial } = await import('./linux-serial.ts');
      this.#ttys ??= new LinuxSerial({ clock: this.#clock });
    }
    return await this.#ttys.open(settings, signal);
  }
}

class BoardSerialPort implements SerialPort {
  readonly path: string;
  readonly #link: BoardConnection;
  readonly #clock: Clock;
  readonly #byteListeners = new Set<(bytes: Uint8Array) => void>();
  readonly #plugListeners = new Set<(plugged: boolean, reason: string) => void>();
  readonly #forget: () => void;
  #handle: number | undefined;
  #plugged = true;
  #closed = false;

  constructor({ link, clock }: { readonly link: BoardConnection; readonly clock: Clock }, settings: SerialSettings, handle: number) {
    this.#clock = clock;
    this.path = settings.port;
    this.#link = link;
    this.#adopt(handle);
    this.#forget = link.onReconnect(() => {
      this.#handle = undefined;
      withinMs(clock, REOPEN_DEADLINE_MS, (late) => link.request('serial.open', settings, late)).then(
        (opened) => this.#adopt(opened.handle),
        () => this.#tell(false, 'the board came back without this port'),
      );
    });
  }

  get plugged(): boolean {
    return this.#plugged && this.#handle !== undefined && !this.#closed;
  }

  async write(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    if (this.#handle === undefined || !this.#plugged)
      throw new AgentError('hardware/serial-unplugged', `${this.path} is unplugged`, { recovery: 'retry' });
    await this.#link.request('serial.write', { handle: this.#handle, bytes: Buffer.from(bytes).toString('hex') }, signal);
  }

  onBytes(listener: (bytes: Uint8Array) => void): () => void {
    this.#byteListeners.add(listener);
    return () => this.#byteListeners.delete(listener);
  }

  onPlug(listener: (plugged: boolean, reason: string) => void): () => void {
    this.#plugListeners.add(listener);
    return () => this.#plugListeners.delete(listener);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#forget();
    if (this.#handle === undefined) return;
    this.#link.onEvents(this.#handle, undefined);
    const handle = this.#handle;
    await withinMs(this.#clock, CLOSE_DEADLINE_MS, (late) => this.#link.request('close', { handle }, late)).catch(() => {});
  }

  #adopt(handle: number): void {
    this.#handle = handle;
    this.#plugged = true;
    this.#link.onEvents(handle, (event) => {
      if (event.event === 'bytes') for (const listener of this.#byteListeners) listener(Buffer.from(event.bytes, 'hex'));
      else if (event.event === 'plug') this.#tell(event.plugged, event.plugged ? 'back' : 'unplugged');
    });
  }

  #tell(plugged: boolean, reason: string): void {
    this.#plugged = plugged;
    for (const listener of this.#plugListeners) listener(plugged, reason);
  }
}
