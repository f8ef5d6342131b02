/**
 * Who may see the page on the LAN: whoever knows the PIN gets a session, and guessing is slow. Sessions live in memory, so that a restart ends
 * them. The limit holds per address and for all together: a LAN has many addresses to guess from.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../host/clock.ts';
import type { HostMachine } from '../host/machine.ts';
import type { RandomBytes } from '../host/random.ts';

export type Admission = { readonly session: string } | { readonly waitMs: number } | 'wrong';

export interface PinAccessDeps extends Pick<HostMachine, 'clock' | 'randomBytes'> {}

interface Attempts {
  readonly failures: number;
  readonly lastMs: number;
}

export const SESSION_LIFE_MS = 12 * 3_600_000;
const MAX_SESSIONS = 64;
/** An address may be wrong this often; then each further guess waits twice as long as the one before. */
const FREE_FAILURES = 5;
const FIRST_WAIT_MS = 10_000;
const MAX_WAIT_MS = 3_600_000;
/** All addresses together may be wrong this often in an hour: 4 digits then take a week on average, 6 two years. */
const FAILURES_PER_HOUR = 30;
const HOUR_MS = 3_600_000;
const MAX_ADDRESSES = 256;

export class PinAccess {
  readonly #pin: Buffer;
  readonly #clock: Clock;
  readonly #randomBytes: RandomBytes;
  readonly #sessions = new Map<string, number>();
  readonly #attempts = new Map<string, Attempts>();
  #hour: Attempts;

  constructor(pin: string, { clock, randomBytes }: PinAccessDeps) {
    this.#pin = digest(pin);
    this.#clock = clock;
    this.#randomBytes = randomBytes;
    this.#hour = { failures: 0, lastMs: clock.monotonicMs() };
  }

  /** Wrong guesses since the start of the hour. */
  get failures(): number {
    return this.#hour.failures;
  }

  /** Judges a guess. While an address has to wait, even the right PIN is not looked at. */
  admit(pin: string, address: string): Admission {
    const nowMs = this.#clock.monotonicMs();
    const guess = this.#judge(pin, address, nowMs);
    if (guess !== 'right') return guess;
    this.#attempts.delete(address);
    const session = this.#randomBytes(24).toString('base64url');
    // The oldest gives way: somebody with the PIN cannot fill the memory either.
    makeRoom(this.#sessions, MAX_SESSIONS);
    this.#sessions.set(session, nowMs + SESSION_LIFE_MS);
    return { session };
  }

  knows(session: string | undefined): boolean {
    const untilMs = session === undefined ? undefined : this.#sessions.get(session);
    return untilMs !== undefined && untilMs > this.#clock.monotonicMs();
  }

  /** Whether a program that sends the PIN with each request may pass; a wrong one counts like a person's. */
  proves(pin: string, address: string): boolean {
    return this.#judge(pin, address, this.#clock.monotonicMs()) === 'right';
  }

  forget(session: string): void {
    this.#sessions.delete(session);
  }

  #judge(pin: string, address: string, nowMs: number): 'right' | 'wrong' | { readonly waitMs: number } {
    const waitMs = Math.max(this.#waitOf(address, nowMs), this.#waitOfAll(nowMs));
    if (waitMs > 0) return { waitMs };
    if (timingSafeEqual(digest(pin), this.#pin)) return 'right';
    this.#noteFailure(address, nowMs);
    return 'wrong';
  }

  #waitOf(address: string, nowMs: number): number {
    const { failures, lastMs } = this.#attempts.get(address) ?? { failures: 0, lastMs: 0 };
    if (failures < FREE_FAILURES) return 0;
    const waitMs = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - FREE_FAILURES));
    return Math.max(0, lastMs + waitMs - nowMs);
  }

  #waitOfAll(nowMs: number): number {
    if (nowMs - this.#hour.lastMs >= HOUR_MS) this.#hour = { failures: 0, lastMs: nowMs };
    return this.#hour.failures < FAILURES_PER_HOUR ? 0 : this.#hour.lastMs + HOUR_MS - nowMs;
  }

  #noteFailure(address: string, nowMs: number): void {
    const failures = (this.#attempts.get(address)?.failures ?? 0) + 1;
    this.#attempts.delete(address);
    makeRoom(this.#attempts, MAX_ADDRESSES);
    this.#attempts.set(address, { failures, lastMs: nowMs });
    this.#hour = { ...this.#hour, failures: this.#hour.failures + 1 };
  }
}

/** For one more: the oldest goes. */
function makeRoom(kept: Map<string, unknown>, max: number): void {
  const [oldest] = kept.keys();
  if (kept.size >= max && oldest !== undefined) kept.delete(oldest);
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
