/**
 * An hour of one key, in parts of five minutes: least, greatest and last number of each, and when the last one was. Taking a number and merging two
 * hours give the same whatever the order, and however often: what is read twice changes nothing.
 */
import type { EpochMs } from '../host/clock.ts';

export const HOUR_MS = 3_600_000;
export const PART_MS = 300_000;
export const PARTS = HOUR_MS / PART_MS;

/** One part; `at` is its number in the hour, `lastMs` the time of the last number since the part began. */
export interface Band {
  readonly at: number;
  readonly least: number;
  readonly greatest: number;
  readonly last: number;
  readonly lastMs: number;
}

const FIELDS = 4;

/** Bands of a key by their place: four numbers each, and no object for any of them. */
export class BandHour {
  readonly #fields = new Float64Array(PARTS * FIELDS).fill(Number.NaN);

  /** Takes a number of this hour; `ms` is its time since the hour began. */
  add(ms: number, value: number): void {
    const at = Math.floor(ms / PART_MS);
    this.#merge(at, value, value, value, ms - at * PART_MS);
  }

  merge({ at, least, greatest, last, lastMs }: Band): void {
    this.#merge(at, least, greatest, last, lastMs);
  }

  *[Symbol.iterator](): Generator<Band, undefined> {
    for (let at = 0; at < PARTS; at += 1) {
      const field = (number: number): number => this.#fields[at * FIELDS + number] as number;
      if (!Number.isNaN(field(0))) yield { at, least: field(0), greatest: field(1), last: field(2), lastMs: field(3) };
    }
    return undefined;
  }

  #merge(at: number, least: number, greatest: number, last: number, lastMs: number): void {
    const fields = this.#fields;
    const place = at * FIELDS;
    const known = fields[place + 3] as number;
    // NaN, of a part without numbers, is neither greater nor less.
    if (!((fields[place] as number) <= least)) fields[place] = least;
    if (!((fields[place + 1] as number) >= greatest)) fields[place + 1] = greatest;
    // The greater of two at one time counts, or the order of reading would show.
    if (lastMs < known || (lastMs === known && (fields[place + 2] as number) >= last)) return;
    fields[place + 2] = last;
    fields[place + 3] = lastMs;
  }
}

/** UTC epoch ms at which the hour of a time begins. */
export function hourOf(ts: EpochMs): EpochMs {
  return Math.floor(ts / HOUR_MS) * HOUR_MS;
}
