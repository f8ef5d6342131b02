/**
 * Thermometers with one register in two's complement, at the top or below flags, converted continuously. Until the first conversion after
 * power-on it holds 0 (TMP102 SBOS397 "Temperature Register"; LM75B rev. 6.1, 7.4.3; MCP9808 DS25095A, 5.1.3); in shutdown it stays as it is.
 */
import { clamped } from '../../../simulated-board/numbers.ts';
import { type ChipContext, WordChip } from '../../../simulated-board/simulated-chip.ts';

export interface Layout {
  readonly register: number;
  readonly perDegree: number;
  readonly conversionMs: number;
  /** What the register can hold and the chip can measure. */
  readonly range: readonly [number, number];
  readonly word: (steps: number) => number;
}

interface Thermometer {
  /** Registers that are not 0 after power-on. */
  readonly powerOn: Readonly<Record<number, number>>;
  /** By the configuration that holds. */
  readonly layout: (config: number) => Layout;
  /** Bits of the configuration that read 1 whatever is written. */
  readonly alwaysSet?: number;
}

export const CONFIG = 1;
const SHUTDOWN = 0x0100;

export class ThermometerChip extends WordChip {
  readonly #context: ChipContext;
  readonly #chip: Thermometer;
  /** When the conversion ends that was begun by power-on, or by the end of a shutdown. */
  #convertedAtMs: number;

  constructor(context: ChipContext, chip: Thermometer) {
    super();
    this.#context = context;
    this.#chip = chip;
    for (const [register, word] of Object.entries(chip.powerOn)) this.words[Number(register)] = word;
    this.#convertedAtMs = context.monotonicMs() + this.#layout().conversionMs;
  }

  protected override write(register: number, word: number): void {
    const before = this.words[CONFIG] ?? 0;
    const layout = this.#layout();
    super.write(register, register === CONFIG ? word | (this.#chip.alwaysSet ?? 0) : word);
    const isAwakeAgain = register === CONFIG && (before & SHUTDOWN) !== 0 && (word & SHUTDOWN) === 0;
    // Another number of bits begins with the next conversion.
    if (isAwakeAgain || layout !== this.#layout())
      this.#convertedAtMs = Math.max(this.#convertedAtMs, this.#context.monotonicMs() + this.#layout().conversionMs);
  }

  protected override beforeRead(register: number): void {
    const { register: at, perDegree, range, word } = this.#layout();
    const sleeps = ((this.words[CONFIG] ?? 0) & SHUTDOWN) !== 0;
    if (register !== at || sleeps || this.#context.monotonicMs() < this.#convertedAtMs) return;
    const steps = Math.round(clamped(this.#context.signal('temperature'), ...range) * perDegree);
    this.words[register] = word(steps) & 0xffff;
    this.#context.show({ temperature: steps / perDegree });
  }

  #layout(): Layout {
    return this.#chip.layout(this.words[CONFIG] ?? 0);
  }
}
