/** The ADS1115 as its bus sees it, after SBAS444E. */

import { clamped, rounded } from '../../stand-ins/simulated-board/talkers/numbers.ts';
import type { Twin } from '../../stand-ins/simulated-board/twin.ts';
import { type ChipContext, WordChip } from '../../stand-ins/simulated-board/twin.ts';
import type { Ads1115Config } from './definition.ts';

const room = (base: number, drift: number, noise = 0.001) => ({ kind: 'room', base, drift, noise }) as const;
const ZERO = { kind: 'constant', value: 0 } as const;

export const twin: Twin = {
  chip: (context) => new Ads1115Chip(context),
  sample: { address: 0x48, signals: { A0: room(1.2, 0.3), A1: room(0.6, 0.1), A2: ZERO, A3: ZERO } },
  // Well within each input's range.
  fitting: ({ channels }: Ads1115Config) => ({
    signals: Object.fromEntries(
      Object.values(channels).map(({ input, rangeVolts }) => [
        input,
        room(0.4 * rangeVolts, 0.1 * rangeVolts, 0.001 * rangeVolts),
      ]),
    ),
  }),
};

const INPUTS = ['A0-A1', 'A0-A3', 'A1-A3', 'A2-A3', 'A0', 'A1', 'A2', 'A3'];
const RANGES = [6.144, 4.096, 2.048, 1.024, 0.512, 0.256, 0.256, 0.256];
const RATES = [8, 16, 32, 64, 128, 250, 475, 860];

/** Single shots: writing the start bit begins one, the same bit reads 0 until it is done. Signals and shown keys are named after the inputs. */
class Ads1115Chip extends WordChip {
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
    this.#readyAtMs = this.#context.monotonicMs() + 1_000 / (RATES[(word >> 5) & 7] ?? 128);
  }

  protected override beforeRead(register: number): void {
    const config = this.words[1] ?? 0;
    if ((config & 0x8000) === 0 && this.#context.monotonicMs() >= this.#readyAtMs) this.words[1] = config | 0x8000;
    // The register keeps the conversion before until the next has ended; after power-on it holds 0.
    if (register !== 0 || this.#context.monotonicMs() < this.#readyAtMs) return;
    const input = INPUTS[(config >> 12) & 7] ?? 'A0';
    const range = RANGES[(config >> 9) & 7] ?? 2.048;
    const raw = clamped(Math.round((this.#context.signal(input) / range) * 32_768), -32_768, 32_767);
    this.words[0] = raw & 0xffff;
    if (raw > -32_768 && raw < 32_767) this.#context.show({ [input]: rounded((raw * range) / 32_768, 7) });
  }
}
