/**
 * When attributes are read. A poll's answer is only a wake-up, because what changes between two polls is never told (wire-facts.md, "Long polls"):
 *
 *   start ─┐
 *   wake-up, and once more when the next poll surely stands ─┤→ read → reconcile, heal
 *   gap in polling ─┤
 *   nobody knows whether the platform is there ─┤
 *   slow period ─┘
 */
import { messageOf } from '../errors/agent-error.ts';
import { Backoff } from '../host/backoff.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import { runTogether } from '../host/loops.ts';
import { untilWakeMs } from '../host/wake-grid.ts';
import type { DeviceApi } from '../platform/device-api.ts';
import { runLongPoll } from '../platform/long-poll.ts';
import { askedDelayMs } from '../platform/platform-error.ts';
import type { PollBeat } from '../platform/poll-beat.ts';
import type { PollPlace } from '../platform/poll-turns.ts';
import type { ClientAttributes } from './client-attributes.ts';
import type { SharedAttributes } from './shared-attributes.ts';

export interface AttributeLoopDeps {
  readonly deviceApi: Pick<DeviceApi, 'pollAttributes' | 'getAttributes'>;
  readonly shared: SharedAttributes;
  readonly client: ClientAttributes;
  readonly clock: Clock;
  readonly log: Log;
  readonly reconcilePeriodMs: () => number;
  /** How often all client attributes are read back. */
  readonly readBackPeriodMs: number;
  /** False where nothing can be set by shared attributes: none is waited for. */
  readonly canBeSet?: () => boolean;
  readonly pollTimeoutMs?: number | undefined;
  readonly longestPollMs?: number | undefined;
  readonly place?: PollPlace | undefined;
  readonly beat?: PollBeat | undefined;
  /** Time between two readings where updates are not waited for; default: they are. */
  readonly wakes?: (() => number | undefined) | undefined;
  /** Takes the keys of an update, before they are asked for. */
  readonly onSaved?: (keys: readonly string[]) => void;
  /** The platform has answered. */
  readonly onContact?: () => void;
  /** Calls back when somebody needs to know whether it does, until the returned function is called. */
  readonly onQuiet?: (ask: () => void) => () => void;
}

/** After a wake-up the next poll stands within this time; what changed before it did is then found by a second read. */
const SECOND_READ_AFTER_MS = 1_000;
/** However often the platform wakes us. */
const MIN_INTERVAL_MS = 250;
/** A read and what it sets in motion take their time: started a little early, they end within the period. */
const PERIOD_SHARE = 0.9;
/** A try after a failed one may fail as well, for as long as the platform is gone; the next is to end within the period, too. */
const RETRY_SHARE = 0.4;
/** A partner that goes off, or a least time that ends, is noticed this soon. */
const RETRY_WAITING_MS = 1_000;
const BACKOFF = { firstMs: 1_000, maxMs: 60_000 };
/** Reads that fail one after the other before the next one waits for its wake, where there are wakes. */
const TRIES_OF_A_WAKE = 2;
/** Wake-ups that no news has paid for, after which the platform is believed to have none and is polled ever more seldom. */
const MAX_EMPTY_WAKES = 10;
/** Wake-ups that a read with news pays for; at four reads a second that is eight polls, whatever the platform changes with each. */
const WAKES_PER_NEWS = 2;

/** Runs until the signal aborts; never rejects. */
export async function runAttributeLoop(deps: AttributeLoopDeps, signal: AbortSignal): Promise<void> {
  const loop = new AttributeLoop(deps);
  const { clock, log, pollTimeoutMs, longestPollMs, place, beat } = deps;
  const poll = (pollSignal: AbortSignal): Promise<void> =>
    runLongPoll(
      {
        kind: 'attributes',
        poll: (timeoutMs, oneSignal) => deps.deviceApi.pollAttributes(timeoutMs, oneSignal),
        onMessage: async ({ changed, deleted }) => {
          deps.onSaved?.(Object.keys(changed));
          deps.shared.noteSaved(Object.keys(changed), deleted);
          return loop.woken();
        },
        onGap: () => loop.wantTwice(),
        onWaited: () => loop.wantTwice(),
        clock,
        log,
        pollTimeoutMs,
        longestPollMs,
        place,
        beat,
        // Each wake reads them all: a poll would tell nothing more.
        wakes: () => (deps.wakes?.() === undefined ? undefined : Number.POSITIVE_INFINITY),
      },
      pollSignal,
    );
  const stopListening = deps.onQuiet?.(() => loop.wantNow());
  try {
    const polls = (deps.canBeSet?.() ?? true) ? [poll] : [];
    await runTogether([...polls, (readSignal) => loop.run(readSignal)], signal);
  } finally {
    stopListening?.();
  }
}

class AttributeLoop {
  readonly #deps: AttributeLoopDeps;
  readonly #backoff: Backoff;
  #wakesWithoutNews = 0;
  #dueAtMs = 0;
  #secondReadAtMs = Number.POSITIVE_INFINITY;
  #readBackAtMs = 0;
  /** After a read that failed, whoever wakes us. */
  #notBeforeMs = 0;
  /** Until when the platform itself wants to be left alone. */
  #leaveUntilMs = 0;
  #failedAtMs = Number.NEGATIVE_INFINITY;
  #interrupt = new AbortController();
  /** Not waited for before the next reading: what hangs holds up no other wish. Each is at another key that hangs. */
  readonly #acting = new Set<Promise<void>>();

  constructor(deps: AttributeLoopDeps) {
    this.#deps = deps;
    this.#backoff = new Backoff(BACKOFF, deps.clock);
  }

  woken(): 'worthy' | 'worthless' {
    this.#wakesWithoutNews += 1;
    this.wantTwice();
    return this.#wakesWithoutNews > MAX_EMPTY_WAKES ? 'worthless' : 'worthy';
  }

  /** At once, and again when a poll that begins now surely stands. */
  wantTwice(): void {
    this.#secondReadAtMs = this.#deps.clock.monotonicMs() + SECOND_READ_AFTER_MS;
    this.#dueAtMs = 0;
    this.#interrupt.abort();
  }

  /** The time after a failed read is not waited for: who asks does so twice in a silence. */
  wantNow(): void {
    this.#notBeforeMs = this.#leaveUntilMs;
    this.#dueAtMs = 0;
    this.#interrupt.abort();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, shared } = this.#deps;
    while (!signal.aborted) {
      const nowMs = clock.monotonicMs();
      if (nowMs >= this.#nextReadMs()) {
        if (nowMs >= this.#secondReadAtMs) this.#secondReadAtMs = Number.POSITIVE_INFINITY;
        const wakesMs = this.#deps.wakes?.();
        this.#dueAtMs = nowMs + (wakesMs === undefined ? this.#periodMs() * PERIOD_SHARE : untilWakeMs(clock, wakesMs));
        await this.#read(signal);
        await clock.sleep(MIN_INTERVAL_MS, signal);
        continue;
      }
      if (shared.hasWaiting) this.#begin(() => shared.retryWaiting(signal));
      await this.#sleep(signal);
    }
    await Promise.all(this.#acting);
  }

  #begin(work: () => Promise<void>): void {
    const acting = work()
      .catch((error: unknown) =>
        this.#deps.log.error({ error: messageOf(error) }, 'a shared attribute was not seen to'),
      )
      .finally(() => this.#acting.delete(acting));
    this.#acting.add(acting);
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { deviceApi, shared, client, clock, log } = this.#deps;
    const readsBack = clock.monotonicMs() >= this.#readBackAtMs;
    try {
      // With one client key that surely exists, an answer without shared ones is not `{}`: all were deleted, and not a fault behind the platform.
      const clientKeys = readsBack ? client.keys : client.keys.slice(0, 1);
      const answer = await deviceApi.getAttributes({ clientKeys, sharedKeys: shared.keys }, signal);
      this.#deps.onContact?.();
      // An answer now and then, between faults, is no recovery.
      if (clock.monotonicMs() - this.#failedAtMs >= BACKOFF.maxMs) this.#backoff.reset();
      // Nor does it say that the next read is not late: it may have to wait for a turn (host-pace.ts).
      else this.#dueAtMs = clock.monotonicMs() + this.#periodMs() * RETRY_SHARE;
      if (answer.empty) return;
      this.#begin(async () => {
        const hasNews = await shared.reconcile(answer.shared, signal);
        if (hasNews) this.#wakesWithoutNews = Math.max(0, this.#wakesWithoutNews - WAKES_PER_NEWS);
      });
      if (!readsBack) return;
      client.heal(answer.client);
      this.#readBackAtMs = clock.monotonicMs() + this.#deps.readBackPeriodMs;
    } catch (error) {
      if (signal.aborted) return;
      if (this.#backoff.attempts === 0) log.warn({ error: messageOf(error) }, 'attributes cannot be read');
      // However long the platform was gone: once it is back, one period is enough.
      this.#failedAtMs = clock.monotonicMs();
      this.#leaveUntilMs = this.#failedAtMs + askedDelayMs(error);
      const wakeMs = this.#backoff.attempts < TRIES_OF_A_WAKE - 1 ? undefined : this.#deps.wakes?.();
      const waitMs = Math.max(wakeMs ?? 0, Math.min(this.#backoff.nextMs(), this.#periodMs() * RETRY_SHARE));
      this.#notBeforeMs = Math.max(this.#leaveUntilMs, this.#failedAtMs + waitMs);
      this.#dueAtMs = this.#notBeforeMs;
    }
  }

  #periodMs(): number {
    return this.#deps.wakes?.() ?? this.#deps.reconcilePeriodMs();
  }

  #nextReadMs(): number {
    return Math.max(Math.min(this.#dueAtMs, this.#secondReadAtMs), this.#notBeforeMs);
  }

  async #sleep(signal: AbortSignal): Promise<void> {
    const { clock, shared } = this.#deps;
    this.#interrupt = new AbortController();
    const untilDueMs = this.#nextReadMs() - clock.monotonicMs();
    // A value under way may come to wait without notice: it is looked after as often, whatever hangs beside it.
    const ms = shared.hasWaiting || this.#acting.size > 0 ? Math.min(untilDueMs, RETRY_WAITING_MS) : untilDueMs;
    await clock.sleep(ms, AbortSignal.any([signal, this.#interrupt.signal]));
  }
}
