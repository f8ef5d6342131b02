/** Statistics over a window, so that a sensor can be read at 10 Hz and reported once a minute: `temperature_mean`, `temperature_min` … */
import type { JsonValue } from '../host/json.ts';
import type { Reading } from './sensor.ts';

export type Statistic = 'mean' | 'min' | 'max' | 'count' | 'sum' | 'last';

export interface WindowSettings {
  readonly lengthMs: number;
  readonly statistics: readonly Statistic[];
}

/** Statistics of a window, and when it ended, on the clock that was given to `add`. */
export interface FinishedWindow {
  readonly readings: readonly Reading[];
  readonly endedAtMs: number;
}

/** Of a part of a window they are less than of a whole one, whatever was measured. */
const GROWS_WITH_LENGTH: ReadonlySet<Statistic> = new Set(['count', 'sum']);

interface Tally {
  count: number;
  /** How many of them are numbers; of those are sum, least and greatest. */
  numbers: number;
  sum: number;
  min: number;
  max: number;
  last: JsonValue;
  readonly unit: string | undefined;
}

/** A driver that gives its readings ever new names must not take the memory: a window that holds so many keys has to be cut. */
const MAX_KEYS = 1_000;

export class Window {
  readonly #settings: WindowSettings;
  readonly #tallies = new Map<string, Tally>();
  #endsAtMs: number | undefined;
  /** It began where another one ended. */
  #isFromItsBeginning = false;
  #lastAtMs = 0;

  constructor(settings: WindowSettings) {
    this.#settings = settings;
  }

  /** Takes readings of this instant. @param nowMs on the clock whose whole multiples of the length are the windows' ends. */
  add(readings: readonly Reading[], nowMs: number): void {
    this.#endsAtMs ??= (Math.floor(nowMs / this.#settings.lengthMs) + 1) * this.#settings.lengthMs;
    this.#lastAtMs = nowMs;
    for (const { key, value, unit } of readings) {
      const number = typeof value === 'boolean' || typeof value === 'bigint' ? Number(value) : value;
      const none = { count: 0, numbers: 0, sum: 0, min: Number.POSITIVE_INFINITY, max: Number.NEGATIVE_INFINITY };
      const tally = this.#tallies.get(key) ?? { ...none, last: value, unit };
      tally.count += 1;
      tally.last = value;
      if (typeof number === 'number') {
        tally.numbers += 1;
        tally.sum += number;
        tally.min = Math.min(tally.min, number);
        tally.max = Math.max(tally.max, number);
      }
      this.#tallies.set(key, tally);
    }
  }

  /**
   * The window's statistics once its end has come, or its clock went back to before its beginning; undefined before. To be asked before the
   * next `add`. An empty window gives none.
   */
  finish(nowMs: number): FinishedWindow | undefined {
    const endsAtMs = this.#endsAtMs;
    if (endsAtMs === undefined || (nowMs < endsAtMs && nowMs >= endsAtMs - this.#settings.lengthMs)) return undefined;
    const isPast = nowMs >= endsAtMs;
    const finished = this.#take(Math.min(endsAtMs, nowMs), isPast && this.#isFromItsBeginning);
    this.#isFromItsBeginning = isPast && nowMs < endsAtMs + this.#settings.lengthMs;
    return finished;
  }

  /** Nothing more is to be added before what it holds is taken. */
  get isFull(): boolean {
    return this.#tallies.size >= MAX_KEYS;
  }

  /** What was gathered so far, which ended with the last reading: nothing more will come. */
  cut(): FinishedWindow {
    this.#isFromItsBeginning = false;
    return this.#take(this.#lastAtMs, false);
  }

  #take(endedAtMs: number, isWhole: boolean): FinishedWindow {
    this.#endsAtMs = undefined;
    const readings = [...this.#tallies].flatMap(([key, tally]) =>
      this.#settings.statistics.flatMap((statistic) =>
        readingOf(key, tally, statistic).map((reading) =>
          isWhole || !GROWS_WITH_LENGTH.has(statistic) ? reading : { ...reading, isPart: true },
        ),
      ),
    );
    this.#tallies.clear();
    return { readings, endedAtMs };
  }
}

function readingOf(key: string, { count, numbers, sum, min, max, last, unit }: Tally, statistic: Statistic): readonly Reading[] {
  const values: Readonly<Record<Statistic, JsonValue>> = { mean: sum / numbers, min, max, count, sum, last };
  const value = values[statistic];
  // Text has a count and a last value, and nothing else.
  if (typeof value === 'number' && !Number.isFinite(value)) return [];
  if ((statistic === 'mean' || statistic === 'sum') && !Number.isFinite(min)) return [];
  return [{ key: `${key}_${statistic}`, value, ...(unit !== undefined && statistic !== 'count' && { unit }) }];
}
