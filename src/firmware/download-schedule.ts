/**
 * When and how fast an image may be downloaded: a window of hours, a rate, and a deadline counted over restarts. The time outside the
 * window does not count; a request that is under way ends with the window or the deadline, however slowly its bytes come.
 */
import type { FirmwareConfig } from '../config/schema/agent-config.ts';
import { type AgentError, refusal } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';
import { isWithinHours, localTime } from '../host/local-time.ts';

export interface DownloadLimits extends Pick<FirmwareConfig, 'rateLimitBytesPerS' | 'hours' | 'downloadDeadlineMs'> {
  /** Returns why the rest has to wait for the link, in words; undefined when it may come now. */
  readonly linkWaits?: () => string | undefined;
}

/** A wall clock that steps is noticed within this time. */
const LOOK_EVERY_MS = 60_000;

/** The hours of a request are over; what is left comes in the next ones. */
export class WindowClosed extends Error {}

export class DownloadSchedule {
  readonly #limits: DownloadLimits;
  readonly #clock: Clock;
  readonly #startedMs: number;
  readonly #elapsedBeforeMs: number;
  /** When the bytes so far would have taken as long as the rate allows. */
  #paidUntilMs: number;
  #outsideMs = 0;
  /** The last fault; told when the deadline has come. */
  fault: string | undefined;

  constructor(limits: DownloadLimits, clock: Clock, elapsedBeforeMs: number) {
    this.#limits = limits;
    this.#clock = clock;
    this.#startedMs = clock.monotonicMs();
    this.#elapsedBeforeMs = elapsedBeforeMs;
    this.#paidUntilMs = this.#startedMs;
  }

  /** Time spent on this download by all runs of the agent, outside the window aside. */
  get elapsedMs(): number {
    return this.#elapsedBeforeMs + this.#clock.monotonicMs() - this.#startedMs - this.#outsideMs;
  }

  /** Waits for the window of hours. @param onWaits told why, and undefined when it is over. @throws AgentError `firmware/download-deadline` (drop). */
  async waitForWindow(signal: AbortSignal, onWaits: (reason: string | undefined) => void = () => {}): Promise<void> {
    while (!signal.aborted) {
      onWaits(this.#waits);
      if (this.elapsedMs >= this.#limits.downloadDeadlineMs) throw this.#overdue();
      if (this.#waits === undefined) return;
      const fromMs = this.#clock.monotonicMs();
      await this.#clock.sleep(LOOK_EVERY_MS, signal);
      this.#outsideMs += this.#clock.monotonicMs() - fromMs;
    }
  }

  /** Runs requests. @throws WindowClosed, AgentError `firmware/download-deadline` (drop), and what the request throws. */
  async within<T>(request: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    const over = new AbortController();
    let cancel = (): void => {};
    const look = (): void => {
      const leftMs = this.#limits.downloadDeadlineMs - this.elapsedMs;
      const reason = this.#closed;
      if (reason !== undefined) over.abort(reason);
      else cancel = this.#clock.after(Math.min(LOOK_EVERY_MS, leftMs), look);
    };
    look();
    try {
      return await request(AbortSignal.any([signal, over.signal]));
    } catch (error) {
      if (over.signal.aborted && !signal.aborted) throw over.signal.reason;
      throw error;
    } finally {
      cancel();
    }
  }

  /** True while another request may begin. */
  get isOpen(): boolean {
    return this.#closed === undefined;
  }

  /** Called before another request. @throws WindowClosed, AgentError `firmware/download-deadline` (drop). */
  expectOpen(): void {
    const reason = this.#closed;
    if (reason !== undefined) throw reason;
  }

  get #closed(): Error | undefined {
    if (this.elapsedMs >= this.#limits.downloadDeadlineMs) return this.#overdue();
    return this.#waits === undefined ? undefined : new WindowClosed(`the rest waits ${this.#waits}`);
  }

  #overdue(): AgentError {
    const last = this.fault === undefined ? '' : `, at last: ${this.fault}`;
    return refusal('firmware/download-deadline', `the download did not end within its deadline${last}`);
  }

  /** In words; undefined when the download may go on. */
  get #waits(): string | undefined {
    const { hours, linkWaits } = this.#limits;
    if (hours !== undefined && !isWithinHours(hours, localTime(this.#clock.wallMs())))
      return `for ${hours.from}, when the hours for downloads begin`;
    return linkWaits?.();
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
