/** The small chips: SHT3x, BH1750, ADS1115, and any chip by a table. Each shows what its registers mean by its own datasheet. */
import { type ChipContext, RegisterChip, type SimulatedChip, WordChip } from './simulated-chip.ts';

function clamped(value: number, least: number, greatest: number): number {
  return Math.min(greatest, Math.max(least, value));
}

function rounded(value: number, digits: number): number {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}

/** Typical times of a single shot by the low byte of its command (SHT3x-DIS, tables 4 and 8). */
const SHT3X_SHOT_MS: Readonly<Record<number, number>> = { 0: 12.5, 11: 4.5, 22: 2.5 };

/** Commands of two bytes, answers with a check sum for every word; does not acknowledge being read before there is an answer (section 4.4). */
export class Sht3xChip implements SimulatedChip {
  readonly #context: ChipContext;
  #answer: Uint8Array | undefined;
  #readyAtMs = 0;
  #shown: Readonly<Record<string, number>> | undefined;

  constructor(context: ChipContext) {
    this.#context = context;
  }

  receive([high, low]: Uint8Array): void {
    // The status register after power-on: alert pending, reset detected.
    if (high === 0xf3 && low === 0x2d) this.#answer = Uint8Array.from(checked(0x8010));
    const shotMs = SHT3X_SHOT_MS[low ?? -1];
    if (high !== 0x24 || shotMs === undefined) return;
    const t = Math.round(((clamped(this.#context.signal('temperature'), -45, 130) + 45) / 175) * 65_535);
    const h = Math.round((clamped(this.#context.signal('humidity'), 0, 100) / 100) * 65_535);
    this.#answer = Uint8Array.of(...checked(t), ...checked(h));
    this.#readyAtMs = this.#context.monotonicMs() + shotMs;
    this.#shown = { temperature: rounded(-45 + (175 * t) / 65_535, 2), humidity: rounded((100 * h) / 65_535, 2) };
  }

  send(length: number): Uint8Array | undefined {
    const answer = this.#answer;
    if (answer === undefined || this.#context.monotonicMs() < this.#readyAtMs) return undefined;
    if (this.#shown !== undefined && length >= 6) this.#context.show(this.#shown);
    this.#answer = undefined;
    this.#shown = undefined;
    return Uint8Array.from({ length }, (_, at) => answer[at] ?? 0xff);
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

/** Typical times of a measurement by its instruction (BH1750FVI, page 2), and counts per lux. */
const BH1750_MODES: Readonly<Record<number, { readonly ms: number; readonly perLux: number }>> = {
  32: { ms: 120, perLux: 1.2 },
  33: { ms: 120, perLux: 2.4 },
  35: { ms: 16, perLux: 1.2 },
};

/** One instruction a write; the data register holds 0 after power-on, and the measurement before until the next has ended. */
export class Bh1750Chip implements SimulatedChip {
  readonly #context: ChipContext;
  #raw = 0;
  #perLux = 1.2;
  #readyAtMs = Number.POSITIVE_INFINITY;

  constructor(context: ChipContext) {
    this.#context = context;
  }

  receive([opcode = 0]: Uint8Array): void {
    const mode = BH1750_MODES[opcode];
    if (mode === undefined) return;
    this.#perLux = mode.perLux;
    this.#readyAtMs = this.#context.monotonicMs() + mode.ms;
  }

  send(length: number): Uint8Array {
    if (this.#context.monotonicMs() >= this.#readyAtMs) {
      this.#readyAtMs = Number.POSITIVE_INFINITY;
      this.#raw = Math.round(clamped(this.#context.signal('illuminance') * this.#perLux, 0, 65_535));
      // The end of the count is no illuminance that anybody should report.
      if (length >= 2 && this.#raw < 65_535) this.#context.show({ illuminance: rounded(this.#raw / this.#perLux, 2) });
    }
    return Uint8Array.from({ length }, (_, at) => (at % 2 === 0 ? this.#raw >> 8 : this.#raw & 0xff));
  }
}

const ADS1115_INPUTS = ['A0-A1', 'A0-A3', 'A1-A3', 'A2-A3', 'A0', 'A1', 'A2', 'A3'];
const ADS1115_RANGES = [6.144, 4.096, 2.048, 1.024, 0.512, 0.256, 0.256, 0.256];
const ADS1115_RATES = [8, 16, 32, 64, 128, 250, 475, 860];

/** Single shots: writing the start bit begins one, the same bit reads 0 until it is done. Signals and shown keys are named after the inputs. */
export class Ads1115Chip extends WordChip {
  readonly #context: ChipContext;
  /** None was begun. */
  #readyAtMs = Number.POSITIVE_INFINITY;

  constructor(context: ChipContext) {
    super();
    this.#context = context;
    // Configuration and thresholds of the comparator after power-on (SBAS444E, 9.6.3 and 9.6.4).
    this.words.set([0x8583, 0x8000, 0x7fff], 1);
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
    // The register keeps the conversion before until the next has ended; after power-on it holds 0.
    if (register !== 0 || this.#context.monotonicMs() < this.#readyAtMs) return;
    const input = ADS1115_INPUTS[(config >> 12) & 7] ?? 'A0';
    const range = ADS1115_RANGES[(config >> 9) & 7] ?? 2.048;
    const raw = clamped(Math.round((this.#context.signal(input) / range) * 32_768), -32_768, 32_767);
    this.words[0] = raw & 0xffff;
    if (raw > -32_768 && raw < 32_767) this.#context.show({ [input]: rounded((raw * range) / 32_768, 7) });
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
