/** The SHT3x as its bus sees it, after SHT3x-DIS, May 2018, version 5. */

import { clamped, rounded } from '../../stand-ins/simulated-board/talkers/numbers.ts';
import type { ChipContext, SimulatedChip, Twin } from '../../stand-ins/simulated-board/twin.ts';

export const twin: Twin = { chip: (context) => new Sht3xChip(context), sample: { address: 0x44 } };

/** Typical times of a single shot by the low byte of its command (SHT3x-DIS, tables 4 and 8). */
const SHOT_MS: Readonly<Record<number, number>> = { 0: 12.5, 11: 4.5, 22: 2.5 };

/** Commands of two bytes, answers with a check sum for every word; does not acknowledge being read before there is an answer (section 4.4). */
class Sht3xChip implements SimulatedChip {
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
    const shotMs = SHOT_MS[low ?? -1];
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
