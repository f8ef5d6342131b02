/** Chips on the I2C buses and thermometers on the one-wire bus: who answers, and what each is likely to be. */
import { messageOf } from '../errors/agent-error.ts';
import type { Ports } from '../hardware/ports.ts';
import { answersAt, type ChipGuess, identifyChip, oneWireKind } from '../kinds/identify-chip.ts';
import type { FoundKernelDevice } from './find-kernel-devices.ts';
import type { HeardPort } from './listen.ts';

export interface FoundChip {
  readonly bus: number;
  readonly address: number;
  /** Undefined: somebody answers, and nobody here knows who. */
  readonly guess?: ChipGuess;
}

export interface FoundBoard {
  readonly chips: readonly FoundChip[];
  /** Ids of one-wire thermometers. */
  readonly thermometers: readonly string[];
  readonly serialPorts: readonly HeardPort[];
  /** Chips that a driver of the kernel reads; absent for none. */
  readonly kernelDevices?: readonly FoundKernelDevice[];
  /** Buses that could not be looked at, and why. */
  readonly faults: readonly string[];
}

/** Addresses below 0x08 and above 0x77 are reserved (UM10204, 3.1.12); i2cdetect looks at the same ones. */
const FIRST_ADDRESS = 0x08;
const LAST_ADDRESS = 0x77;

export async function scanBoard(
  ports: Ports,
  options: { readonly onProgress?: (done: number, total: number) => void },
  signal: AbortSignal,
): Promise<FoundBoard> {
  const faults: string[] = [];
  const look = async <T>(what: string, work: () => Promise<readonly T[]>): Promise<readonly T[]> => {
    try {
      return await work();
    } catch (error) {
      faults.push(`${what}: ${messageOf(error)}`);
      return [];
    }
  };
  const buses = await look('I2C', () => ports.i2c.list(signal));
  const chips: FoundChip[] = [];
  for (const [index, bus] of buses.entries()) {
    const onProgress = (done: number): void => options.onProgress?.(index + done, buses.length);
    chips.push(...(await look(`i2c-${bus}`, () => scanI2cBus(ports, bus, { onProgress }, signal))));
  }
  const oneWire = await look('one-wire', () => ports.oneWire.list(signal));
  const serialPorts = await look('serial', () => ports.serial.list(signal));
  const kernelDevices = await look('drivers of the kernel', async () => {
    const { chipsAmong, findKernelDevices } = await import('./find-kernel-devices.ts');
    return chipsAmong(await findKernelDevices(ports, ['iio', 'hwmon'], signal));
  });
  const thermometers = oneWire.filter((id) => oneWireKind(id) !== undefined);
  return { chips, thermometers, serialPorts, kernelDevices, faults };
}

export interface BusScanOptions {
  /** Is told the part that is done, 0 to 1. */
  readonly onProgress?: (done: number) => void;
  /** Finds addresses alone: nothing is written to the chips, and their kinds are not guessed. */
  readonly addressesOnly?: boolean;
  /** Tells of an address that it is left alone. */
  readonly isLeftAlone?: (address: number) => boolean;
  /** Told each chip at once: those found before the signal aborts are known. */
  readonly onFound?: (chip: FoundChip) => void;
}

/** Everyone who answers on one bus. */
export async function scanI2cBus(
  ports: Pick<Ports, 'i2c'>,
  number: number,
  { onProgress, addressesOnly = false, isLeftAlone, onFound }: BusScanOptions,
  signal: AbortSignal,
): Promise<readonly FoundChip[]> {
  const bus = await ports.i2c.openBus(number, signal);
  try {
    const found: FoundChip[] = [];
    for (let address = FIRST_ADDRESS; address <= LAST_ADDRESS; address += 1) {
      signal.throwIfAborted();
      onProgress?.((address - FIRST_ADDRESS) / (LAST_ADDRESS - FIRST_ADDRESS));
      if (isLeftAlone?.(address) === true) continue;
      const answers = addressesOnly ? bus.probe(address, signal) : answersAt(bus, address, signal);
      if (!(await answers.catch(() => false))) continue;
      const guess = addressesOnly ? undefined : await identifyChip(bus, address, signal);
      const chip = { bus: number, address, guess };
      found.push(chip);
      onFound?.(chip);
    }
    return found;
  } finally {
    await bus.close();
  }
}
