/** Serial ports with several users, who all ask: each request with its answer has its turn. */
import { once } from '../host/shared-work.ts';
import type { SerialPort, SerialPorts, SerialSettings } from './serial-port.ts';
import { TurnQueue } from './turn-queue.ts';

/** One user's share of a port. */
export interface SerialBus {
  readonly port: SerialPort;
  readonly turns: TurnQueue;
  /** Gives the share back; the last one closes the port. Idempotent. */
  close(): Promise<void>;
}

interface Shared {
  readonly opening: Promise<SerialPort>;
  readonly turns: TurnQueue;
  users: number;
}

export class SerialBuses {
  readonly #serial: SerialPorts;
  readonly #shared = new Map<string, Shared>();

  constructor(serial: SerialPorts) {
    this.#serial = serial;
  }

  /** Opens the port, or joins those who have: check-config holds that their settings are the same. @throws AgentError as SerialPorts.open. */
  async open(settings: SerialSettings, signal: AbortSignal): Promise<SerialBus> {
    const { port: path } = settings;
    const shared = this.#shared.get(path) ?? {
      opening: this.#serial.open(settings, signal),
      turns: new TurnQueue(),
      users: 0,
    };
    this.#shared.set(path, shared);
    shared.users += 1;
    const close = once(async () => {
      shared.users -= 1;
      if (shared.users > 0) return;
      if (this.#shared.get(path) === shared) this.#shared.delete(path);
      await shared.opening.then(
        (port) => port.close(),
        () => {},
      );
    });
    try {
      return { port: await shared.opening, turns: shared.turns, close };
    } catch (error) {
      if (this.#shared.get(path) === shared) this.#shared.delete(path);
      throw error;
    }
  }
}
