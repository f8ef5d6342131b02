/**
 * A sensor's readings on their way through its window: statistics come out stamped with the end of what they are about, also when that end
 * was only seen with a later reading, and when the window was cut.
 */

import type { Clock } from '../host/clock.ts';
import type { Reading } from './kind/sensor.ts';
import type { SamplerEntry } from './sampler.ts';
import { type FinishedWindow, Window, type WindowDeps, type WindowInstant } from './window.ts';

export class SensorWindow {
  readonly #clock: Clock;
  /** Windows lie on the wall clock. */
  readonly #align: boolean;
  readonly #window: Window;

  private constructor(clock: Clock, align: boolean, settings: WindowDeps) {
    this.#clock = clock;
    this.#align = align;
    this.#window = new Window(settings);
  }

  /** Undefined for a sensor that reports every reading. */
  static of({ window, align, periodMs }: Pick<SamplerEntry, 'window' | 'align' | 'periodMs'>, clock: Clock): SensorWindow | undefined {
    return window === undefined ? undefined : new SensorWindow(clock, align, { ...window, periodMs });
  }

  /**
   * Takes readings of now; gives the statistics of a window that ended before them, and what it holds when it is full.
   * @param refused keys that the same read did not give.
   */
  addReadings(readings: readonly Reading[], refused: readonly string[] = []): readonly Reading[] {
    const now = this.#now();
    const finished = this.#window.finish(now);
    const statistics = finished === undefined ? [] : stamped(finished);
    this.#window.addReadings(readings, now, refused);
    return this.#window.isFull ? [...statistics, ...this.cut()] : statistics;
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
