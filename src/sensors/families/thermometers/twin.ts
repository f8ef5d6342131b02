/**
 * Thermometers with one register in two's complement, at the top or below flags, converted continuously. Until the first conversion after
 * power-on it holds 0 (TMP102 SBOS397 "Temperature Register"; LM75B rev. 6.1, 7.4.3; MCP9808 DS25095A, 5.1.3); in shutdown it stays as it is.
 */

import { clamped } from '../../../stand-ins/simulated-board/talkers/numbers.ts';
import type { Twin } from '../../../stand-ins/simulated-board/twin.ts';
import { type ChipContext, WordChip } from '../../../stand-ins/simulated-board/twin.ts';
import type { Format, ThermometerData } from './definition.ts';

type Chip = ThermometerData<never>;

const CONFIG = 1;
const SHUTDOWN = 0x0100;

export function thermometerTwin(chip: Chip): Twin {
  return { chip: (context) => new ThermometerChip(context, chip), sample: { address: chip.sample } };
}

class ThermometerChip extends WordChip {
  readonly #context: ChipContext;
  readonly #chip: Chip;
  /** When the conversion ends that was begun by power-on, or by the end of a shutdown. */
  #convertedAtMs: number;

  constructor(context: ChipContext, chip: Chip) {
    super();
    this.#context = context;
    this.#chip = chip;
    for (const [register, word] of Object.entries(chip.powerOn)) this.words[Number(register)] = word;
    this.#convertedAtMs = this.#afterConversion();
  }

  protected override write(register: number, word: number): void {
    const before = this.words[CONFIG] ?? 0;
    const format = this.#format();
    super.write(register, register === CONFIG ? word | (this.#chip.alwaysSet ?? 0) : word);
    const isAwakeAgain = register === CONFIG && (before & SHUTDOWN) !== 0 && (word & SHUTDOWN) === 0;
    // Another number of bits begins with the next conversion.
    if (isAwakeAgain || format !== this.#format())
      this.#convertedAtMs = Math.max(this.#convertedAtMs, this.#afterConversion());
  }

  protected override beforeRead(register: number): void {
    const { temperature, flags, extended } = this.#chip;
    const sleeps = ((this.words[CONFIG] ?? 0) & SHUTDOWN) !== 0;
    if (register !== temperature || sleeps || this.#context.monotonicMs() < this.#convertedAtMs) return;
    const format = this.#format();
    const { bits, lowestBit, stepsPerDegree, range, overload = range[1] } = format;
    const steps = Math.round(clamped(this.#context.signal('temperature'), range[0], overload) * stepsPerDegree);
    const mark = format === extended?.format ? extended.said : 0;
    this.words[register] = ((steps & ((1 << bits) - 1)) << lowestBit) | mark | (flags?.(steps) ?? 0);
    this.#context.show({ temperature: steps / stepsPerDegree });
  }

  #format(): Format {
    const { format, extended } = this.#chip;
    return extended !== undefined && ((this.words[CONFIG] ?? 0) & extended.asked) !== 0 ? extended.format : format;
  }

  #afterConversion(): number {
    return this.#context.monotonicMs() + this.#chip.conversionMs.typical;
  }
}
