/** Statistics over a window, so that a sensor can be read at 10 Hz and reported once a minute: `temperature_mean`, `temperature_min` … */

import { statisticKey } from '../config/keys/added-keys.ts';
import type { Clock } from '../host/clock.ts';
import { isNumeric, type JsonValue } from '../values/json.ts';
import type { Reading, Refusal } from './kind/sensor.ts';
import type { SamplerEntry } from './sampler.ts';

export type Statistic = 'mean' | 'min' | 'max' | 'count' | 'sum' | 'last';

export interface WindowSettings {
  readonly lengthMs: number;
  readonly statistics: readonly Statistic[];
}

export interface WindowDeps extends WindowSettings {
  /** How often it is read. */
  readonly periodMs: number;
}

/** One time on both clocks. */
export interface WindowInstant {
  /** On the clock whose whole multiples of the length are the windows' ends; it may step. */
  readonly atMs: number;
  /** Since boot; never steps. */
  readonly monotonicMs: number;
}

/** Statistics of a window, and when it ended, ms since boot. */
export interface FinishedWindow {
  readonly readings: readonly Reading[];
  readonly endedMs: number;
}

/** Statistics that are less for a part of a window than for a whole one, whatever was measured. */
const GROWS_WITH_LENGTH: ReadonlySet<Statistic> = new Set(['count', 'sum']);

interface Tally {
  count: number;
  /** How many of them are numbers; of those are sum, least and greatest. */
  numbers: number;
  sum: number;
  min: number | bigint;
  max: number | bigint;
  last: JsonValue;
  readonly unit: string | undefined;
}

/** A driver that gives its readings ever new names must not take the memory: a window that holds so many keys has to be cut. */
const MAX_KEYS = 1_000;
/**
 * Share of its length by which a whole window may be longer or shorter than configured. It may not differ by a period either; but the period of a
 * sensor that speaks by itself tells nothing of its readings.
 */
const TOLERANCE = 0.01;

export class Window {
  readonly #settings: WindowDeps;
  readonly #tallies = new Map<string, Tally>();
  /** Keys that a read within did not give. */
  readonly #refused = new Set<string>();
  #endsAtMs: number | undefined;
  /** End of the window before, ms since boot; undefined for a window that cannot be whole. */
  #beganMs: number | undefined;
  /** True when a reading after its end is missing: the next window is not whole either. */
  #isNextPart = false;
  /** The newest reading, ms since boot. */
  #lastMs = 0;

  constructor(settings: WindowDeps) {
    this.#settings = settings;
  }

  /** Takes readings of this time. @param refused keys that the same read did not give. */
  addReadings(
    readings: readonly Reading[],
    { atMs, monotonicMs }: WindowInstant,
    refused: readonly string[] = [],
  ): void {
    this.#endsAtMs ??= (Math.floor(atMs / this.#settings.lengthMs) + 1) * this.#settings.lengthMs;
    this.#lastMs = monotonicMs;
    for (const key of refused) this.#refused.add(key);
    for (const { key, value, unit } of readings) {
      const number = typeof value === 'boolean' ? Number(value) : value;
      const none: Omit<Tally, 'last' | 'unit'> = {
        count: 0,
        numbers: 0,
        sum: 0,
        min: Number.POSITIVE_INFINITY,
        max: Number.NEGATIVE_INFINITY,
      };
      const tally = this.#tallies.get(key) ?? { ...none, last: value, unit };
      tally.count += 1;
      tally.last = value;
      if (isNumeric(number)) {
        tally.numbers += 1;
        tally.sum += Number(number);
        // Whole numbers past 2^53 are exact as bigint.
        if (number < tally.min) tally.min = number;
        if (number > tally.max) tally.max = number;
      }
      this.#tallies.set(key, tally);
    }
  }

  /** Readings due from then until now did not come: no window is whole that one of them may be of. */
  miss(sinceMs: number, nowMs: number): void {
    const endsAtMs = this.#endsAtMs ?? Number.POSITIVE_INFINITY;
    if (sinceMs < endsAtMs) this.#beganMs = undefined;
    if (nowMs >= endsAtMs) this.#isNextPart = true;
  }

  /**
   * The window's statistics once its end has come, or its clock went back to before its beginning; undefined before. To be asked before the
   * next `add`. An empty window gives none.
   */
  finish({ atMs, monotonicMs }: WindowInstant): FinishedWindow | undefined {
    const { lengthMs } = this.#settings;
    const endsAtMs = this.#endsAtMs;
    if (endsAtMs === undefined || (atMs < endsAtMs && atMs >= endsAtMs - lengthMs)) return undefined;
    // A clock that steps moves the end neither before the last reading nor past now.
    const endedMs = Math.max(monotonicMs - Math.max(atMs - endsAtMs, 0), this.#lastMs);
    const beginsMs = this.#isNextPart ? undefined : endedMs;
    const finished = this.#take(endedMs, this.#hasItsLength(endedMs));
    this.#beganMs = beginsMs;
    return finished;
  }

  /** Nothing more is to be added before its readings are removed. */
  get isFull(): boolean {
    return this.#tallies.size >= MAX_KEYS;
  }

  /** Ends the window with the last reading and returns it: nothing more will come. */
  cut(): FinishedWindow {
    this.#beganMs = undefined;
    return this.#take(this.#lastMs, false);
  }

  /** It has not where the clock stepped, or windows passed without a reading; by less than a period longer or shorter it has all its readings. */
  #hasItsLength(endedMs: number): boolean {
    const { lengthMs, periodMs } = this.#settings;
    return (
      this.#beganMs !== undefined &&
      Math.abs(endedMs - this.#beganMs - lengthMs) < Math.min(periodMs, lengthMs * TOLERANCE)
    );
  }

  #take(endedMs: number, isWhole: boolean): FinishedWindow {
    this.#endsAtMs = undefined;
    this.#isNextPart = false;
    const readings = [...this.#tallies].flatMap(([key, tally]) =>
      this.#settings.statistics.flatMap((statistic) =>
        readingOf(key, tally, statistic).map((reading) =>
          (isWhole && !this.#refused.has(key)) || !GROWS_WITH_LENGTH.has(statistic)
            ? reading
            : { ...reading, isPart: true },
        ),
      ),
    );
    this.#tallies.clear();
    this.#refused.clear();
    return { readings, endedMs };
  }
}

function readingOf(
  key: string,
  { count, numbers, sum, min, max, last, unit }: Tally,
  statistic: Statistic,
): readonly Reading[] {
  const values: Readonly<Record<Statistic, JsonValue>> = { mean: sum / numbers, min, max, count, sum, last };
  const value = values[statistic];
  // Text has a count and a last value, and nothing else.
  if (typeof value === 'number' && !Number.isFinite(value)) return [];
  if ((statistic === 'mean' || statistic === 'sum') && numbers === 0) return [];
  return [{ key: statisticKey(key, statistic), value, ...(unit !== undefined && statistic !== 'count' && { unit }) }];
}

export class SensorWindow {
  readonly #clock: Clock;
  /** Windows lie on the wall clock. */
  readonly #align: boolean;
  readonly #window: Window;
  /** Time up to which readings were taken, ms since boot. */
  #lastMs = 0;

  private constructor(clock: Clock, align: boolean, settings: WindowDeps) {
    this.#clock = clock;
    this.#align = align;
    this.#window = new Window(settings);
  }

  /** Undefined for a sensor that reports every reading. */
  static of(
    { window, align, periodMs }: Pick<SamplerEntry, 'window' | 'align' | 'periodMs'>,
    clock: Clock,
  ): SensorWindow | undefined {
    return window === undefined ? undefined : new SensorWindow(clock, align, { ...window, periodMs });
  }

  /**
   * Takes readings of now, or of the time that their source stamped them with; gives the statistics of each window that ended before them, and what it
   * holds when it is full.
   * @param refused values that the same read did not give.
   */
  addReadings(readings: readonly Reading[], refused: readonly Pick<Refusal, 'key'>[] = []): readonly Reading[] {
    const now = this.#now();
    const keys = refused.map(({ key }) => key);
    const groups = this.#byTime(readings, now);
    const given = groups.flatMap(({ at, readings: together }, n) =>
      this.#addTogether(together, at, n === groups.length - 1 ? keys : []),
    );
    // A window whose end has passed since the newest stamp is over.
    const finished = this.#window.finish(now);
    this.#lastMs = now.monotonicMs;
    return finished === undefined ? given : [...given, ...stamped(finished)];
  }

  #addTogether(readings: readonly Reading[], at: WindowInstant, refused: readonly string[]): readonly Reading[] {
    const finished = this.#window.finish(at);
    const statistics = finished === undefined ? [] : stamped(finished);
    this.#window.addReadings(readings, at, refused);
    return this.#window.isFull ? [...statistics, ...this.cut()] : statistics;
  }

  /** Readings in their order, those of one time together; at least one group. A stamp before what was taken already counts as that time, one of the future as now. */
  #byTime(
    readings: readonly Reading[],
    now: WindowInstant,
  ): readonly { readonly at: WindowInstant; readonly readings: readonly Reading[] }[] {
    const groups: { readonly at: WindowInstant; readonly readings: Reading[] }[] = [];
    for (const reading of readings) {
      const stampMs = Math.min(Math.max(reading.monotonicMs ?? now.monotonicMs, this.#lastMs), now.monotonicMs);
      const last = groups.at(-1);
      const monotonicMs = Math.max(stampMs, last?.at.monotonicMs ?? stampMs);
      if (last?.at.monotonicMs === monotonicMs) last.readings.push(reading);
      else groups.push({ at: { atMs: now.atMs - (now.monotonicMs - monotonicMs), monotonicMs }, readings: [reading] });
    }
    return groups.length === 0 ? [{ at: now, readings: [] }] : groups;
  }

  /** Readings that were due since then, ms since boot, did not come. To be told before later readings are added. */
  miss(sinceMs: number): void {
    const { atMs, monotonicMs } = this.#now();
    this.#window.miss(atMs - (monotonicMs - sinceMs), atMs);
  }

  /** Returns the readings of a window that does not come to its end. */
  cut(): readonly Reading[] {
    return stamped(this.#window.cut());
  }

  #now(): WindowInstant {
    const monotonicMs = this.#clock.monotonicMs();
    return { atMs: this.#align ? this.#clock.wallMs() : monotonicMs, monotonicMs };
  }
}

function stamped({ readings, endedMs }: FinishedWindow): readonly Reading[] {
  return readings.map((reading) => ({ ...reading, monotonicMs: endedMs }));
}
