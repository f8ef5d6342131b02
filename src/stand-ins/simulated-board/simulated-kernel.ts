/** Sensors that a driver of the kernel would read: each a folder of texts, some of them of a signal. */
import type { KernelDevice } from '../../hardware/kernel-device-port.ts';
import type { BoardConfig } from './board-config.ts';
import { type BoardContext, boardFault, FOREVER } from './simulated-part.ts';

/** Decimal places of a file: a pressure is in kilopascal. */
const DECIMALS = 3;

export type KernelClassName = 'iio' | 'hwmon';

interface SimulatedDevice {
  readonly of: KernelClassName;
  readonly device: KernelDevice;
  readonly files: BoardConfig['kernel'][number]['files'];
}

export class SimulatedKernel {
  readonly #devices: readonly SimulatedDevice[];
  readonly #context: BoardContext;

  constructor(devices: BoardConfig['kernel'], context: BoardContext) {
    this.#context = context;
    this.#devices = devices.map(({ of, name, place, files }, at) => {
      const chipFolder = `/sys/devices/simulated/${place}`;
      const number = `${of === 'iio' ? 'iio:device' : 'hwmon'}${at}`;
      const folder = `${chipFolder}/${number}`;
      for (const [file, content] of Object.entries(files))
        if (typeof content !== 'string') context.signals.add(`${folder}/${file}`, content.signal);
      return { of, files, device: { folder, number, name, chipFolder, files: Object.keys(files).sort() } };
    });
  }

  list(of: KernelClassName): readonly KernelDevice[] {
    return this.#devices
      .filter((one) => one.of === of && this.#context.faults.of(one.device.chipFolder) !== 'unplug')
      .map(({ device }) => device);
  }

  /** @throws AgentError `hardware/kernel-device-gone`, `hardware/kernel-device-failed` (retry). */
  async read(folder: string, file: string): Promise<string> {
    const found = this.#devices.find(({ device }) => device.folder === folder);
    const fault = found === undefined ? 'unplug' : this.#context.faults.of(found.device.chipFolder);
    if (fault === 'hang') return await FOREVER;
    if (fault === 'nak') throw boardFault('hardware/kernel-device-failed', `reading ${file}: the chip does not answer`);
    const content = fault === 'unplug' ? undefined : found?.files[file];
    if (content === undefined) throw boardFault('hardware/kernel-device-gone', `reading ${file}: the device is gone`);
    if (typeof content === 'string') return content;
    return String(Number((this.#context.signals.value(`${folder}/${file}`) * content.factor).toFixed(DECIMALS)));
  }
}
