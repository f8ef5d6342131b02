/** When and how fast an image may be downloaded: a window of hours, a rate, and a deadline counted over restarts. */
import { AgentError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';

export interface DownloadLimits {
  readonly rateLimitBytesPerS?: number;
  /** Local times of day, `HH:MM`; the window may cross midnight. */
  readonly hours?: { readonly from: string; readonly to: string };
  readonly downloadDeadlineMs: number;
}

/** A wall clock that steps is noticed within this time. */
const LOOK_EVERY_MS = 60_000;

export class DownloadSchedule {
  readonly #limits: DownloadLimits;
  readonly #clock: Clock;
  readonly #startedMs: number;
  readonly #elapsedBeforeMs: number;
  /** When the bytes so far would have taken as long as the rate allows. */
  #paidUntilMs: number;

  constructor(limits: DownloadLimits, clock: Clock, elapsedBeforeMs: number) {
    this.#limits = limits;
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
    this.#elapsedBeforeMs = elapsedBeforeMs;
    this.#paidUntilMs = this.#startedMs;
  }

  /** Time spent on this download by all runs of the agent. */
  get elapsedMs(): number {
    return this.#elapsedBeforeMs + this.#clock.monotonicMs() - this.#startedMs;
  }

  /** Waits for the window of hours. @throws AgentError `firmware/download-deadline` (drop). */
  async waitForWindow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.elapsedMs > this.#limits.downloadDeadlineMs)
        throw new AgentError('firmware/download-deadline', 'the download did not end within its deadline', { recovery: 'drop' });
      if (this.#limits.hours === undefined || isWithin(this.#limits.hours, new Date(this.#clock.wallMs()))) return;
      await this.#clock.sleep(LOOK_EVERY_MS, signal);
    }
  }

  /** Waits until the rate allows what was received. */
  async pay(bytes: number, signal: AbortSignal): Promise<void> {
    const rate = this.#limits.rateLimitBytesPerS;
    if (rate === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    this.#paidUntilMs = Math.max(this.#paidUntilMs, nowMs - 1_000) + (bytes / rate) * 1_000;
    if (this.#paidUntilMs > nowMs) await this.#clock.sleep(this.#paidUntilMs - nowMs, signal);
  }
}

function isWithin({ from, to }: { readonly from: string; readonly to: string }, now: Date): boolean {
  const minute = now.getHours() * 60 + now.getMinutes();
  const start = minuteOf(from);
  const end = minuteOf(to);
  return start <= end ? minute >= start && minute < end : minute >= start || minute < end;
}

function minuteOf(timeOfDay: string): number {
  const [hour, minute] = timeOfDay.split(':').map(Number);
  return (hour ?? 0) * 60 + (minute ?? 0);
}
