/**
 * Which chip answers at an I2C address, by its identity register where it has one, else by registers that stand at their defaults after
 * power-on. Only reads, and only registers that the candidates for that address have; but to read one its number is written, and a chip of another
 * kind may take that for something else.
 */
import { hasSensirionStatus } from '../hardware/i2c-answers.ts';
import type { I2cBus } from '../hardware/i2c-port.ts';

/** Kinds of sensor that can be guessed. */
export type ChipKind = 'bme280' | 'bmp280' | 'sht3x' | 'mcp9808' | 'ads1115' | 'tmp102' | 'lm75' | 'ina219' | 'bh1750';

export interface ChipGuess {
  readonly kind: ChipKind;
  /** An identity register said so; otherwise defaults or the address alone did. */
  readonly isCertain: boolean;
}

interface Candidate extends ChipGuess {
  readonly from: number;
  readonly to: number;
  readonly looksLike: (bus: I2cBus, address: number, signal: AbortSignal) => Promise<boolean>;
}

/** In this order: the first that fits wins, and what an identity register proves comes first at each address. */
const CANDIDATES: readonly Candidate[] = [
  // Bosch BST-BME280-DS001 5.4.1, BST-BMP280-DS001 4.3.1: register 0xD0 "id".
  {
    kind: 'bme280',
    isCertain: true,
    from: 0x76,
    to: 0x77,
    looksLike: async (bus, address, signal) => (await byte(bus, address, 0xd0, signal)) === 0x60,
  },
  {
    kind: 'bmp280',
    isCertain: true,
    from: 0x76,
    to: 0x77,
    looksLike: async (bus, address, signal) => (await byte(bus, address, 0xd0, signal)) === 0x58,
  },
  // Microchip DS25095A 5.1.1: manufacturer 0x0054 in register 6, device 0x04 in the upper byte of register 7.
  {
    kind: 'mcp9808',
    isCertain: true,
    from: 0x18,
    to: 0x1f,
    looksLike: async (bus, address, signal) =>
      (await bus.readWord(address, 6, signal)) === 0x0054 && (await bus.readWord(address, 7, signal)) >> 8 === 0x04,
  },
  // TI SBOS448 (INA219) 8.6.2.1: configuration 0x399F after power-on; ours differs from it in ranges and mode only.
  {
    kind: 'ina219',
    isCertain: false,
    from: 0x40,
    to: 0x4f,
    looksLike: async (bus, address, signal) => ((await bus.readWord(address, 0, signal)) & 0xc7f8) === (0x399f & 0xc7f8),
  },
  // TI SBAS444 (ADS1115) 9.6.4: thresholds 0x8000 and 0x7FFF after power-on.
  {
    kind: 'ads1115',
    isCertain: false,
    from: 0x48,
    to: 0x4b,
    looksLike: async (bus, address, signal) =>
      (await bus.readWord(address, 2, signal)) === 0x8000 && (await bus.readWord(address, 3, signal)) === 0x7fff,
  },
  // TI SBOS397 (TMP102) 7.5.3: bits R1 and R0 of the configuration always read 1, its lowest four bits 0.
  {
    kind: 'tmp102',
    isCertain: false,
    from: 0x48,
    to: 0x4b,
    looksLike: async (bus, address, signal) => ((await bus.readWord(address, 1, signal)) & 0x600f) === 0x6000,
  },
  // NXP/TI LM75 data sheets: hysteresis 75 °C and limit 80 °C after power-on.
  {
    kind: 'lm75',
    isCertain: false,
    from: 0x48,
    to: 0x4f,
    looksLike: async (bus, address, signal) =>
      (await bus.readWord(address, 2, signal)) === 0x4b00 && (await bus.readWord(address, 3, signal)) === 0x5000,
  },
  // Sensirion SHT3x-DIS data sheet 4.12: the status word comes with its CRC.
  { kind: 'sht3x', isCertain: true, from: 0x44, to: 0x45, looksLike: hasSensirionStatus },
  // ROHM BH1750FVI has no register to ask; its two addresses are its own.
  { kind: 'bh1750', isCertain: false, from: 0x23, to: 0x23, looksLike: async () => true },
  { kind: 'bh1750', isCertain: false, from: 0x5c, to: 0x5c, looksLike: async () => true },
];

/** What a chip that answers at this address is; undefined when it fits nothing that is known here. */
export async function identifyChip(bus: I2cBus, address: number, signal: AbortSignal): Promise<ChipGuess | undefined> {
  for (const { kind, isCertain, from, to, looksLike } of CANDIDATES) {
    if (address < from || address > to) continue;
    // A chip of another kind refuses what it does not have.
    if (await looksLike(bus, address, signal).catch(() => false)) return { kind, isCertain };
  }
  return undefined;
}

async function byte(bus: I2cBus, address: number, register: number, signal: AbortSignal): Promise<number | undefined> {
  return (await bus.readRegisters(address, register, 1, signal))[0];
}
