/** Statistics over a window, so that a sensor can be read at 10 Hz and reported once a minute: `temperature_mean`, `temperature_min` … */
import type { JsonValue } from '../host/json.ts';
import type { Reading } from './sensor.ts';

export type Statistic = 'mean' | 'min' | 'max' | 'count' | 'sum' | 'last';

export interface WindowSettings {
  readonly lengthMs: number;
  readonly statistics: readonly Statistic[];
}

interface Tally {
  count: number;
  sum: number;
  min: number;
  max: number;
  last: JsonValue;
  readonly unit: string | undefined;
}

export class Window {
  readonly #settings: WindowSettings;
  readonly #tallies = new Map<string, Tally>();
  #endsAtMs: number | undefined;

  constructor(settings: WindowSettings) {
    this.#settings = settings;
  }

  /** Takes readings of this instant. @param nowMs on the clock whose whole multiples of the length are the windows' ends. */
  add(readings: readonly Reading[], nowMs: number): void {
    this.#endsAtMs ??= (Math.floor(nowMs / this.#settings.lengthMs) + 1) * this.#settings.lengthMs;
    for (const { key, value, unit } of readings) {
      const number = typeof value === 'boolean' ? Number(value) : typeof value === 'bigint' ? Number(value) : value;
      const tally = this.#tallies.get(key) ?? {
        count: 0,
        sum: 0,
        min: Number.POSITIVE_INFINITY,
        max: Number.NEGATIVE_INFINITY,
        last: value,
        unit,
      };
      tally.count += 1;
      tally.last = value;
      if (typeof number === 'number') {
        tally.sum += number;
        tally.min = Math.min(tally.min, number);
        tally.max = Math.max(tally.max, number);
      }
      this.#tallies.set(key, tally);
    }
  }

  /** The window's statistics once its end has come, undefined before; to be asked before the next `add`. An empty window gives none. */
  finish(nowMs: number): readonly Reading[] | undefined {
    if (this.#endsAtMs === undefined || nowMs < this.#endsAtMs) return undefined;
    this.#endsAtMs = undefined;
    const readings = [...this.#tallies].flatMap(([key, tally]) =>
      this.#settings.statistics.flatMap((statistic) => readingOf(key, tally, statistic)),
    );
    this.#tallies.clear();
    return readings;
  }
}

function readingOf(key: string, { count, sum, min, max, last, unit }: Tally, statistic: Statistic): readonly Reading[] {
  const values: Readonly<Record<Statistic, JsonValue>> = { mean: sum / count, min, max, count, sum, last };
  const value = values[statistic];
  // Text has a count and a last value, and nothing else.
  if (typeof value === 'number' && !Number.isFinite(value)) return [];
  if ((statistic === 'mean' || statistic === 'sum') && !Number.isFinite(min)) return [];
  return [{ key: `${key}_${statistic}`, value, ...(unit !== undefined && statistic !== 'count' && { unit }) }];
}
