/** Serial ports of a simulated board: real ttys where the board made a pty, else bytes over the board's socket. */
import type { Clock } from '../host/clock.ts';
import { Listeners } from '../host/listeners.ts';
import { BoardHandle } from './board-handle.ts';
import type { BoardConnection } from './board-link.ts';
import type { BoardEvent } from './board-protocol.ts';
import { type SerialDescription, type SerialPort, type SerialPorts, type SerialSettings, unplugged } from './serial-port.ts';

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
    const port = device === undefined ? this.#overLink(settings, handle) : await this.#openTty({ ...settings, port: device }, signal);
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

  #overLink(settings: SerialSettings, opened: number): SerialPort {
    const link = this.#link;
    const bytes = new Listeners<[Uint8Array]>();
    const plugs = new Listeners<[boolean, string]>();
    let isPlugged = true;
    const plug = (plugged: boolean, reason: string): void => {
      isPlugged = plugged;
      plugs.tell(plugged, reason);
    };
    const options = {
      open: async (signal: AbortSignal) => {
        const { handle } = await link.request('serial.open', settings, signal);
        isPlugged = true;
        return handle;
      },
      onEvent: (event: BoardEvent) => {
        if (event.event === 'bytes') bytes.tell(Buffer.from(event.bytes, 'hex'));
        else if (event.event === 'plug') plug(event.plugged, event.plugged ? 'back' : 'unplugged');
      },
      onGone: () => plug(false, 'the board came back without this port'),
    };
    const handle = new BoardHandle(link, this.#clock, options, opened);
    return {
      path: settings.port,
      get plugged() {
        return isPlugged && handle.isOpen;
      },
      write: async (written, signal) => {
        if (!isPlugged || !handle.isOpen) throw unplugged(settings.port);
        await link.request('serial.write', { handle: await handle.id(signal), bytes: Buffer.from(written).toString('hex') }, signal);
      },
      onBytes: bytes.add,
      onPlug: plugs.add,
      close: () => handle.close(),
    };
  }
}
