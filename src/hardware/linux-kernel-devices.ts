/**
 * Sensors of the kernel through their folders in sysfs. Reading a file speaks to the chip on a thread of the pool; one at a time on each bus,
 * so that a bus that hangs holds one thread, whatever number of chips is on it.
 */
import { readdir, readFile, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { AgentError, retryable, systemCode } from '../errors/agent-error.ts';
import type { KernelDevice, KernelDevicePort } from './kernel-device-port.ts';
import { permissionFault } from './linux-faults.ts';
import { TurnQueues } from './turn-queue.ts';

/** Errors of drivers, in words (errno(3), and what drivers of the kernel mean by it). */
const REASONS: Readonly<Record<string, string>> = {
  EBUSY: 'its buffer is in use by another program, which has to stop first (EBUSY)',
  EIO: 'the chip does not answer, or answers damaged: power, wires, pull-ups (EIO)',
  EREMOTEIO: 'the chip does not answer on its bus: power, wires, address (EREMOTEIO)',
  ENXIO: 'the chip does not answer on its bus: power, wires, address (ENXIO)',
  ETIMEDOUT: 'the chip did not answer in time (ETIMEDOUT)',
};
/** Errors that say that there is no value just now. */
const NO_VALUE: Readonly<Record<string, string>> = {
  EAGAIN: 'it has no new value yet (EAGAIN)',
  ENODATA: 'it has no value (ENODATA)',
  EINVAL: 'the driver gives no value of it (EINVAL)',
};
const GONE: ReadonlySet<string> = new Set(['ENOENT', 'ENODEV']);

export interface KernelClass {
  /** Normally /sys/bus/iio/devices or /sys/class/hwmon. */
  readonly classFolder: string;
  /** Name of a device's entry before its number. */
  readonly prefix: string;
  /** Folder of the chip, from that of the device. */
  readonly chipOf: (folder: string) => Promise<string>;
}

export const hwmonClass = (classFolder = '/sys/class/hwmon'): KernelClass => ({
  classFolder,
  prefix: 'hwmon',
  // A thermal zone's has none.
  chipOf: async (folder) => await realpath(join(folder, 'device')).catch(() => dirname(folder)),
});

export class LinuxKernelDevices implements KernelDevicePort {
  readonly #class: KernelClass;
  /** Queues by bus. */
  readonly #queues = new TurnQueues();
  readonly #buses = new Set<string>();

  constructor(kernelClass: KernelClass) {
    this.#class = kernelClass;
  }

  async list(_signal: AbortSignal): Promise<readonly KernelDevice[]> {
    const { classFolder, prefix } = this.#class;
    const numberOf = (entry: string): number => Number(entry.slice(prefix.length));
    const entries = (await readdir(classFolder).catch(() => []))
      .filter((entry) => entry.startsWith(prefix) && /^\d+$/.test(entry.slice(prefix.length)))
      .sort((a, b) => numberOf(a) - numberOf(b));
    return (await Promise.all(entries.map((entry) => this.#describe(entry)))).flatMap((one) => one ?? []);
  }

  read(device: KernelDevice, file: string, signal: AbortSignal): Promise<string> {
    const what = `reading ${file} of ${deviceText(device)}`;
    return this.inTurn(device, what, async () => (await readFile(join(device.folder, file), 'utf8')).trimEnd(), signal);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#buses].map((bus) => this.#queues.at(bus).idle()));
  }

  /** Does something with the files of a device, when it is its turn on the bus. @throws as `read`. */
  protected async inTurn<T>(
    device: KernelDevice,
    what: string,
    work: () => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const bus = dirname(device.chipFolder);
    this.#buses.add(bus);
    try {
      return await this.#queues.at(bus).run(work, { what }, signal);
    } catch (cause) {
      throw this.faultOf(what, cause);
    }
  }

  protected faultOf(what: string, cause: unknown): AgentError {
    if (cause instanceof AgentError) return cause;
    const code = systemCode(cause) ?? '';
    if (GONE.has(code)) return retryable('hardware/kernel-device-gone', `${what}: the device is gone`, cause);
    const none = NO_VALUE[code];
    if (none !== undefined) return retryable('hardware/kernel-device-no-value', `${what}: ${none}`, cause);
    const reason = REASONS[code] ?? (code === '' ? 'it failed' : code);
    return (
      permissionFault('i2c', what, cause) ?? retryable('hardware/kernel-device-failed', `${what}: ${reason}`, cause)
    );
  }

  /** Undefined for one that went meanwhile. */
  async #describe(entry: string): Promise<KernelDevice | undefined> {
    try {
      const folder = await realpath(join(this.#class.classFolder, entry));
      const name = (await readFile(join(folder, 'name'), 'utf8')).trim();
      const files = (await readdir(folder)).sort();
      return { folder, number: entry, name, chipFolder: await this.#class.chipOf(folder), files };
    } catch {
      return undefined;
    }
  }
}

/** `bme280 (1-0076)`. */
export function deviceText({ name, chipFolder }: KernelDevice): string {
  return `${name} (${basename(chipFolder)})`;
}
