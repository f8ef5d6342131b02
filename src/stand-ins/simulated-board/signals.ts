/**
 * Signals of the simulated room: every one is a function of time and a seed, so that two runs with one seed show the same day.
 *
 *   room    base + day curve + slow drift (waves of 7 and 41 minutes) + noise, within min and max
 *   door    0 or 1: opens so often an hour, stays open for so long, both by chance
 *   square  0 or 1 at a frequency; ramp, steps and constant for tests
 */
import { z } from 'zod';
import { clamped } from './talkers/numbers.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** When a room is warmest. */
const WARMEST_HOUR_UTC = 14;
const DRIFT_PERIODS_MS = [7 * 60_000, 41 * 60_000];
/** Noise is redrawn this often: faster than any sensor here converts. */
const NOISE_STEP_MS = 5;
/** The shortest time a door is open or shut. */
const MIN_DWELL_MS = 300;

export const signalSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('constant'), value: z.number() }),
  z.strictObject({
    kind: z.literal('room'),
    base: z.number(),
    day: z.number().default(0),
    drift: z.number().default(0),
    noise: z.number().default(0),
    min: z.number().optional(),
    max: z.number().optional(),
  }),
  z.strictObject({ kind: z.literal('door'), perHour: z.number().positive(), openMs: z.number().positive() }),
  z.strictObject({ kind: z.literal('square'), hz: z.number().positive().max(500) }),
  z.strictObject({ kind: z.literal('ramp'), from: z.number(), to: z.number(), periodMs: z.number().positive() }),
  z.strictObject({ kind: z.literal('steps'), values: z.array(z.number()).min(1), everyMs: z.number().positive() }),
]);
export type SignalConfig = z.infer<typeof signalSchema>;
export type SignalConfigInput = z.input<typeof signalSchema>;

/** One time on both clocks. */
export interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export interface Signal {
  valueAt(now: Instant): number;
  /** Time of the value's next change in monotonic ms, for signals that jump and no others. */
  nextChangeMs?(now: Instant): number;
}

/** @param seed names the signal too, so that two of one kind differ: `7/i2c-1/0x76/temperature`. */
export function signalOf(config: SignalConfig, seed: string): Signal {
  switch (config.kind) {
    case 'constant':
      return { valueAt: () => config.value };
    case 'room':
      return { valueAt: (now) => roomAt(config, seed, now) };
    case 'door':
      return new Door(config.perHour, config.openMs, seed);
    case 'square':
      return periodic(500 / config.hz, (step) => step % 2);
    case 'ramp':
      return {
        valueAt: ({ monotonicMs }) => config.from + (config.to - config.from) * ((monotonicMs / config.periodMs) % 1),
      };
    case 'steps':
      return periodic(config.everyMs, (step) => config.values[step % config.values.length] ?? 0);
  }
}

/** A number in [0, 1) that depends on the text alone. */
function chance(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  // FNV's low bits are weak for short texts: mix once more (murmur3's finaliser).
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

function roomAt(config: Extract<SignalConfig, { kind: 'room' }>, seed: string, now: Instant): number {
  const hour = (now.wallMs % DAY_MS) / HOUR_MS;
  const day = config.day * Math.cos(((hour - WARMEST_HOUR_UTC) / 24) * 2 * Math.PI);
  let drift = 0;
  for (const periodMs of DRIFT_PERIODS_MS)
    drift += Math.sin((now.monotonicMs / periodMs + chance(`${seed}/${periodMs}`)) * 2 * Math.PI);
  const value =
    config.base +
    day +
    (config.drift * drift) / DRIFT_PERIODS_MS.length +
    config.noise * gauss(`${seed}/${Math.floor(now.monotonicMs / NOISE_STEP_MS)}`);
  return clamped(value, config.min ?? Number.NEGATIVE_INFINITY, config.max ?? Number.POSITIVE_INFINITY);
}

/** Normally distributed, of mean 0 and deviation 1 (Box and Muller). */
function gauss(text: string): number {
  return Math.sqrt(-2 * Math.log(1 - chance(`${text}a`))) * Math.cos(2 * Math.PI * chance(`${text}b`));
}

function periodic(stepMs: number, valueOfStep: (step: number) => number): Signal {
  const stepAt = (monotonicMs: number): number => Math.floor(monotonicMs / stepMs);
  return {
    valueAt: ({ monotonicMs }) => valueOfStep(stepAt(monotonicMs)),
    nextChangeMs: ({ monotonicMs }) => (stepAt(monotonicMs) + 1) * stepMs,
  };
}

/** Shut and open in turn, for times that chance draws (exponentially distributed, as visits are). */
class Door implements Signal {
  readonly #meanMs: readonly [number, number];
  readonly #seed: string;
  #dwell = 0;
  #untilMs: number | undefined;

  constructor(perHour: number, openMs: number, seed: string) {
    this.#meanMs = [Math.max(MIN_DWELL_MS, HOUR_MS / perHour - openMs), openMs];
    this.#seed = seed;
  }

  valueAt(now: Instant): number {
    this.#advance(now.monotonicMs);
    return this.#dwell % 2;
  }

  nextChangeMs(now: Instant): number {
    this.#advance(now.monotonicMs);
    return this.#untilMs ?? now.monotonicMs;
  }

  #advance(nowMs: number): void {
    this.#untilMs ??= nowMs + this.#dwellMs();
    while (this.#untilMs <= nowMs) {
      this.#dwell += 1;
      this.#untilMs += this.#dwellMs();
    }
  }

  #dwellMs(): number {
    const mean = this.#meanMs[this.#dwell % 2] ?? 0;
    return MIN_DWELL_MS - mean * Math.log(1 - chance(`${this.#seed}/${this.#dwell}`));
  }
}
