/** One-wire through the kernel's w1 folders. Reading a slave waits for its conversion on a thread of the pool; one at a time, as the wire is one. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { retryable, systemCode } from '../errors.ts';
import { hardwareFault } from './linux-faults.ts';
import type { OneWirePort } from './one-wire-port.ts';
import { TurnQueue } from './turn-queue.ts';

const SLAVE_ID = /^[0-9a-f]{2}-[0-9a-f]{12}$/;

export class LinuxOneWire implements OneWirePort {
  readonly #devicesFolder: string;
  readonly #queue = new TurnQueue();

  /** @param devicesFolder normally /sys/bus/w1/devices */
  constructor(devicesFolder = '/sys/bus/w1/devices') {
    this.#devicesFolder = devicesFolder;
  }

  async list(_signal: AbortSignal): Promise<readonly string[]> {
    const names = await readdir(this.#devicesFolder).catch(() => []);
    return names.filter((name) => SLAVE_ID.test(name)).sort();
  }

  async readSlave(id: string, signal: AbortSignal): Promise<string> {
    return await this.#onSlave(id, `reading one-wire slave ${id}`, (folder) => readFile(join(folder, 'w1_slave'), 'utf8'), signal);
  }

  async setResolution(id: string, bits: number, signal: AbortSignal): Promise<void> {
    const what = `setting the resolution of one-wire slave ${id}`;
    await this.#onSlave(id, what, (folder) => writeFile(join(folder, 'resolution'), String(bits)), signal);
  }

  async close(): Promise<void> {
    await this.#queue.idle();
  }

  async #onSlave<T>(id: string, what: string, use: (folder: string) => Promise<T>, signal: AbortSignal): Promise<T> {
    if (!SLAVE_ID.test(id)) throw retryable('hardware/one-wire-no-slave', `${what}: not an id of the form 28-00000a1b2c3d`);
    try {
      return await this.#queue.run(() => use(join(this.#devicesFolder, id)), { what }, signal);
    } catch (cause) {
      if (systemCode(cause) === 'ENOENT') throw retryable('hardware/one-wire-no-slave', `${what}: it is not on the bus`, cause);
      throw hardwareFault('gpio', 'hardware/one-wire-failed', what, cause);
    }
  }
}
