/** Hours that are not on the disk yet, by hour, device and key; so many at most. */
import type { EpochMs } from '../host/clock.ts';
import { getOrInsert } from '../values/get-or-insert.ts';
import { type Band, BandHour, hourOf } from './band-hour.ts';

/** Bands of a key in an hour. */
export interface KeyHour {
  readonly device: string;
  readonly key: string;
  readonly bands: Iterable<Band>;
}

type Keys = Map<string, Map<string, BandHour>>;

export class OpenHours {
  readonly #max: number;
  readonly #hours = new Map<EpochMs, Keys>();
  #size = 0;

  /** @param max hours of keys that are kept. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Hours of keys. */
  get size(): number {
    return this.#size;
  }

  get hours(): readonly EpochMs[] {
    return [...this.#hours.keys()].sort((a, b) => a - b);
  }

  /** Returns false when there is no room for another. */
  add(device: string, key: string, ts: EpochMs, value: number): boolean {
    const hourMs = hourOf(ts);
    const hour = this.#of(hourMs, device, key);
    hour?.add(ts - hourMs, value);
    return hour !== undefined;
  }

  /** Returns false when there is no room for all of it. */
  merge(hourMs: EpochMs, keys: Iterable<KeyHour>): boolean {
    let isWhole = true;
    for (const { device, key, bands } of keys) {
      const hour = this.#of(hourMs, device, key);
      isWhole &&= hour !== undefined;
      for (const band of bands) hour?.merge(band);
    }
    return isWhole;
  }

  /** Takes an hour out; what comes of it later is another. */
  take(hourMs: EpochMs): KeyHour[] {
    const keys = this.list(hourMs);
    this.#hours.delete(hourMs);
    this.#size -= keys.length;
    return keys;
  }

  list(hourMs: EpochMs): KeyHour[] {
    const devices = [...(this.#hours.get(hourMs) ?? [])];
    return devices.flatMap(([device, keys]) => [...keys].map(([key, bands]) => ({ device, key, bands })));
  }

  #of(hourMs: EpochMs, device: string, key: string): BandHour | undefined {
    const known = this.#hours.get(hourMs)?.get(device)?.get(key);
    if (known !== undefined || this.#size >= this.#max) return known;
    const made = new BandHour();
    getOrInsert(
      getOrInsert(this.#hours, hourMs, (): Keys => new Map()),
      device,
      () => new Map<string, BandHour>(),
    ).set(key, made);
    this.#size += 1;
    return made;
  }
}
