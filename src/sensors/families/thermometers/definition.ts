/**
 * Thermometers that are one register, a scale and a range: what each kind says in data, of which its definition, driver and twin are made. The
 * driver and the twin have the data in common and no code, so that each kind's test holds the data to its sheet, register by register.
 */
import type { Twin } from '../../../stand-ins/simulated-board/twin.ts';
import { addresses, type ChipScan } from '../../kind/definition.ts';

export const UNITS = { temperature: '°C' } as const;
/** Steps of 1/16 °C (SBOS397, section 6.5; DS25095, table 5-2), 1/8 °C or 1/2 °C: two places keep them apart. */
const DIGITS = { temperature: 2 } as const;

/** A number in two's complement within the register. */
export interface Format {
  readonly bits: number;
  readonly lowestBit: number;
  readonly stepsPerDegree: number;
  /** °C; a reading outside is refused. */
  readonly range: readonly [number, number];
  /** Shown for everything above it, where that is not the end of the range. */
  readonly overload?: number;
}

export interface Settings {
  readonly register: number;
  readonly bytes: readonly number[];
  /** The bits that every read looks for, where they differ from power-on: a chip that lost its power is found out. */
  readonly lookedFor?: number;
}

/** @template O options beside bus and address. */
export interface ThermometerData<O = object> {
  readonly kind: string;
  readonly addresses: readonly [number, number];
  /** Its address on the sample board. */
  readonly sample: number;
  /** Registers that are not 0 after power-on; one of a single byte is the upper half of its word. */
  readonly powerOn: Readonly<Record<number, number>>;
  /** Bits of `powerOn` by which a scan knows the chip. */
  readonly knownBy: Readonly<Record<number, number>>;
  /** The turn of the scan; 1 stands for identity registers, which the driver looks at, too. */
  readonly turn: number;
  /** The register of the temperature. */
  readonly temperature: number;
  /** The configuration is register 1, with shutdown in the lowest bit of its first byte. */
  readonly configBytes: 1 | 2;
  /** Bits of the configuration that read 1 whatever is written. */
  readonly alwaysSet?: number;
  readonly conversionMs: { readonly typical: number; readonly longest: number };
  readonly format: Format;
  /** Another format: the bit of the configuration that asks for it, and the one by which each temperature says that it has it. */
  readonly extended?: { readonly asked: number; readonly said: number; readonly format: Format };
  /** The bits above the number. */
  flags?(steps: number): number;
  settings?(options: O): Settings;
}

/** All of a kind's definition but its schema. */
export function thermometer<O>(data: ThermometerData<O>) {
  return {
    driver: async () => (await import('./driver.ts')).thermometerDriver(data),
    twin: async (): Promise<{ readonly twin: Twin }> => ({ twin: (await import('./twin.ts')).thermometerTwin(data) }),
    units: UNITS,
    digits: DIGITS,
    scan: thermometerScan(data),
  };
}

function thermometerScan({ addresses: [first, last], powerOn, knownBy, turn }: ThermometerData<never>): ChipScan {
  return {
    addresses: addresses(first, last),
    isCertain: turn === 1,
    turn,
    looksLike: async (bus, address, signal) => {
      for (const [register, bits] of Object.entries(knownBy)) {
        const word = await bus.readWord(address, Number(register), signal);
        if (((word ^ (powerOn[Number(register)] ?? 0)) & bits) !== 0) return false;
      }
      return true;
    },
  };
}
