/** Which batch goes next: alarms, the present and history in their turns and at their rates, and between them what is tried again by itself. */
import type { Clock } from '../host/clock.ts';
import { nextTurn } from '../host/next-turn.ts';
import type { LinkUploads } from '../link/link.ts';
import type { BatchLimits, Lane, Outbox, OutboxBatch } from '../outbox/outbox.ts';
import type { TelemetryRows } from '../platform/device-api.ts';
import type { UploadJudge } from './answers/upload-judge.ts';
import type { UploadWaits } from './answers/upload-waits.ts';

export interface BatchChoiceDeps {
  readonly outbox: Pick<Outbox, 'peek'>;
  readonly clock: Clock;
  /** Uploads that the link leaves. */
  readonly link: () => Pick<LinkUploads, 'history' | 'present'>;
  readonly judge: Pick<
    UploadJudge,
    'nextAlone' | 'takeRefusedKeys' | 'quarantine' | 'empty500' | 'everyMs' | 'paceAfter'
  >;
  readonly waits: Pick<UploadWaits, 'refusals'>;
  readonly limits: () => BatchLimits;
  /** Told of the batch that is likely next, while another is on its way. */
  readonly prepareTelemetry?: (rows: TelemetryRows) => void;
}

/** How soon a lane may send again after a batch. */
export interface BatchPace {
  readonly pauseMs: number;
  readonly intervalMs: number;
  readonly backlogRatePerS?: number;
}

/** The HTTP client puts a request on the wire this many turns of the event loop after it was given one; until then, reading would hold it up. */
const TURNS_TO_SEND = 3;
/** An idle uploader looks again this often: an entry may become sendable without an append, when the clock is synchronised. */
const IDLE_LOOK_MS = 5_000;
/** Posts of history for one of the present, behind a limit. */
const BACKLOG_FOR_LIVE = 4;

export class BatchChoice {
  readonly #deps: BatchChoiceDeps;
  #liveNotBeforeMs = 0;
  #backlogNotBeforeMs = 0;
  #lookedAtMs = 0;
  #backlogSinceLive = 0;
  /** The next of the backlog, read while the last was on its way. */
  #ahead: OutboxBatch | undefined;
  /** Posts that failed since something was taken, or since one was ended for an alarm. */
  failures = 0;

  constructor(deps: BatchChoiceDeps) {
    this.#deps = deps;
  }

  /** Undefined when nothing may go now. */
  async next({ withDeadLetters }: { readonly withDeadLetters: boolean }): Promise<OutboxBatch | undefined> {
    const { outbox, clock, judge, waits, limits } = this.#deps;
    const now = clock.monotonicMs();
    this.#lookedAtMs = now;
    const { history: withHistory, present } = this.#deps.link();
    if (!present) return await outbox.peek('alarm', limits());
    const due: Lane[] = ['alarm'];
    if (now >= this.#liveNotBeforeMs) due.push('live');
    if (now >= this.#backlogNotBeforeMs && withHistory) due.push('backlog');
    // While entries are refused by themselves, or not answered, each failing post gives another lane its turn: it may show that the platform works.
    const isHeldUp = waits.refusals + judge.quarantine.waiting({ withHistory }) > 0;
    for (let turns = isHeldUp ? this.failures % due.length : 0; turns > 0; turns -= 1) due.push(due.shift() as Lane);
    // The few posts that a limit lets through must not all be the present's.
    const isHistorysTurn = judge.everyMs > 0 && this.#backlogSinceLive < BACKLOG_FOR_LIVE;
    if ((isHistorysTurn || judge.empty500.count % 2 === 1) && due.length === 3) due.push(due.splice(1, 1)[0] as Lane);
    const ahead = this.#ahead;
    this.#ahead = undefined;
    const alone = { withHistory, withDeadLetters };
    const again = judge.nextAlone({ ...alone, nothingElse: false });
    if (again !== undefined) return again;
    for (const lane of due) {
      let batch = lane === 'backlog' && ahead !== undefined ? ahead : await outbox.peek(lane, limits());
      while (batch !== undefined && (await judge.takeRefusedKeys(batch))) batch = await outbox.peek(lane, limits());
      if (batch !== undefined) return batch;
    }
    return judge.nextAlone({ ...alone, nothingElse: true });
  }

  /** History is read from the disk, and encoded, while the batch before it is on its way; a fault is met again at its own time. */
  async lookAhead(batch: OutboxBatch): Promise<OutboxBatch | undefined> {
    if (batch.lane !== 'backlog') return undefined;
    for (let turn = 0; turn < TURNS_TO_SEND; turn += 1) await nextTurn();
    try {
      const next = await this.#deps.outbox.peek('backlog', this.#deps.limits(), batch);
      if (next !== undefined) this.#deps.prepareTelemetry?.(next.entries);
      return next;
    } catch {
      return undefined;
    }
  }

  /** The batch was taken after which this one was read. */
  expect(ahead: OutboxBatch | undefined): void {
    this.#ahead = ahead;
  }

  /** A batch was taken. */
  taken(batch: OutboxBatch, { pauseMs, intervalMs, backlogRatePerS }: BatchPace): void {
    const now = this.#deps.clock.monotonicMs();
    const paceMs = this.#deps.judge.paceAfter(batch);
    this.failures = 0;
    this.#liveNotBeforeMs = Math.max(this.#liveNotBeforeMs, now + paceMs);
    this.#backlogSinceLive = batch.lane === 'live' ? 0 : this.#backlogSinceLive + 1;
    if (batch.lane === 'live') this.#liveNotBeforeMs = now + Math.max(intervalMs, pauseMs, paceMs);
    if (batch.lane !== 'backlog') {
      this.#backlogNotBeforeMs = Math.max(this.#backlogNotBeforeMs, now + paceMs);
      return;
    }
    const perEntryMs = backlogRatePerS === undefined ? 0 : 1_000 / backlogRatePerS;
    const atRateMs = Math.max(now, this.#backlogNotBeforeMs) + batch.entries.length * perEntryMs;
    this.#backlogNotBeforeMs = Math.max(atRateMs, now + pauseMs, now + paceMs);
  }

  /** The present waits for no interval, once. */
  hurry(): void {
    this.#liveNotBeforeMs = 0;
  }

  /** Ms until a lane may have its turn again that had none at the last look. */
  idleWaitMs(): number {
    const now = this.#deps.clock.monotonicMs();
    const next = [this.#liveNotBeforeMs, this.#backlogNotBeforeMs]
      .filter((at) => at > this.#lookedAtMs)
      .map((at) => at - now);
    return Math.max(1, Math.min(IDLE_LOOK_MS, ...next));
  }
}
