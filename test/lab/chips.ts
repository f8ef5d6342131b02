/** Register tables of the chips on the guest's I2C bus, with the readings that their data sheets or arithmetic give for them. */
import type { Guest } from './guest.ts';

/** Bytes by the register at which they start; at most 32 each. */
type Registers = ReadonlyMap<number, readonly number[]>;

/**
 * The worked example of the compensation formula: Bosch BMP280 data sheet BST-BMP280-DS001, section 3.12 of revision 1.14:
 * 25.08 °C and 100653 Pa. The humidity part of the BME280 has no worked example; its coefficients are of a plausible chip.
 */
export const BME280: {
  readonly address: number;
  readonly registers: Registers;
  readonly celsius: number;
  readonly hectopascals: number;
} = {
  address: 0x76,
  registers: new Map([
    [0xd0, [0x60]],
    [0x88, [27504, 26435, -1000, 36477, -10685, 3024, 2855, 140, -7, 15500, -14600, 6000].flatMap(littleEndian)],
    [0xa1, [0x4b]],
    [0xe1, [0x6e, 0x01, 0x00, 0x12, 0x2b, 0x03, 0x1e]],
    [0xf2, [0x00, 0x00, 0x00, 0x00]],
    [0xf7, [...twentyBits(415148), ...twentyBits(519888), 0x6a, 0x00]],
  ]),
  celsius: 25.08,
  hectopascals: 1006.53,
};

/** The chip's other reading: only the raw temperature moved, by the formula's slope of about 0.005 °C a count of the 16-bit part. */
export const WARMER: Registers = new Map([[0xfa, twentyBits(535888)]]);

export async function setRegisters(guest: Guest, address: number, registers: Registers): Promise<void> {
  const lines = [...registers].map(
    ([register, bytes]) => `i2cset -y $(cat /run/i2c-bus) ${address} ${register} ${bytes.join(' ')} i`,
  );
  await guest.run(`set -e\n${lines.join('\n')}`);
}

/**
 * Texas Instruments ADS1115 data sheet SBAS444D: the conversion register holds a signed 16-bit share of the range (table 3 of section
 * 9.3.3: ±4.096 V, 125 µV a count). The chip here is a table: each channel shows the same.
 */
export const ADS1115 = { address: 0x48, conversionRegister: 0x00, halfOfRange: 0x4000, volts: 2.048 } as const;

/** One 16-bit register of a chip that sends its high byte first. */
export async function setWord(guest: Guest, address: number, register: number, word: number): Promise<void> {
  const swapped = ((word & 0xff) << 8) | (word >> 8);
  await guest.run(`i2cset -y $(cat /run/i2c-bus) ${address} ${register} ${swapped} w`);
}

function littleEndian(value: number): readonly number[] {
  return [value & 0xff, (value >> 8) & 0xff];
}

function twentyBits(value: number): readonly number[] {
  return [(value >> 12) & 0xff, (value >> 4) & 0xff, (value << 4) & 0xf0];
}
