/**
 * Limits per device, off by default as on a stock server: of messages, of messages that bring data points, and of the data points in them,
 * each over several windows at once (wire-facts.md, "Rate limits").
 */
import type { Clock } from '../host/clock.ts';

/** Windows as the real server spells them: `100:1,3000:60` is 100 in one second and 3000 in a minute. */
export interface RateLimits {
  /** All but telemetry and attributes. */
  readonly messages?: string;
  /** Telemetry and attributes. */
  readonly dataMessages?: string;
  /** Values in telemetry and attributes. */
  readonly dataPoints?: string;
}

interface Window {
  readonly capacity: number;
  readonly durationMs: number;
}

/** Windows that are refilled steadily; what is taken is taken from all of them, or from none. */
class Bucket {
  readonly #windows: readonly (Window & { left: number })[];
  #atMs: number;

  constructor(windows: readonly Window[], nowMs: number) {
    this.#windows = windows.map((window) => ({ ...window, left: window.capacity }));
    this.#atMs = nowMs;
  }

  take(count: number, nowMs: number): boolean {
    for (const window of this.#windows)
      window.left = Math.min(window.capacity, window.left + ((nowMs - this.#atMs) * window.capacity) / window.durationMs);
    this.#atMs = nowMs;
    if (this.#windows.some(({ left }) => left < count)) return false;
    for (const window of this.#windows) window.left -= count;
    return true;
  }
}

export class RateLimit {
  readonly #clock: Clock;
  #limits: RateLimits = {};
  #buckets = new Map<string, Bucket>();

  constructor({ clock, rateLimits }: { readonly clock: Clock; readonly rateLimits: RateLimits }) {
    this.#clock = clock;
    this.limits = rateLimits;
  }

  /** Takes effect at once, with full windows. @throws Error for a limit that cannot be read. */
  set limits(limits: RateLimits) {
    for (const spec of Object.values(limits)) windowsOf(spec as string);
    this.#limits = limits;
    this.#buckets.clear();
  }

  /** The same limit of messages of both kinds, per second; undefined: none. */
  set perSecond(messages: number | undefined) {
    this.limits = messages === undefined ? {} : { messages: `${messages}:1`, dataMessages: `${messages}:1` };
  }

  /** Whether a message of so many data points may pass. One that may not has still used up its place as a message, as on the real server. */
  admits(deviceId: string, dataPoints = 0): boolean {
    if (dataPoints === 0) return this.#take(deviceId, 'messages', 1);
    return this.#take(deviceId, 'dataMessages', 1) && this.#take(deviceId, 'dataPoints', dataPoints);
  }

  #take(deviceId: string, what: keyof RateLimits, count: number): boolean {
    const spec = this.#limits[what];
    if (spec === undefined) return true;
    const nowMs = this.#clock.monotonicMs();
    const name = `${what} ${deviceId}`;
    let bucket = this.#buckets.get(name);
    if (bucket === undefined) {
      bucket = new Bucket(windowsOf(spec), nowMs);
      this.#buckets.set(name, bucket);
    }
    return bucket.take(count, nowMs);
  }
}

/** @throws Error for anything but `capacity:seconds`, separated by commas. */
export function windowsOf(spec: string): readonly Window[] {
  return spec.split(',').map((part) => {
    const [, capacity, seconds] = /^\s*(\d+):(\d+)\s*$/.exec(part) ?? [];
    if (capacity === undefined || Number(seconds) === 0) throw new Error(`a rate limit is like 100:1,3000:60, not ${spec}`);
    return { capacity: Number(capacity), durationMs: Number(seconds) * 1000 };
  });
}
