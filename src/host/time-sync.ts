/**
 * Trust in the wall clock. systemd-timesyncd leaves a marker when it has synchronised since boot; chrony and ntpd are
 * asked through the kernel's own flag by `timedatectl`. By policy the platform's date can stand in: it confirms a clock that agrees, and of one
 * that does not it says by how much, when nobody else does within a minute. A clock that nobody else sets drifts: it goes on being compared.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { Listeners } from '../values/listeners.ts';
import type { Clock } from './clock.ts';

/** Made by systemd-timesyncd(8) at the first synchronisation of a boot. */
const SYNCHRONISED_MARKER = '/run/systemd/timesync/synchronized';
/** How often an unsynchronised clock is looked at; once synchronised it stays so until the next boot. */
const LOOK_EVERY_MS = 5_000;
/** HTTP dates have whole seconds, and servers make a new one only when theirs is more than a second old. */
const DATE_STEP_MS = 2_000;
/** A clock this close to what the platform's dates allow agrees with them. */
const AGREES_WITHIN_MS = 2_000;
/** Width of a date's bounds, as the exchanges were slow, past which it confirms nothing before others had their time. */
const NARROW_MS = 5_000;
/** So long the system has to set the clock itself, once the platform has told another date: its time is better by far. */
const SYSTEM_HAS_MS = 60_000;
/** Age past which a date says little of now: a crystal that is wrong by 200 ppm drifts by less than a second in it. */
const TELLS_FOR_MS = 3_600_000;
/** Two looks at a clock that nobody has set differ by less. */
const SET_BY_MS = 500;
/** A server that has no clock either tells its epoch, or nonsense. */
const EARLIEST_MS = Date.UTC(2025, 0, 1);
const LATEST_MS = Date.UTC(2100, 0, 1);

/** `system`: only the operating system's clock service counts. `platform`: the platform's Date header may confirm or correct the clock. `always`: the clock is believed. */
export type TimeSyncPolicy = 'system' | 'platform' | 'always';

/** Since when the platform's dates were told, and the earliest and latest that it can be now by them, as UTC epoch ms minus ms since boot. */
interface Told {
  readonly sinceMs: number;
  /** When the first of the dates was told that these two are of. */
  readonly boundSinceMs: number;
  readonly earliestMs: number;
  readonly latestMs: number;
}

export class TimeSync {
  readonly #clock: Clock;
  readonly #policy: TimeSyncPolicy;
  readonly #ask: () => Promise<boolean>;
  readonly #changes = new Listeners<[]>();
  /** As the system says, or as the policy says: nothing more is asked or heard. */
  #isSettled = false;
  /** The machine's clock agrees with the platform's dates. */
  #isConfirmed = false;
  #told: Told | undefined;
  /** Since when what is believed has not agreed with what was told. */
  #disagreesSinceMs: number | undefined;
  /** The platform's, as an offset from the monotonic clock, while it stands in for the system's; and the machine's own at that time. */
  #borrowed: { readonly offsetMs: number; readonly ownMs: number } | undefined;
  #cancelBorrow: () => void = () => {};
  #cancelLook: () => void = () => {};
  #isLooking = false;
  #closed = false;

  constructor(deps: { readonly clock: Clock; readonly policy: TimeSyncPolicy; readonly ask: () => Promise<boolean> }) {
    this.#clock = deps.clock;
    this.#policy = deps.policy;
    this.#ask = deps.ask;
  }

  /** Looks once, and then until the clock is believed; again when it no longer is. */
  async start(): Promise<void> {
    if (this.#policy === 'always') this.#settle();
    else await this.#look();
  }

  isSynchronised(): boolean {
    return this.#isSettled || this.#isConfirmed || this.#borrowed !== undefined;
  }

  /** Returns the ms to add to the wall clock: not 0 while the platform's date stands in. */
  correctionMs(): number {
    if (this.#borrowed === undefined) return 0;
    return Math.round(this.#borrowed.offsetMs + this.#clock.monotonicMs() - this.#clock.wallMs());
  }

  /** Calls back when the clock becomes synchronised, and when it has another source; the returned function ends it. */
  readonly onChange = this.#changes.add;

  /** A date the platform named, UTC epoch ms, at some time in the last `tookMs`. Each date leaves room; together they leave less. */
  heardPlatformDate(platformMs: number, tookMs: number): void {
    if (this.#policy !== 'platform' || this.#isSettled || platformMs < EARLIEST_MS || platformMs > LATEST_MS) return;
    const nowMs = this.#clock.monotonicMs();
    const [earliestMs, latestMs] = [platformMs - nowMs, platformMs + DATE_STEP_MS + tookMs - nowMs];
    const told = withHeard(this.#told, { sinceMs: nowMs, boundSinceMs: nowMs, earliestMs, latestMs });
    this.#told = told;
    const ownMs = this.#clock.wallMs() - nowMs;
    const borrowed = this.#borrowed;
    const isAgreed = agrees(borrowed?.offsetMs ?? ownMs, told);
    // The machine's own clock is no better than what stands in for it, until somebody sets it.
    const mayConfirm = borrowed === undefined || !isAgreed || Math.abs(ownMs - borrowed.ownMs) > SET_BY_MS;
    const isNarrow = told.latestMs - told.earliestMs <= NARROW_MS;
    if (mayConfirm && agrees(ownMs, told) && (isNarrow || nowMs - told.sinceMs >= SYSTEM_HAS_MS)) this.#confirm();
    else if (!isAgreed) this.#borrowSoon(nowMs);
    else this.#agree();
  }

  close(): void {
    this.#closed = true;
    this.#cancelLook();
    this.#cancelBorrow();
  }

  #borrowSoon(nowMs: number): void {
    if (this.#closed || this.#disagreesSinceMs !== undefined) return;
    this.#disagreesSinceMs = nowMs;
    this.#cancelBorrow = this.#clock.after(SYSTEM_HAS_MS, () => this.#borrow());
    if (!this.#isLooking) void this.#look();
  }

  /** No further than what was told leaves room for: from what was believed to the nearest that can be. */
  #borrow(): void {
    const told = this.#told;
    this.#disagreesSinceMs = undefined;
    if (told === undefined) return;
    const ownMs = this.#clock.wallMs() - this.#clock.monotonicMs();
    const before = this.#borrowed?.offsetMs ?? (this.#isConfirmed ? ownMs : told.earliestMs);
    this.#borrowed = { offsetMs: Math.min(Math.max(before, told.earliestMs), told.latestMs), ownMs };
    this.#isConfirmed = false;
    this.#changes.tell();
  }

  async #look(): Promise<void> {
    this.#isLooking = false;
    if (this.#isSettled || this.#closed || (this.#isConfirmed && this.#disagreesSinceMs === undefined)) return;
    this.#isLooking = true;
    if (await this.#ask().catch(() => false)) this.#settle();
    else if (!this.#closed) this.#cancelLook = this.#clock.after(LOOK_EVERY_MS, () => void this.#look());
  }

  #agree(): void {
    this.#disagreesSinceMs = undefined;
    this.#cancelBorrow();
  }

  #confirm(): void {
    this.#agree();
    if (this.#isConfirmed) return;
    this.#isConfirmed = true;
    this.#borrowed = undefined;
    this.#changes.tell();
  }

  #settle(): void {
    this.#agree();
    if (this.#isSettled) return;
    const isNew = !this.#isConfirmed;
    this.#isSettled = true;
    this.#borrowed = undefined;
    if (isNew) this.#changes.tell();
  }
}

/**
 * The machine's clock with the right wall time, as far as that is known: on a board whose clock nobody sets, the platform's dates stand in. For
 * all that a person or the platform reads as a date; who asks whether the machine's own clock is right takes that one.
 */
export function correctedClock(clock: Clock, timeSync: Pick<TimeSync, 'correctionMs'>): Clock {
  return {
    bootId: clock.bootId,
    monotonicMs: () => clock.monotonicMs(),
    wallMs: () => clock.wallMs() + timeSync.correctionMs(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    after: (ms, callback) => clock.after(ms, callback),
    jitter: () => clock.jitter(),
  };
}

function agrees(offsetMs: number, { earliestMs, latestMs }: Told): boolean {
  return offsetMs >= earliestMs - AGREES_WITHIN_MS && offsetMs <= latestMs + AGREES_WITHIN_MS;
}

/**
 * Returns the bounds that agree with both dates; of two servers that are a little apart, either may be right. A date that contradicts, as after a
 * step of the platform's clock, begins new ones.
 */
function withHeard(before: Told | undefined, heard: Told): Told {
  if (before === undefined) return heard;
  const earliestMs = Math.max(before.earliestMs, heard.earliestMs);
  const latestMs = Math.min(before.latestMs, heard.latestMs);
  if (earliestMs - latestMs > AGREES_WITHIN_MS) return heard;
  if (heard.sinceMs - before.boundSinceMs >= TELLS_FOR_MS) return { ...heard, sinceMs: before.sinceMs };
  return { ...before, earliestMs: Math.min(earliestMs, latestMs), latestMs: Math.max(earliestMs, latestMs) };
}

/** Asks the operating system if its clock is synchronised. */
export async function askSystemTime(): Promise<boolean> {
  if (existsSync(SYNCHRONISED_MARKER)) return true;
  return new Promise((resolve) => {
    execFile('timedatectl', ['show', '--property=NTPSynchronized', '--value'], { timeout: 2_000 }, (error, stdout) => {
      resolve(error === null && stdout.trim() === 'yes');
    });
  });
}
