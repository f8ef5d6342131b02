/** The small chips: thermometers, SHT3x, BH1750, ADS1115, INA219, and any chip by a table. Each shows what its registers mean by its own datasheet. */
import { type ChipContext, RegisterChip, type SimulatedChip, WordChip } from './simulated-chip.ts';

function clamped(value: number, least: number, greatest: number): number {
  return Math.min(greatest, Math.max(least, value));
}

function rounded(value: number, digits: number): number {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}

/** A thermometer whose register 0 (or 5) holds two's complement in steps of 1/16 or 1/8 °C, at the top or below flags. */
export class ThermometerChip extends WordChip {
  readonly #context: ChipContext;
  readonly #layout: { readonly register: number; readonly perDegree: number; readonly word: (steps: number) => number };

  constructor(context: ChipContext, kind: 'tmp102' | 'lm75' | 'mcp9808') {
    super();
    this.#context = context;
    this.#layout = {
      tmp102: {
        register: 0,
        perDegree: 16,
        word: (steps: number) => ((this.words[1] ?? 0) & 0x10 ? steps << 3 : steps << 4) | ((this.words[1] ?? 0) & 0x10 ? 1 : 0),
      },
      lm75: { register: 0, perDegree: 8, word: (steps: number) => steps << 5 },
      // Bit 15: at or above the critical limit, which is 0 after power-on.
      mcp9808: { register: 5, perDegree: 16, word: (steps: number) => (steps & 0x1fff) | (steps >= 0 ? 0xc000 : 0) },
    }[kind];
    if (kind === 'tmp102') this.words[1] = 0x60a0;
    if (kind === 'mcp9808') this.words.set([0x0054, 0x0400, 0x0300], 6);
    if (kind === 'lm75') this.words.set([0x4b00, 0x5000], 2);
  }

  protected override beforeRead(register: number): void {
    const { perDegree, word } = this.#layout;
    if (register !== this.#layout.register) return;
    const steps = Math.round(clamped(this.#context.signal('temperature'), -40, 125) * perDegree);
    this.words[register] = word(steps) & 0xffff;
    this.#context.show({ temperature: steps / perDegree });
  }
}

/** Commands of two bytes, answers with a check sum for every word; answers nothing before the measurement is done. */
export class Sht3xChip implements SimulatedChip {
  readonly #context: ChipContext;
  #answer: Uint8Array = new Uint8Array();
  #shown: Readonly<Record<string, number>> | undefined;

  constructor(context: ChipContext) {
    this.#context = context;
  }

  receive([high, low]: Uint8Array): void {
    // The status register after power-on: alert pending, reset detected.
    if (high === 0xf3 && low === 0x2d) this.#answer = Uint8Array.from(checked(0x8010));
    if (high !== 0x24 || low === undefined) return;
    const t = Math.round(((clamped(this.#context.signal('temperature'), -40, 125) + 45) / 175) * 65_535);
    const h = Math.round((clamped(this.#context.signal('humidity'), 0, 100) / 100) * 65_535);
    this.#answer = Uint8Array.of(...checked(t), ...checked(h));
    this.#shown = { temperature: rounded(-45 + (175 * t) / 65_535, 2), humidity: rounded((100 * h) / 65_535, 2) };
  }

  send(length: number): Uint8Array {
    const sent = Uint8Array.from({ length }, (_, at) => this.#answer[at] ?? 0xff);
    if (this.#shown !== undefined && length >= 6) this.#context.show(this.#shown);
    this.#answer = new Uint8Array();
    this.#shown = undefined;
    return sent;
  }
}

/** A word and its check sum: CRC-8, polynomial 0x31, start 0xff. */
function checked(word: number): readonly number[] {
  let crc = 0xff;
  for (const byte of [word >> 8, word & 0xff]) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x80 ? ((crc << 1) ^ 0x131) & 0xff : (crc << 1) & 0xff;
  }
  return [word >> 8, word & 0xff, crc];
}

/** One instruction a write; the result stays until the next. */
export class Bh1750Chip implements SimulatedChip {
  readonly #context: ChipContext;
  #raw = 0;
  #perLux = 1.2;

  constructor(context: ChipContext) {
    this.#context = context;
  }

  receive([opcode = 0]: Uint8Array): void {
    if (![0x20, 0x21, 0x23].includes(opcode)) return;
    this.#perLux = opcode === 0x21 ? 2.4 : 1.2;
    this.#raw = Math.round(clamped(this.#context.signal('illuminance') * this.#perLux, 0, 65_535));
  }

  send(length: number): Uint8Array {
    if (length >= 2) this.#context.show({ illuminance: rounded(this.#raw / this.#perLux, 2) });
    return Uint8Array.from({ length }, (_, at) => (at % 2 === 0 ? this.#raw >> 8 : this.#raw & 0xff));
  }
}

const ADS1115_INPUTS = ['A0-A1', 'A0-A3', 'A1-A3', 'A2-A3', 'A0', 'A1', 'A2', 'A3'];
const ADS1115_RANGES = [6.144, 4.096, 2.048, 1.024, 0.512, 0.256, 0.256, 0.256];
const ADS1115_RATES = [8, 16, 32, 64, 128, 250, 475, 860];

/** Single shots: writing the start bit begins one, the same bit reads 0 until it is done. Signals and shown keys are named after the inputs. */
export class Ads1115Chip extends WordChip {
  readonly #context: ChipContext;
  #readyAtMs = 0;

  constructor(context: ChipContext) {
    super();
    this.#context = context;
    this.words.set([0x8583, 0x8000, 0x7fff], 1); // configuration and thresholds after power-on
    // Thresholds of the comparator after power-on (SBAS444E, 9.6.4): they tell the chip apart from thermometers at its address.
    this.words[2] = 0x8000;
    this.words[3] = 0x7fff;
  }

  protected override write(register: number, word: number): void {
    super.write(register, word);
    if (register !== 1 || (word & 0x8000) === 0) return;
    this.words[1] = word & 0x7fff;
    this.#readyAtMs = this.#context.monotonicMs() + 1_000 / (ADS1115_RATES[(word >> 5) & 7] ?? 128);
  }

  protected override beforeRead(register: number): void {
    const config = this.words[1] ?? 0;
    if ((config & 0x8000) === 0 && this.#context.monotonicMs() >= this.#readyAtMs) this.words[1] = config | 0x8000;
    if (register !== 0 || ((this.words[1] ?? 0) & 0x8000) === 0) return;
    const input = ADS1115_INPUTS[(config >> 12) & 7] ?? 'A0';
    const range = ADS1115_RANGES[(config >> 9) & 7] ?? 2.048;
    const raw = clamped(Math.round((this.#context.signal(input) / range) * 32_768), -32_768, 32_767);
    this.words[0] = raw & 0xffff;
    this.#context.show({ [input]: rounded((raw * range) / 32_768, 7) });
  }
}

/** Voltage and current after the calibration register, as the chip computes them (SBOS448G, equations 4 and 5). */
export class Ina219Chip extends WordChip {
  readonly #context: ChipContext;

  constructor(context: ChipContext) {
    super();
    this.#context = context;
    this.words[0] = 0x399f;
  }

  protected override beforeRead(register: number): void {
    const { signal, options } = this.#context;
    const calibration = this.words[5] ?? 0;
    const ohms = Number(options.shuntOhms ?? 0.1);
    if (register === 2) {
      const bus = Math.round(clamped(signal('voltage'), 0, 32) / 0.004);
      const shunt = Math.round((signal('current') * ohms) / 10e-6);
      const current = Math.trunc((shunt * calibration) / 4096);
      this.words[1] = shunt & 0xffff;
      this.words[2] = (bus << 3) | 2;
      this.words[4] = clamped(current, -32_768, 32_767) & 0xffff;
      this.words[3] = clamped(Math.trunc((Math.abs(current) * bus) / 5_000), 0, 65_535);
      this.#context.show({ voltage: rounded(bus * 0.004, 6) });
    }
    const step = calibration === 0 ? 0 : 0.04096 / (calibration * ohms);
    if (register === 4) this.#context.show({ current: rounded((((this.words[4] ?? 0) << 16) >> 16) * step, 6) });
    if (register === 3) this.#context.show({ power: rounded((this.words[3] ?? 0) * step * 20, 6) });
  }
}

interface TableField {
  readonly register: number;
  readonly width: number;
  readonly signed?: boolean;
  readonly byteOrder?: 'big' | 'little';
  readonly shift?: number;
  readonly scale?: number;
  readonly offset?: number;
}

/** Registers after a sensor's own table (`options.registers`): each holds its signal in the scale and byte order that the table says. */
export class TableChip extends RegisterChip {
  readonly #context: ChipContext;
  readonly #fields: readonly (readonly [string, TableField])[];

  constructor(context: ChipContext) {
    super();
    this.#context = context;
    this.#fields = Object.entries((context.options.registers ?? {}) as Readonly<Record<string, TableField>>);
  }

  protected override beforeRead(register: number, length: number): void {
    for (const [key, field] of this.#fields) {
      const { width, scale = 1, offset = 0, shift = 0, byteOrder = 'big' } = field;
      if (register !== field.register || length !== width) continue;
      const raw = Math.round((this.#context.signal(key) - offset) / scale);
      const bytes = Buffer.alloc(8);
      bytes.writeBigInt64BE(BigInt.asIntN(64, BigInt(raw) << BigInt(shift)));
      const kept = bytes.subarray(8 - width);
      this.registers.set(byteOrder === 'big' ? kept : Buffer.from(kept).reverse(), register);
      this.#context.show({ [key]: Number((raw * scale + offset).toPrecision(12)) });
    }
  }
}
