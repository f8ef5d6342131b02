/** Limits as the real servers have them: of messages and data points per device, and of the reports that run at a time (platform/wire-facts.md). */
import type { Clock } from '../../host/clock.ts';
import { getOrInsert } from '../../values/get-or-insert.ts';
import type { PlatformSettings } from './local-platform-options.ts';

/** Windows as the real server spells them: `100:1,3000:60` is 100 in one second and 3000 in a minute. */
export interface RateLimits {
  /** All but telemetry and attributes. */
  readonly messages?: string;
  /** Telemetry and attributes. */
  readonly dataMessages?: string;
  /** Values in telemetry and attributes. */
  readonly dataPoints?: string;
}

/** Refilled steadily. */
interface Window {
  readonly capacity: number;
  readonly durationMs: number;
}

type Windows = Readonly<Partial<Record<keyof RateLimits, readonly Window[]>>>;
const KINDS = ['messages', 'dataMessages', 'dataPoints'] as const satisfies readonly (keyof RateLimits)[];

export class RateLimit {
  readonly #clock: Clock;
  #limits: Windows = {};
  /** By device, in place of the common ones. */
  readonly #ownLimits = new Map<string, Windows>();
  /** By limit and device: what is left in each window. */
  #buckets = new Map<string, { atMs: number; left: readonly number[] }>();

  constructor({ clock, rateLimits }: { readonly clock: Clock; readonly rateLimits: RateLimits }) {
    this.#clock = clock;
    this.limits = rateLimits;
  }

  /** Takes effect at once, with full windows. @throws Error for a limit that cannot be read. */
  set limits(limits: RateLimits) {
    this.#limits = allWindowsOf(limits);
    this.#buckets.clear();
  }

  /** Gives a device limits of its own, with full windows; undefined: the common ones again. @throws Error for a limit that cannot be read. */
  limitDevice(deviceId: string, limits: RateLimits | undefined): void {
    if (limits === undefined) this.#ownLimits.delete(deviceId);
    else this.#ownLimits.set(deviceId, allWindowsOf(limits));
    this.forget(deviceId, { keepsLimits: true });
  }

  /** Forgets what a device has used, and its own limits when it is gone. */
  forget(deviceId: string, { keepsLimits = false }: { readonly keepsLimits?: boolean } = {}): void {
    for (const what of KINDS) this.#buckets.delete(`${what} ${deviceId}`);
    if (!keepsLimits) this.#ownLimits.delete(deviceId);
  }

  /** The same limit of messages of both kinds, per second; undefined: none. */
  set perSecond(messages: number | undefined) {
    this.limits = messages === undefined ? {} : { messages: `${messages}:1`, dataMessages: `${messages}:1` };
  }

  /** True when a message of so many data points may pass. A refused one has still used up its place as a message, as on the real server. */
  admits(deviceId: string, dataPoints = 0): boolean {
    if (dataPoints === 0) return this.#take(deviceId, 'messages', 1);
    return this.#take(deviceId, 'dataMessages', 1) && this.#take(deviceId, 'dataPoints', dataPoints);
  }

  /** Takes from all windows, or from none. */
  #take(deviceId: string, what: keyof RateLimits, count: number): boolean {
    const windows = (this.#ownLimits.get(deviceId) ?? this.#limits)[what];
    if (windows === undefined) return true;
    const nowMs = this.#clock.monotonicMs();
    const full = windows.map(({ capacity }) => capacity);
    const bucket = getOrInsert(this.#buckets, `${what} ${deviceId}`, () => ({ atMs: nowMs, left: full }));
    const left = windows.map(({ capacity, durationMs }, at) =>
      Math.min(capacity, (bucket.left[at] ?? 0) + ((nowMs - bucket.atMs) * capacity) / durationMs),
    );
    const passes = left.every((room) => room >= count);
    bucket.atMs = nowMs;
    bucket.left = passes ? left.map((room) => room - count) : left;
    return passes;
  }
}

function allWindowsOf(limits: RateLimits): Windows {
  return Object.fromEntries(
    Object.entries(limits).flatMap(([what, spec]: [string, string | undefined]) =>
      spec === undefined ? [] : [[what, windowsOf(spec)]],
    ),
  );
}

/** @throws Error for anything but `capacity:seconds`, separated by commas. */
export function windowsOf(spec: string): readonly Window[] {
  return spec.split(',').map((part) => {
    const [, capacity, seconds] = /^\s*(\d+):(\d+)\s*$/.exec(part) ?? [];
    if (capacity === undefined || Number(seconds) === 0)
      throw new Error(`a rate limit is like 100:1,3000:60, not ${spec}`);
    return { capacity: Number(capacity), durationMs: Number(seconds) * 1000 };
  });
}

export class ExecutionPool {
  readonly #limits: Pick<PlatformSettings['analytics'], 'threadPoolSize' | 'queueCapacity'>;
  readonly #queue: (() => void)[] = [];
  #running = 0;

  constructor(limits: Pick<PlatformSettings['analytics'], 'threadPoolSize' | 'queueCapacity'>) {
    this.#limits = limits;
  }

  /** Executions now, and requests that wait for one. */
  get held(): { readonly running: number; readonly waiting: number } {
    return { running: this.#running, waiting: this.#queue.length };
  }

  /**
   * Resolves when there is room, with the function that gives it back (any number of times); with undefined when pool and queue are full,
   * or when `gone` aborts while waiting.
   */
  async enter(gone: AbortSignal): Promise<(() => void) | undefined> {
    if (this.#running < this.#limits.threadPoolSize) return this.#start();
    if (this.#queue.length >= this.#limits.queueCapacity || gone.aborted) return undefined;
    return new Promise((resolve) => {
      const giveUp = (): void => {
        this.#queue.splice(this.#queue.indexOf(start), 1);
        resolve(undefined);
      };
      const start = (): void => {
        gone.removeEventListener('abort', giveUp);
        resolve(this.#start());
      };
      gone.addEventListener('abort', giveUp, { once: true });
      this.#queue.push(start);
    });
  }

  #start(): () => void {
    this.#running += 1;
    let over = false;
    return () => {
      if (over) return;
      over = true;
      this.#running -= 1;
      this.#queue.shift()?.();
    };
  }
}
