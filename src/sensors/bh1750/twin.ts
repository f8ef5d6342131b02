/** The BH1750 as its bus sees it, after ROHM's technical note 2009.04, rev. B. */

import { clamped, rounded } from '../../stand-ins/simulated-board/talkers/numbers.ts';
import type { ChipContext, SimulatedChip, Twin } from '../../stand-ins/simulated-board/twin.ts';

export const twin: Twin = { chip: (context) => new Bh1750Chip(context), sample: { address: 0x23 } };

/** Typical times of a measurement by its instruction (BH1750FVI, page 2), and counts per lux. */
const MODES: Readonly<Record<number, { readonly ms: number; readonly perLux: number }>> = {
  32: { ms: 120, perLux: 1.2 },
  33: { ms: 120, perLux: 2.4 },
  35: { ms: 16, perLux: 1.2 },
};

/** One instruction a write; the data register holds 0 after power-on, and the measurement before until the next has ended. */
class Bh1750Chip implements SimulatedChip {
  readonly #context: ChipContext;
  #raw = 0;
  #perLux = 1.2;
  #readyAtMs = Number.POSITIVE_INFINITY;

  constructor(context: ChipContext) {
    this.#context = context;
  }

  receive([opcode = 0]: Uint8Array): void {
    const mode = MODES[opcode];
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
