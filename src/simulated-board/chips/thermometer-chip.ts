/**
 * The thermometers: one register in two's complement, at the top or below flags, converted continuously. Until the first conversion after
 * power-on it holds 0 (TMP102 SBOS397 "Temperature Register"; LM75B rev. 6.1, 7.4.3; MCP9808 DS25095A, 5.1.3); in shutdown it stays as it is.
 */
import { type ChipContext, WordChip } from './simulated-chip.ts';

interface Layout {
  readonly register: number;
  readonly perDegree: number;
  readonly conversionMs: number;
  readonly shutdown: number;
  /** What the register can hold and the chip can measure. */
  readonly range: readonly [number, number];
  readonly word: (steps: number) => number;
}

const TMP102: Layout = {
  register: 0,
  perDegree: 16,
  conversionMs: 26,
  shutdown: 0x0100,
  range: [-55, 127.9375],
  word: (steps) => steps << 4,
};
/** EM in the configuration: 13 bits, and bit 0 of the temperature says so (SBOS397, "Extended Mode"). */
const TMP102_EXTENDED: Layout = { ...TMP102, range: [-55, 150], word: (steps) => (steps << 3) | 1 };
const EXTENDED_MODE = 0x0010;
const LM75: Layout = {
  register: 0,
  perDegree: 8,
  conversionMs: 100,
  shutdown: 0x0100,
  range: [-55, 127.875],
  word: (steps) => steps << 5,
};
const MCP9808: Layout = {
  register: 5,
  perDegree: 16,
  conversionMs: 250,
  shutdown: 0x0100,
  range: [-40, 125],
  // Three flags: at or above the critical limit, above the upper, below the lower one, which are all 0 after power-on.
  word: (steps) => (steps & 0x1fff) | (steps >= 0 ? 0x8000 : 0) | (steps > 0 ? 0x4000 : 0) | (steps < 0 ? 0x2000 : 0),
};
const CONFIG = 1;

export class ThermometerChip extends WordChip {
  readonly #context: ChipContext;
  readonly #kind: 'tmp102' | 'lm75' | 'mcp9808';
  /** When the conversion ends that was begun by power-on, or by the end of a shutdown. */
  #convertedAtMs: number;

  constructor(context: ChipContext, kind: 'tmp102' | 'lm75' | 'mcp9808') {
    super();
    this.#context = context;
    this.#kind = kind;
    if (kind === 'tmp102') this.words[CONFIG] = 0x60a0;
    if (kind === 'mcp9808') this.words.set([0x0054, 0x0400, 0x0300], 6);
    if (kind === 'lm75') this.words.set([0x4b00, 0x5000], 2);
    this.#convertedAtMs = context.monotonicMs() + this.#layout().conversionMs;
  }

  protected override write(register: number, word: number): void {
    const before = this.words[CONFIG] ?? 0;
    // R1 and R0 always read 1, and AL 1 while nothing is too hot (SBOS397, table 8).
    super.write(register, register === CONFIG && this.#kind === 'tmp102' ? word | 0x6020 : word);
    const { shutdown, conversionMs } = this.#layout();
    const isAwakeAgain = register === CONFIG && (before & shutdown) !== 0 && (word & shutdown) === 0;
    // Another number of bits begins with the next conversion.
    if (isAwakeAgain || (register === CONFIG && ((before ^ word) & EXTENDED_MODE) !== 0))
      this.#convertedAtMs = Math.max(this.#convertedAtMs, this.#context.monotonicMs() + conversionMs);
  }

  protected override beforeRead(register: number): void {
    const { register: at, perDegree, shutdown, range, word } = this.#layout();
    const sleeps = ((this.words[CONFIG] ?? 0) & shutdown) !== 0;
    if (register !== at || sleeps || this.#context.monotonicMs() < this.#convertedAtMs) return;
    const [least, greatest] = range;
    const steps = Math.round(Math.min(greatest, Math.max(least, this.#context.signal('temperature'))) * perDegree);
    this.words[register] = word(steps) & 0xffff;
    this.#context.show({ temperature: steps / perDegree });
  }

  #layout(): Layout {
    if (this.#kind === 'lm75') return LM75;
    if (this.#kind === 'mcp9808') return MCP9808;
    return ((this.words[CONFIG] ?? 0) & EXTENDED_MODE) === 0 ? TMP102 : TMP102_EXTENDED;
  }
}
