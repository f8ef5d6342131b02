/** One-wire through the kernel's w1 folders. Reading a slave waits for its conversion on a thread of the pool; one at a time, as the wire is one. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { retryable, systemCode } from '../errors/agent-error.ts';
import { hardwareFault } from './linux-faults.ts';
import type { OneWirePort } from './one-wire-port.ts';
import { TurnQueue } from './turn-queue.ts';

const SLAVE_ID = /^[0-9a-f]{2}-[0-9a-f]{12}$/;

/** @param devicesFolder normally /sys/bus/w1/devices */
export function linuxOneWire(devicesFolder = '/sys/bus/w1/devices'): OneWirePort {
  const queue = new TurnQueue();
  const onSlave = async <T>(
    id: string,
    what: string,
    use: (folder: string) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> => {
    if (!SLAVE_ID.test(id))
      throw retryable('hardware/one-wire-no-slave', `${what}: not an id of the form 28-00000a1b2c3d`);
    try {
      return await queue.run(() => use(join(devicesFolder, id)), { what }, signal);
    } catch (cause) {
      if (systemCode(cause) === 'ENOENT')
        throw retryable('hardware/one-wire-no-slave', `${what}: it is not on the bus`, cause);
      throw hardwareFault('gpio', 'hardware/one-wire-failed', what, cause);
    }
  };
  return {
    list: async () => (await readdir(devicesFolder).catch(() => [])).filter((name) => SLAVE_ID.test(name)).sort(),
    readSlave: (id, signal) =>
      onSlave(id, `reading one-wire slave ${id}`, (folder) => readFile(join(folder, 'w1_slave'), 'utf8'), signal),
    setResolution: (id, bits, signal) => {
      const what = `setting the resolution of one-wire slave ${id}`;
      return onSlave(id, what, (folder) => writeFile(join(folder, 'resolution'), String(bits)), signal);
    },
    close: () => queue.idle(),
  };
}
