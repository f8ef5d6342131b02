/** Chips that drivers of the kernel read already: devices of Industrial I/O, and hardware monitors of chips on a bus. */
import { basename } from 'node:path';
import type { KernelDevice } from '../hardware/kernel-device-port.ts';
import type { Ports } from '../hardware/ports.ts';
import { hwmonChannels } from '../sensors/hwmon/channels.ts';
import { iioChannels } from '../sensors/iio/channels.ts';

export type KernelKind = 'iio' | 'hwmon';

export interface FoundKernelDevice {
  readonly kind: KernelKind;
  /** The driver's name of it. */
  readonly chip: string;
  /** `1-0076`, `spi0.1`. */
  readonly place: string;
  /** Another device has the name, too. */
  readonly isNameShared: boolean;
  /** Channels as the kernel spells them. */
  readonly channels: readonly string[];
  /** Keys of the channels, where no labels give others. */
  readonly keys: readonly string[];
}

/** Places on I2C and SPI: what else has a hardware monitor is the machine itself. */
const ON_A_BUS = /^(?:\d+-[0-9a-f]{4}|spi\d+\.\d+)$/;

export async function findKernelDevices(
  { iio, hwmon }: Pick<Ports, 'iio' | 'hwmon'>,
  kinds: readonly KernelKind[],
  signal: AbortSignal,
): Promise<readonly FoundKernelDevice[]> {
  const all = kinds.includes('iio') ? (await iio.list(signal)).map((device) => describe('iio', device)) : [];
  if (kinds.includes('hwmon')) all.push(...(await hwmon.list(signal)).map((device) => describe('hwmon', device)));
  const readable = all.filter(({ channels }) => channels.length > 0);
  return readable.map((one) => ({
    ...one,
    isNameShared: readable.filter(({ kind, chip }) => kind === one.kind && chip === one.chip).length > 1,
  }));
}

/** Those that a first configuration has: each chip once, and none of the machine's own monitors. */
export function chipsAmong(found: readonly FoundKernelDevice[]): readonly FoundKernelDevice[] {
  const ofIio = new Set(found.flatMap(({ kind, place }) => (kind === 'iio' ? [place] : [])));
  return found.filter(({ kind, place }) => kind === 'iio' || (ON_A_BUS.test(place) && !ofIio.has(place)));
}

function describe(kind: KernelKind, { name, chipFolder, files }: KernelDevice): FoundKernelDevice {
  const channels = kind === 'iio' ? iioChannels(files) : hwmonChannels(files);
  const isLabelled = files.some((file) => file.endsWith('_label'));
  return {
    kind,
    // Drivers of the device tree's put their node behind it.
    chip: name.split('@')[0] ?? name,
    place: basename(chipFolder),
    isNameShared: false,
    channels: channels.map((channel) => channel.name),
    keys: isLabelled ? [] : channels.map(({ key }) => key),
  };
}
