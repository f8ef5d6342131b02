/**
 * Sends what the outbox holds, and moves its cursor only on the platform's word.
 *
 *   outbox.peek(alarm → live → backlog) → post ─ accepted ─→ outbox.acknowledge
 *                                             ├ refused, too large, too slow → less, down to one, which makes way, or is a dead letter
 *                                             ├ busy → back off, the same batch again
 *                                             └ portal, unauthorised → hold, retry slowly
 *
 * Everything is sent with its own `ts`, so whatever is sent twice overwrites itself. Nothing here survives a crash or needs to.
 */
import type { UploadConfig } from '../config/schema/agent-config.ts';
import type { Sentence } from '../errors/sentence.ts';
import { english, sentence } from '../names/sentences.ts';
import type { BatchLimits, Outbox, OutboxBatch } from '../outbox/outbox.ts';
import type { UploadAnswer } from '../platform/device-api.ts';
import { isAboutWhatWasSent, isAlone } from './answers/answer-table.ts';
import { UploadJudge, type UploadJudgeDeps } from './answers/upload-judge.ts';
import { isAboutContact, reasonFor, UploadWaits } from './answers/upload-waits.ts';
import { BatchChoice, type BatchChoiceDeps } from './batch-choice.ts';

export interface UploadSettings extends UploadConfig {
  /** How fast history fills in after an outage, entries per second; undefined: as fast as the platform takes it. */
  readonly backlogRatePerS?: number;
}

export interface UploaderDeps extends UploadJudgeDeps, Pick<BatchChoiceDeps, 'link' | 'prepareTelemetry'> {
  readonly outbox: UploadJudgeDeps['outbox'] &
    Pick<Outbox, 'peek' | 'isStillLooking' | 'acknowledge' | 'onAppended' | 'waitsForTime'>;
  /** Asked before each batch, so that live settings take effect at once. */
  readonly settings: () => UploadSettings;
  readonly onAcknowledged?: (entries: number) => void;
}

/** State of uploads, as the status page, the status command and `doctor` show it. */
export interface UploadState {
  readonly state: 'idle' | 'sending' | 'backing-off' | 'held';
  /** Why it does not send, in words. */
  readonly reason?: string;
  /** The same, where it is a sentence. */
  readonly sentence?: Sentence | undefined;
  /** Monotonic ms of the last acknowledged batch of this run. */
  readonly lastAcknowledgedAtMs?: number;
  readonly failures: number;
  /** Monotonic ms at which it sends again what failed. */
  readonly triesAgainAtMs?: number;
  readonly acknowledgedEntries: number;
}

/** As long as any call may take to be answered: until then the end is near. */
const OVERTAKEN_AFTER_MS = 15_000;
/** Then it is looked this often. */
const LOOK_EVERY_MS = 5_000;
/** At a stop, one after the other: what it takes to look for one bad entry among two thousand. */
const MAX_DRAIN_FAILURES = 12;

export class Uploader {
  readonly #deps: UploaderDeps;
  readonly #judge: UploadJudge;
  readonly #waits: UploadWaits;
  #state: UploadState = { state: 'idle', failures: 0, acknowledgedEntries: 0 };
  readonly #choice: BatchChoice;
  /** There is nothing to send; whatever changes that wakes it. */
  #isResting = false;
  /** The batch that failed last is smaller now, or out of the way: the next need not fail. */
  #isNextOther = false;
  /** Aborts when something was appended since the last look for a batch began, which may have passed it. */
  #news = new AbortController();

  constructor(deps: UploaderDeps) {
    this.#deps = deps;
    this.#waits = new UploadWaits(deps.clock);
    this.#judge = new UploadJudge(deps);
    this.#choice = new BatchChoice({ ...deps, judge: this.#judge, waits: this.#waits, limits: () => this.#limits() });
  }

  get state(): UploadState {
    return this.#state;
  }

  /** Sends until the signal aborts. Whatever is in flight then is sent again at the next start. */
  run(signal: AbortSignal): Promise<void> {
    return this.#whileListening(async () => {
      while (!signal.aborted) {
        const waitMs = await this.uploadNextBatch(signal);
        if (waitMs > 0) await this.#wait(waitMs, signal);
      }
    });
  }

  /** Sends one batch if one is due. Resolves to how long to wait before the next, ms; an append ends only an idle wait. */
  uploadNextBatch(signal: AbortSignal): Promise<number> {
    return this.#upload({ withDeadLetters: true }, signal);
  }

  /** Sends until nothing is left that can be sent, or the platform does not take it; for a stop with little time left. */
  drain(signal: AbortSignal): Promise<void> {
    return this.#whileListening(() => this.#drain(signal));
  }

  async #drain(signal: AbortSignal): Promise<void> {
    for (let failures = 0; failures < MAX_DRAIN_FAILURES && !signal.aborted; ) {
      this.#choice.hurry();
      this.#isNextOther = false;
      // Entries that were refused before would take their time, and good ones would stay behind.
      const waitMs = await this.#upload({ withDeadLetters: false }, signal);
      if (this.#isResting && this.#deps.outbox.isStillLooking()) await this.#wait(waitMs, signal);
      else if (waitMs > 0 && !this.#isNextOther) return;
      else failures = waitMs > 0 ? failures + 1 : 0;
    }
  }

  async #upload(options: { readonly withDeadLetters: boolean }, signal: AbortSignal): Promise<number> {
    this.#isResting = false;
    this.#news = new AbortController();
    const next = await this.#choice.next(options);
    if (next === undefined) {
      this.#rest();
      return this.#choice.idleWaitMs();
    }
    const batch = this.#judge.partOf(next);
    const pauseMs = this.#judge.pauseAfter(batch, this.#configured());
    const overtaken = new AbortController();
    const stopLooking = batch.lane === 'alarm' ? () => {} : this.#endForAlarm(overtaken);
    const delivered = this.#judge.deliver(batch, AbortSignal.any([signal, overtaken.signal])).finally(stopLooking);
    const following = batch === next ? this.#choice.lookAhead(batch) : undefined;
    const answer = await delivered;
    const isOver = answer.kind === 'accepted' || answer.kind === 'kept';
    if (!isOver && overtaken.signal.aborted) {
      this.#judge.overtaken(batch);
      this.#choice.failures = 0;
    } else if (!isOver && !signal.aborted) return this.#postpone(batch, answer);
    if (!isOver) return 0;
    await this.#deps.outbox.acknowledge(batch);
    if (answer.kind === 'accepted') this.#noteAcknowledged(batch, pauseMs);
    this.#choice.expect(await following);
    return 0;
  }

  /**
   * Aborts an upload that has just begun once an alarm waits for it; the returned function ends the looking. It may take minutes, on a slow line
   * or with a server that hangs: what a line does is not known before something has passed it. It goes again after the alarm.
   */
  #endForAlarm(upload: AbortController): () => void {
    const { clock, outbox } = this.#deps;
    let isOver = false;
    const look = async (): Promise<void> => {
      // Entries that cannot be read now are looked for again.
      const alarm = await outbox.peek('alarm', this.#limits()).catch(() => undefined);
      if (isOver) return;
      if (alarm !== undefined) upload.abort();
      else cancel = clock.after(LOOK_EVERY_MS, () => void look());
    };
    let cancel = clock.after(OVERTAKEN_AFTER_MS, () => void look());
    return () => {
      isOver = true;
      cancel();
    };
  }

  #limits(): BatchLimits {
    return this.#judge.within(this.#configured());
  }

  #configured(): BatchLimits {
    const { maxBatchBytes, maxBatchEntries } = this.#deps.settings();
    return { maxEntries: maxBatchEntries, maxBytes: maxBatchBytes };
  }

  #postpone(batch: OutboxBatch, answer: Exclude<UploadAnswer, { kind: 'accepted' }>): number {
    this.#isNextOther = isAboutWhatWasSent(answer);
    this.#choice.failures += 1;
    const held = answer.kind === 'portal' || answer.kind === 'unauthorised';
    const waitMs = this.#waits.after(answer, {
      isAlone: isAlone(batch.entries),
      isNextLess: this.#judge.isNextLess(batch, answer),
      atLeastMs: this.#judge.restMs,
    });
    const told = reasonFor(answer);
    const reason = english(told);
    const isNews = this.#state.reason !== reason;
    const triesAgainAtMs = this.#deps.clock.monotonicMs() + waitMs;
    this.#state = {
      ...this.#state,
      state: held ? 'held' : 'backing-off',
      reason,
      sentence: typeof told === 'string' ? undefined : told,
      triesAgainAtMs,
      failures: this.#state.failures + 1,
    };
    // A fault of the contact is told once, by the contact itself.
    if (isNews && !isAboutContact(answer))
      this.#deps.log[held ? 'error' : 'warn']({ retryInMs: Math.round(waitMs) }, `telemetry is kept: ${reason}`);
    return waitMs;
  }

  /** Nothing can be sent now. */
  #rest(): void {
    const { reason: _before, sentence: _told, triesAgainAtMs: _passed, ...state } = this.#state;
    const waits = this.#deps.outbox.waitsForTime();
    const told = waits ? sentence('clockNotRight') : this.#judge.waitsAlone();
    this.#state = {
      ...state,
      state: waits ? 'backing-off' : 'idle',
      reason: told && english(told),
      sentence: told,
    };
    this.#isResting = true;
  }

  #noteAcknowledged(batch: OutboxBatch, pauseMs: number): void {
    const { clock, log } = this.#deps;
    if (this.#state.failures > 0) log.info({ failures: this.#state.failures }, 'the platform takes telemetry again');
    this.#waits.reset();
    const now = clock.monotonicMs();
    this.#choice.taken(batch, { pauseMs, ...this.#deps.settings() });
    const acknowledgedEntries = this.#state.acknowledgedEntries + batch.entries.length;
    this.#state = { state: 'sending', failures: 0, acknowledgedEntries, lastAcknowledgedAtMs: now };
    this.#deps.onAcknowledged?.(batch.entries.length);
  }

  async #whileListening(work: () => Promise<void>): Promise<void> {
    const stopListening = this.#deps.outbox.onAppended(() => this.#news.abort());
    try {
      await work();
    } finally {
      stopListening();
    }
  }

  async #wait(ms: number, signal: AbortSignal): Promise<void> {
    await this.#deps.clock.sleep(ms, this.#isResting ? AbortSignal.any([signal, this.#news.signal]) : signal);
  }
}
