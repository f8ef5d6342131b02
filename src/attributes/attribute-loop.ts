/**
 * When attributes are read. A poll's answer is only a wake-up, because what changes between two polls is never told (wire-facts.md, "Long polls"):
 *
 *   start ─┐
 *   wake-up, and once more when the next poll surely stands ─┤→ read → reconcile, heal
 *   gap in polling ─┤
 *   slow period ─┘
 */
import { messageOf } from '../errors.ts';
import { Backoff } from '../host/backoff.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { DeviceApi } from '../platform/device-api.ts';
import { runLongPoll } from '../platform/long-poll.ts';
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
  readonly pollTimeoutMs?: number;
  /** The platform has answered. */
  readonly onContact?: () => void;
  readonly random?: () => number;
}

/** After a wake-up the next poll stands within this time; what changed before it did is then found by a second read. */
const SECOND_READ_AFTER_MS = 1_000;
/** However often the platform wakes us. */
const LEAST_INTERVAL_MS = 250;
/** A read and what it sets in motion take their time: started a little early, they end within the period. */
const PERIOD_SHARE = 0.9;
const RETRY_WAITING_MS = 5_000;
const BACKOFF = { firstMs: 1_000, maxMs: 60_000 };
/** Wake-ups without any news, after which the platform is believed to have none. */
const MOST_EMPTY_WAKES = 10;

/** Runs until the signal aborts; never rejects. */
export async function runAttributeLoop(deps: AttributeLoopDeps, signal: AbortSignal): Promise<void> {
  const loop = new AttributeLoop(deps);
  const polling = runLongPoll(
    {
      kind: 'attributes',
      poll: (timeoutMs, pollSignal) => deps.deviceApi.pollAttributes(timeoutMs, pollSignal),
      onMessage: async () => loop.woken(),
      onGap: () => loop.wantTwice(),
      clock: deps.clock,
      log: deps.log,
      ...(deps.pollTimeoutMs === undefined ? {} : { pollTimeoutMs: deps.pollTimeoutMs }),
      ...(deps.random === undefined ? {} : { random: deps.random }),
    },
    signal,
  );
  await Promise.all([polling, loop.run(signal)]);
}

class AttributeLoop {
  readonly #deps: AttributeLoopDeps;
  readonly #backoff: Backoff;
  #wakesWithoutNews = 0;
  #dueAtMs = 0;
  #secondReadAtMs = Number.POSITIVE_INFINITY;
  #readBackAtMs = 0;
  #interrupt = new AbortController();

  constructor(deps: AttributeLoopDeps) {
    this.#deps = deps;
    this.#backoff = new Backoff({ ...BACKOFF, ...(deps.random === undefined ? {} : { random: deps.random }) });
  }

  woken(): 'worthy' | 'worthless' {
    this.#wakesWithoutNews += 1;
    this.wantTwice();
    return this.#wakesWithoutNews > MOST_EMPTY_WAKES ? 'worthless' : 'worthy';
  }

  /** At once, and again when a poll that begins now surely stands. */
  wantTwice(): void {
    this.#secondReadAtMs = this.#deps.clock.monotonicMs() + SECOND_READ_AFTER_MS;
    this.#dueAtMs = 0;
    this.#interrupt.abort();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, shared } = this.#deps;
    while (!signal.aborted) {
      const nowMs = clock.monotonicMs();
      if (nowMs >= Math.min(this.#dueAtMs, this.#secondReadAtMs)) {
        if (nowMs >= this.#secondReadAtMs) this.#secondReadAtMs = Number.POSITIVE_INFINITY;
        this.#dueAtMs = nowMs + this.#deps.reconcilePeriodMs() * PERIOD_SHARE;
        await this.#read(signal);
        await clock.sleep(LEAST_INTERVAL_MS, signal);
        continue;
      }
      if (shared.hasWaiting) await shared.retryWaiting(signal);
      await this.#sleep(signal);
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    const { deviceApi, shared, client, clock, log } = this.#deps;
    const readsBack = clock.monotonicMs() >= this.#readBackAtMs;
    try {
      // With one client key that surely exists, an answer without shared ones is not `{}`: all were deleted, and not a fault behind the platform.
      const clientKeys = readsBack ? client.keys : client.keys.slice(0, 1);
      const answer = await deviceApi.getAttributes({ clientKeys, sharedKeys: shared.keys }, signal);
      this.#deps.onContact?.();
      this.#backoff.reset();
      if (answer.empty) return;
      if (await shared.reconcile(answer.shared, signal)) this.#wakesWithoutNews = 0;
      if (!readsBack) return;
      client.heal(answer.client);
      this.#readBackAtMs = clock.monotonicMs() + this.#deps.readBackPeriodMs;
    } catch (error) {
      if (signal.aborted) return;
      if (this.#backoff.attempts === 0) log.warn({ error: messageOf(error) }, 'attributes cannot be read');
      // However long the platform was gone: once it is back, one period is enough.
      this.#dueAtMs = clock.monotonicMs() + Math.min(this.#backoff.nextMs(), this.#deps.reconcilePeriodMs());
    }
  }

  async #sleep(signal: AbortSignal): Promise<void> {
    const { clock, shared } = this.#deps;
    this.#interrupt = new AbortController();
    const untilDueMs = Math.min(this.#dueAtMs, this.#secondReadAtMs) - clock.monotonicMs();
    const ms = shared.hasWaiting ? Math.min(untilDueMs, RETRY_WAITING_MS) : untilDueMs;
    await clock.sleep(ms, AbortSignal.any([signal, this.#interrupt.signal]));
  }
}
