/**
 * A sensor's readings on their way through its window: statistics come out stamped with the end of what they are about, also when that end
 * was only seen with a later reading, and when the window was cut.
 */

import type { Clock } from '../host/clock.ts';
import type { SamplerEntry } from './sampler.ts';
import type { Reading } from './sensor.ts';
import { type FinishedWindow, Window, type WindowSettings } from './window.ts';

export class SensorWindow {
  readonly #clock: Clock;
  /** Windows lie on the wall clock. */
  readonly #align: boolean;
  readonly #window: Window;
  /** ms since boot of the newest reading within. */
  #lastMs = 0;

  private constructor(clock: Clock, align: boolean, settings: WindowSettings) {
    this.#clock = clock;
    this.#align = align;
    this.#window = new Window(settings);
  }

  /** Undefined for a sensor that reports every reading. */
  static of({ window, align }: Pick<SamplerEntry, 'window' | 'align'>, clock: Clock): SensorWindow | undefined {
    return window === undefined ? undefined : new SensorWindow(clock, align, window);
  }

  /** Takes readings of now; gives the statistics of a window that ended before them, and what it holds when it is full. */
  add(readings: readonly Reading[]): readonly Reading[] {
    const windowMs = this.#nowMs();
    const finished = this.#window.finish(windowMs);
    const statistics = finished === undefined ? [] : this.#stamped(finished);
    this.#window.add(readings, windowMs);
    this.#lastMs = this.#clock.monotonicMs();
    return this.#window.isFull ? [...statistics, ...this.cut()] : statistics;
  }

  /** What was gathered of a window that does not come to its end. */
  cut(): readonly Reading[] {
    return this.#stamped(this.#window.cut());
  }

  #nowMs(): number {
    return this.#align ? this.#clock.wallMs() : this.#clock.monotonicMs();
  }

  /** A wall clock that steps moves the end neither before the last reading nor past now. */
  #stamped({ readings, endedAtMs }: FinishedWindow): readonly Reading[] {
    const nowMs = this.#clock.monotonicMs();
    const monotonicMs = Math.min(nowMs, Math.max(nowMs - (this.#nowMs() - endedAtMs), this.#lastMs));
    return readings.map((reading) => ({ ...reading, monotonicMs }));
  }
}
