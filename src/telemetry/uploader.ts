/**
 * Sends what the outbox holds, and moves its cursor only on the platform's word.
 *
 *   outbox.peek(alarm → live → backlog) → post ─ accepted ─→ outbox.acknowledge
 *                                             ├ refused, too large → halve, down to the one bad entry
 *                                             ├ busy → back off, the same batch again
 *                                             └ portal, unauthorised → hold, retry slowly
 *
 * Everything is sent with its own `ts`, so whatever is sent twice overwrites itself. Nothing here survives a crash or needs to.
 */
import { Backoff } from '../host/backoff.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { Lane, OutboxBatch, ResolvedEntry } from '../outbox/outbox-batch.ts';
import type { TelemetryRows, UploadAnswer } from '../platform/device-api.ts';
import { BatchDelivery } from './batch-delivery.ts';
import type { DailyBudget } from './daily-budget.ts';

export interface UploadSettings {
  /** Largest body, bytes as JSON; the stock platform takes 16 MiB. */
  readonly maxBatchBytes: number;
  readonly maxBatchEntries: number;
  /** Least time between two uploads of live entries, ms; alarms do not wait for it. 0: as soon as they are durable. */
  readonly intervalMs: number;
  /** How fast history fills in after an outage, entries per second; undefined: as fast as the platform takes it. */
  readonly backlogRatePerS?: number;
}

/** The outbox as the uploader needs it. */
export interface UploadSource {
  /** `beyond`: a batch that is on its way, and is passed over. */
  peek(
    lane: Lane,
    limits: { readonly maxEntries: number; readonly maxBytes: number },
    beyond?: OutboxBatch,
  ): Promise<OutboxBatch | undefined>;
  acknowledge(batch: OutboxBatch): Promise<void>;
  reject(batch: OutboxBatch, entry: ResolvedEntry, answer: string): Promise<void>;
  onAppended(listener: () => void): () => void;
}

export interface UploaderDeps {
  readonly outbox: UploadSource;
  readonly postTelemetry: ConstructorParameters<typeof BatchDelivery>[0]['postTelemetry'];
  /** Told of the batch that is likely next, while another is on its way. */
  readonly prepareTelemetry?: (rows: TelemetryRows) => void;
  readonly clock: Clock;
  readonly log: Log;
  /** Asked before each batch, so that live settings take effect at once. */
  readonly settings: () => UploadSettings;
  readonly budget: DailyBudget;
  readonly onAcknowledged?: (entries: number) => void;
  readonly random?: () => number;
}

/** What the status page, the status command and `doctor` show of the connection. */
export interface UploadState {
  readonly state: 'idle' | 'sending' | 'backing-off' | 'held';
  /** Why it does not send, in words. */
  readonly reason?: string;
  /** Monotonic ms of the last acknowledged batch of this run. */
  readonly lastAcknowledgedAtMs?: number;
  readonly failures: number;
  readonly acknowledgedEntries: number;
}

/** A server that is only busy is asked again soon; the bound is well under the patience of somebody who watches. */
const BUSY_BACKOFF = { firstMs: 1_000, maxMs: 60_000 };
/** Nothing but a person changes credentials or a portal; still, the device must notice by itself when one did. */
const HOLD_BACKOFF = { firstMs: 30_000, maxMs: 300_000 };
/** The HTTP client puts a request on the wire this many turns of the event loop after it was given one; until then, reading would hold it up. */
const TURNS_TO_SEND = 3;
/** An idle uploader looks again this often: an entry may become sendable without an append, when the clock is synchronised. */
const IDLE_LOOK_MS = 5_000;

export class Uploader {
  readonly #deps: UploaderDeps;
  readonly #delivery: BatchDelivery;
  readonly #busyBackoff: Backoff;
  readonly #holdBackoff: Backoff;
  #state: UploadState = { state: 'idle', failures: 0, acknowledgedEntries: 0 };
  #liveNotBeforeMs = 0;
  #backlogNotBeforeMs = 0;
  /** The next of the backlog, read while the last was on its way. */
  #ahead: OutboxBatch | undefined;
  #wake: () => void = () => {};

  constructor(deps: UploaderDeps) {
    this.#deps = deps;
    const random = deps.random === undefined ? {} : { random: deps.random };
    this.#busyBackoff = new Backoff({ ...BUSY_BACKOFF, ...random });
    this.#holdBackoff = new Backoff({ ...HOLD_BACKOFF, ...random });
    this.#delivery = new BatchDelivery({ ...deps, reject: (batch, entry, answer) => deps.outbox.reject(batch, entry, answer) });
  }

  get state(): UploadState {
    return this.#state;
  }

  /** Sends until the signal aborts. Whatever is in flight then is sent again at the next start. */
  async run(signal: AbortSignal): Promise<void> {
    const stopListening = this.#deps.outbox.onAppended(() => this.#wake());
    try {
      while (!signal.aborted) {
        const waitMs = await this.uploadNextBatch(signal);
        if (waitMs > 0) await this.#wait(waitMs, signal);
      }
    } finally {
      stopListening();
    }
  }

  /** Sends one batch if one is due. Resolves to how long to wait before the next, ms; an append ends only an idle wait. */
  async uploadNextBatch(signal: AbortSignal): Promise<number> {
    const batch = await this.#nextBatch();
    if (batch === undefined) {
      if (this.#state.state === 'sending') this.#become({ state: 'idle' });
      return this.#state.state === 'idle' ? this.#idleWaitMs() : 0;
    }
    const delivered = this.#delivery.deliver(batch, signal);
    const following = this.#lookAhead(batch);
    const answer = await delivered;
    if (answer.kind !== 'accepted') return signal.aborted ? 0 : this.#postpone(answer);
    await this.#deps.outbox.acknowledge(batch);
    this.#noteAcknowledged(batch);
    this.#ahead = await following;
    return 0;
  }

  /** Sends until nothing is left that can be sent, or the platform does not take it; for a stop with little time left. */
  async drain(signal: AbortSignal): Promise<void> {
    this.#liveNotBeforeMs = 0;
    while (!signal.aborted) {
      const before = this.#state.acknowledgedEntries;
      await this.uploadNextBatch(signal);
      if (this.#state.acknowledgedEntries === before) return;
    }
  }

  /** History is read from the disk, and encoded, while the batch before it is on its way; a fault is met again at its own time. */
  async #lookAhead(batch: OutboxBatch): Promise<OutboxBatch | undefined> {
    if (batch.lane !== 'backlog') return undefined;
    for (let turn = 0; turn < TURNS_TO_SEND; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    try {
      const next = await this.#deps.outbox.peek('backlog', this.#limits(), batch);
      if (next !== undefined) this.#deps.prepareTelemetry?.(next.entries);
      return next;
    } catch {
      return undefined;
    }
  }

  #limits(): { readonly maxEntries: number; readonly maxBytes: number } {
    const { maxBatchBytes, maxBatchEntries } = this.#deps.settings();
    return { maxEntries: maxBatchEntries, maxBytes: maxBatchBytes };
  }

  async #nextBatch(): Promise<OutboxBatch | undefined> {
    const { outbox, clock, budget } = this.#deps;
    const now = clock.monotonicMs();
    const due: Lane[] = ['alarm'];
    if (now >= this.#liveNotBeforeMs) due.push('live');
    if (now >= this.#backlogNotBeforeMs && !budget.isSpent()) due.push('backlog');
    const ahead = this.#ahead;
    this.#ahead = undefined;
    for (const lane of due) {
      const batch = lane === 'backlog' && ahead !== undefined ? ahead : await outbox.peek(lane, this.#limits());
      if (batch !== undefined) return batch;
    }
    return undefined;
  }

  #postpone(answer: Exclude<UploadAnswer, { kind: 'accepted' }>): number {
    const held = answer.kind === 'portal' || answer.kind === 'unauthorised';
    const waitMs = held ? this.#holdBackoff.nextMs() : this.#busyBackoff.nextMs('retryAfterMs' in answer ? answer.retryAfterMs : 0);
    const reason = describe(answer);
    const isNews = this.#state.reason !== reason;
    this.#become({ state: held ? 'held' : 'backing-off', reason, failures: this.#state.failures + 1 });
    if (isNews) this.#deps.log[held ? 'error' : 'warn']({ retryInMs: Math.round(waitMs) }, `telemetry is kept: ${reason}`);
    return waitMs;
  }

  #noteAcknowledged(batch: OutboxBatch): void {
    const { clock, log } = this.#deps;
    if (this.#state.reason !== undefined) log.info({ failures: this.#state.failures }, 'the platform takes telemetry again');
    this.#busyBackoff.reset();
    this.#holdBackoff.reset();
    const now = clock.monotonicMs();
    const { intervalMs, backlogRatePerS } = this.#deps.settings();
    if (batch.lane === 'live') this.#liveNotBeforeMs = now + intervalMs;
    if (batch.lane === 'backlog' && backlogRatePerS !== undefined) {
      this.#backlogNotBeforeMs = Math.max(now, this.#backlogNotBeforeMs) + (batch.entries.length / backlogRatePerS) * 1_000;
    }
    const acknowledgedEntries = this.#state.acknowledgedEntries + batch.entries.length;
    this.#state = { state: 'sending', failures: 0, acknowledgedEntries, lastAcknowledgedAtMs: now };
    this.#deps.onAcknowledged?.(batch.entries.length);
  }

  #become(change: Partial<UploadState>): void {
    this.#state = { ...this.#state, ...change };
  }

  #idleWaitMs(): number {
    const now = this.#deps.clock.monotonicMs();
    const next = [this.#liveNotBeforeMs, this.#backlogNotBeforeMs].filter((at) => at > now).map((at) => at - now);
    return Math.max(1, Math.min(IDLE_LOOK_MS, ...next));
  }

  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    if (this.#state.state !== 'idle') return clock.sleep(ms, signal);
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    await clock.sleep(ms, AbortSignal.any([signal, woken.signal]));
    this.#wake = () => {};
  }
}

function describe(answer: Exclude<UploadAnswer, { kind: 'accepted' }>): string {
  switch (answer.kind) {
    case 'portal':
      return `something between here and the platform answers in its place (status ${answer.status}): a login page or a proxy`;
    case 'unauthorised':
      return `the platform does not know this device (status ${answer.status}): check the access token`;
    case 'busy':
      return answer.status === undefined ? `the platform is not reached: ${answer.text}` : `the platform is busy (status ${answer.status})`;
    case 'too-large':
    case 'refused':
      return `the platform refuses (status ${answer.status})`;
  }
}
