/** Parts that drivers of small I2C chips share: the bus they open and give back, and numbers rounded to what the chip resolves. */
import { addressInWords, type I2cBus } from '../../hardware/i2c-port.ts';
import { sentence } from '../../names/sentences.ts';
import { toldError } from '../../names/told-error.ts';
import { type Outcome, sorted } from './outcome.ts';
import type { Refusal, Sensor } from './sensor.ts';
import type { SensorDeps } from './sensor-deps.ts';

export interface I2cPlace {
  readonly name: string;
  readonly bus: number;
  readonly address: number;
}

/**
 * A sensor whose every read is one conversation with the chip. `setUp` comes before the first read, and again after every failure and every
 * refused value: a chip that lost its power forgot its settings.
 */
export async function openI2cChip(
  place: I2cPlace,
  { ports }: SensorDeps,
  driver: {
    readonly setUp?: (bus: I2cBus, signal: AbortSignal) => Promise<void>;
    readonly read: (bus: I2cBus, signal: AbortSignal) => Promise<readonly Outcome[]>;
  },
  signal: AbortSignal,
): Promise<Sensor> {
  const bus = await ports.i2c.openBus(place.bus, signal);
  let isSetUp = false;
  let refused: readonly Refusal[] = [];
  return {
    name: place.name,
    read: async (readSignal) => {
      try {
        if (!isSetUp) await driver.setUp?.(bus, readSignal);
        const given = sorted(await driver.read(bus, readSignal));
        refused = given.refused;
        isSetUp = refused.length === 0;
        return given.readings;
      } catch (error) {
        isSetUp = false;
        throw error;
      }
    },
    refused: () => refused,
    close: () => bus.close(),
  };
}

/** A multiple of the resolution without the noise of binary fractions: 231 × 0.1 is 23.1. */
export function rounded(value: number, digits: number): number {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}

/** The two bytes of a register as a signed number. */
export function signed16(word: number): number {
  return (word << 16) >> 16;
}

export function wrongChip(place: I2cPlace, bus: I2cBus, wanted: string, found: string): Error {
  return toldError(
    'sensors/wrong-chip',
    sentence('wrongChip', { address: addressInWords(place.address), bus: bus.name, wanted, found }),
    { recovery: 'retry' },
  );
}
