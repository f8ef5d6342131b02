/**
 * One post of a batch, and what its answer does, as the table says (answer-table.ts): to the size of posts (batch-size.ts), to a single entry
 * (quarantine.ts, and the outbox's dead-letter queue), or to nothing. What the client itself cannot send is rejected at once; no platform would
 * make a difference.
 */
import type { Sentence } from '../../errors/sentence.ts';
import { endedWithin } from '../../host/bounded-wait.ts';
import type { Clock } from '../../host/clock.ts';
import type { Log } from '../../host/log.ts';
import { sentence } from '../../names/sentences.ts';
import type { BatchLimits, EntryColumns, Outbox, OutboxBatch, ResolvedEntry } from '../../outbox/outbox.ts';
import type { UnsendableRow, UploadAnswer } from '../../platform/device-api.ts';
import {
  type AnswerName,
  answerText,
  isAlone,
  isSilent,
  NOT_KEPT,
  nameOf,
  UPLOAD_ACTIONS,
  type UploadPhase,
} from './answer-table.ts';
import { BatchSize } from './batch-size.ts';
import { Empty500 } from './empty-500.ts';
import { type DueOptions, Quarantine } from './quarantine.ts';
import { RefusedKeys } from './refused-keys.ts';
import { UploadPace } from './upload-pace.ts';

export interface UploadJudgeDeps {
  readonly outbox: Pick<Outbox, 'quarantined' | 'reject' | 'deadLetter'> & {
    /** Undefined while the outbox is not open. */
    readonly deadLetters: Outbox['deadLetters'] | undefined;
  };
  readonly clock: Clock;
  readonly log: Log;
  readonly postTelemetry: (rows: EntryColumns, signal: AbortSignal) => Promise<UploadAnswer>;
  /** Shared by the uploaders of several devices; absent of one that is alone. */
  readonly refusedKeys?: RefusedKeys;
}

/** `kept`: nobody was asked, as nothing is left to send; every entry is among the rejected, and the batch is to be acknowledged. */
export type DeliveryOutcome = UploadAnswer | { readonly kind: 'kept' };

/** From this status on the server says that the fault is its own. */
const SERVER_FAULT = 500;
/** Answer that is kept with an entry that nobody was asked about. */
const KEY_IS_REFUSED = 'each entry of its key was refused';
/** Rest after which a post that meets a limit is in doubt, when the pace asks for no longer one. */
const SLOW_MS = 5_000;
/** Tolerance of a rest, as timers are not exact. */
const NEARLY = 1.05;
/** Bound of the posts at the end of a search for one entry. */
const LAST_ROWS = 2;
/** Part of the pace that a small post waits at least: a limit of values counts it for little, one of posts in full. */
const MIN_PART = 0.4;
/** While the disk hangs, the delivery of all others goes on. */
const KEPT_WITHIN_MS = 5_000;

export class UploadJudge {
  readonly #deps: UploadJudgeDeps;
  readonly size = new BatchSize();
  readonly quarantine: Quarantine;
  readonly empty500: Empty500;
  readonly #pace = new UploadPace();
  readonly #refusedKeys: RefusedKeys;
  /** Writes that the disk has not answered yet, by sequence; none is asked for twice. */
  readonly #keeping = new Map<number, Promise<void>>();
  /** Others were accepted since a dead letter was last asked for, and since the one before it. */
  #othersPass = false;
  #othersPassed = false;
  /** A post met a limit after a rest, and nothing was taken since: less is tried without another rest. */
  #isLookedInto = false;

  constructor(deps: UploadJudgeDeps) {
    this.#deps = deps;
    this.#refusedKeys = deps.refusedKeys ?? new RefusedKeys();
    this.quarantine = new Quarantine(deps.outbox);
    this.empty500 = new Empty500(deps.clock);
  }

  /** Entries that wait out of their lanes, in words; undefined when there are none. */
  waitsAlone(): Sentence | undefined {
    const count = this.quarantine.size + (this.#deps.outbox.deadLetters?.size ?? 0);
    return count === 0 ? undefined : sentence('entriesTriedLater', { count });
  }

  /** Limits of the next batch, within those that are configured. */
  within(configured: BatchLimits): BatchLimits {
    return this.size.within(configured);
  }

  /** As much of a batch as may go in one post; one entry is always given. */
  partOf(batch: OutboxBatch): OutboxBatch {
    return this.size.partOf(batch);
  }

  /** Ms between two posts of any lanes but alarms, behind a limit; else 0. */
  get everyMs(): number {
    return this.#pace.everyMs;
  }

  /** Ms to wait at least after a post met a limit: the second in a row after which the next tells whether time helps. */
  get restMs(): number {
    const { everyMs, hasLimit } = this.#pace;
    if (!hasLimit) return 0;
    return this.empty500.count < 2 ? everyMs / 2 : Math.max(SLOW_MS, everyMs);
  }

  /** Ms until the next post of any lane but alarms, after this one was taken. */
  paceAfter(batch: OutboxBatch): number {
    return this.#pace.everyMs * Math.max(MIN_PART, this.size.partOfFull(batch));
  }

  /** Ms to leave its lane alone after it was taken. */
  pauseAfter(batch: OutboxBatch, configured: BatchLimits): number {
    const isPiece = this.size.isPiece(batch, configured);
    return this.#pace.after(batch.lane, { isPiece, nowMs: this.#deps.clock.monotonicMs() });
  }

  /** True when the next post is smaller than this one, to find a limit that is not known yet. */
  isNextLess({ entries }: OutboxBatch, answer: UploadAnswer): boolean {
    return (
      nameOf(answer) === 'limited' &&
      (!this.#pace.hasLimit || this.#isLookedInto) &&
      this.size.maxEntries < entries.length
    );
  }

  /**
   * Moves the entries whose key is always refused out of their lane: one at a time is sent alone, and the others are dead letters at once. Resolves to
   * true when there were some: the lane gives another batch. Alarms stay, as in quarantine they would wait for others.
   */
  async takeRefusedKeys({ entries, lane }: OutboxBatch): Promise<boolean> {
    if (lane === 'alarm') return false;
    let taken = 0;
    for (const [sequence, isOwn] of this.#refusedKeys.sequencesIn(entries)) {
      const own = entries.where((row) => entries.sequences[row] === sequence);
      const isTried = !isOwn || this.#refusedKeys.mayTry(this.#deps.clock.monotonicMs());
      if (isTried && this.quarantine.hasRoomFor(own)) {
        this.quarantine.add(own, lane);
        if (isOwn) this.#refusedKeys.tries(this.#deps.clock.monotonicMs());
      } else if (!(await this.#isLetter(own, KEY_IS_REFUSED))) break;
      taken += 1;
    }
    return taken > 0;
  }

  /** The entry that is to be retried by itself now. */
  nextAlone(options: DueOptions & { readonly withDeadLetters: boolean }): OutboxBatch | undefined {
    const quarantined = this.quarantine.due(options);
    if (quarantined !== undefined || !options.withDeadLetters) return quarantined;
    const nowMs = this.#deps.clock.monotonicMs();
    if (!this.#refusedKeys.mayTry(nowMs) || !(options.nothingElse || this.#othersPass)) return undefined;
    const letter = this.#deps.outbox.deadLetters?.next(options);
    if (letter === undefined) return undefined;
    this.#refusedKeys.tries(nowMs);
    this.#othersPassed = this.#othersPass;
    this.#othersPass = false;
    return letter;
  }

  /** `accepted` when every entry was taken or, but not all of them, kept among the rejected: the batch is to be acknowledged; otherwise the answer. */
  async deliver(batch: OutboxBatch, signal: AbortSignal): Promise<DeliveryOutcome> {
    let { entries } = batch;
    // A post of nothing would be answered by nobody, and must not look as if the platform had taken something.
    while (entries.length > 0) {
      const answer = await this.#deps.postTelemetry(entries, signal);
      if (answer.kind !== 'refused' || answer.unsendable === undefined || batch.isDeadLetter === true) {
        // A request that the agent itself ended says nothing.
        if (answer.kind === 'accepted' || !signal.aborted) await this.#act({ ...batch, entries }, answer);
        return answer;
      }
      const rest = await this.#withoutUnsendable(batch, entries, answer.unsendable);
      if (rest === undefined) return NOT_KEPT;
      entries = rest;
    }
    return { kind: 'kept' };
  }

  /** The agent itself ended the post, as something more urgent came: half of it goes next, which may pass in time. */
  overtaken(batch: OutboxBatch): void {
    if (!isAlone(batch.entries)) this.size.shrink(batch);
  }

  async #act(sent: OutboxBatch, answer: UploadAnswer): Promise<void> {
    const { entries, lane } = sent;
    const sequence = entries.sequences[0] as number;
    const quietMs = this.#pace.posted(this.#deps.clock.monotonicMs());
    const name = this.#nameOf(sent, answer, quietMs);
    const phase = this.#phaseOf(sent);
    if (answer.kind === 'accepted') this.#refusedKeys.accepted(entries);
    if (phase !== 'batch' && answer.kind === 'refused' && answer.status < SERVER_FAULT)
      this.#refusedKeys.refused(entries);
    switch (UPLOAD_ACTIONS[phase][name]) {
      case 'accept':
        this.empty500.taken(sent);
        if (this.#isLookedInto && quietMs < this.#pace.everyMs) this.#pace.notLimited();
        this.#isLookedInto = false;
        if (this.size.taken(sent)) this.#pace.limitFound();
        this.#pace.accepted(quietMs);
        this.#othersPass ||= phase !== 'dead-letter';
        if (this.quarantine.accepted(sent) || phase === 'dead-letter') {
          this.#refusedKeys.tookOne();
          this.#deps.outbox.deadLetters?.hurry();
        }
        return;
      case 'quarantine':
        if (name !== 'timed-out') this.size.found();
        return this.quarantine.add(entries, lane);
      case 'dead-letter':
        return this.#bury(sent, answerText(answer));
      case 'postpone':
        void this.#deps.outbox.deadLetters?.refused(sequence, {
          answer: answerText(answer),
          othersPass: this.#othersPassed,
        });
        return;
      case 'bisect':
        return this.size.refused(sent);
      case 'shrink':
        return this.size.shrink(sent);
      case 'try-less':
        return this.size.limited(sent);
      case 'retry':
    }
  }

  #phaseOf({ entries, isDeadLetter }: OutboxBatch): UploadPhase {
    if (isDeadLetter === true) return 'dead-letter';
    if (!isAlone(entries)) return 'batch';
    return this.quarantine.othersPassed(entries.sequences[0] as number) ? 'quarantined' : 'single';
  }

  #nameOf(sent: OutboxBatch, answer: UploadAnswer, quietMs: number): AnswerName {
    const name = nameOf(answer);
    if (name !== 'limited') return name;
    const meaning = this.empty500.met(sent);
    const { hasLimit } = this.#pace;
    const isMore = !this.size.hasTaken(sent);
    if (!isMore) this.#pace.limited();
    const isSlow = this.#pace.everyMs >= SLOW_MS;
    if (meaning === 'moment') return hasLimit && isMore && !isSlow ? 'limited' : 'busy';
    const isAfterRest = hasLimit && quietMs * NEARLY >= Math.max(SLOW_MS, this.#pace.everyMs);
    const isAtFault =
      meaning === 'post' ||
      (isAlone(sent.entries) ? this.#isFound(sent, isAfterRest) : this.#isSize(sent, isAfterRest));
    this.#isLookedInto ||= isAfterRest;
    if (isAtFault && (isSilent(answer) || !isAlone(sent.entries))) return 'unhealed';
    if (!isMore) this.#pace.limitFound();
    return hasLimit && isSlow ? 'busy' : 'limited';
  }

  /** True when a limit that is met after a rest must be one of size, or an entry's fault; once it is looked into, rests need not be repeated. */
  #isSize(sent: OutboxBatch, isAfterRest: boolean): boolean {
    return this.#pace.hasLimit && (isAfterRest || this.#isLookedInto) && this.size.isLarge(sent);
  }

  /** True when a search among the entries of a post has ended at this one, or nothing at all was ever taken. */
  #isFound(sent: OutboxBatch, isAfterRest: boolean): boolean {
    if (!this.size.isProven) return true;
    return isAfterRest && this.#isLookedInto && this.size.maxEntries <= LAST_ROWS && this.#phaseOf(sent) === 'single';
  }

  /** It becomes a dead letter; while the disk does not take it, it stays in quarantine. */
  async #bury({ entries, lane }: OutboxBatch, answer: string): Promise<void> {
    if (!(await this.#isLetter(entries, answer))) return this.quarantine.add(entries, lane);
    const { key, ts } = entries.at(0) as ResolvedEntry;
    this.#deps.log.error(
      { key, ts, answer },
      'the platform refuses this entry and takes others; it is tried again by itself for a week',
    );
  }

  /** Resolves to true when the disk has it as a dead letter. */
  async #isLetter(entries: EntryColumns, answer: string): Promise<boolean> {
    const rows = [...entries];
    const { sequence } = rows[0] as ResolvedEntry;
    const isKept = await this.#isKept(sequence, () => this.#deps.outbox.deadLetter(rows, answer));
    if (isKept) this.quarantine.release(sequence);
    return isKept;
  }

  /** Undefined while the disk does not keep all of them: they make way then, and the others go without them. */
  async #withoutUnsendable(
    { lane }: OutboxBatch,
    entries: EntryColumns,
    found: readonly UnsendableRow[],
  ): Promise<EntryColumns | undefined> {
    const { outbox, log } = this.#deps;
    log.error(
      { entries: found.length, reason: found[0]?.reason },
      'what the platform would lose is not sent; it is kept among the rejected',
    );
    const left = found.map(({ row, reason }) => ({
      entry: entries.at(row) as ResolvedEntry,
      answer: `not sent: ${reason}`,
    }));
    for (let next = left[0]; next !== undefined; next = left[0]) {
      const { entry, answer } = next;
      if (!(await this.#isKept(entry.sequence, () => outbox.reject(entry, answer)))) break;
      this.quarantine.release(entry.sequence);
      left.shift();
    }
    for (const { entry } of left) {
      const own = entries.where((row) => entries.sequences[row] === entry.sequence);
      this.quarantine.add(own, lane);
    }
    const rows = new Set(found.map(({ row }) => row));
    return left.length > 0 ? undefined : entries.where((row) => !rows.has(row));
  }

  /** True when the disk has taken an entry out of its lane; if not, it may yet when it answers. Never rejects. */
  async #isKept(sequence: number, keep: () => Promise<void>): Promise<boolean> {
    const { clock, log } = this.#deps;
    const work = this.#keeping.get(sequence) ?? keep().finally(() => this.#keeping.delete(sequence));
    this.#keeping.set(sequence, work);
    let isKept = false;
    const told = work.then(
      () => {
        isKept = true;
      },
      (error: unknown) => log.warn({ sequence, err: error }, 'what is refused cannot be written down yet; it waits'),
    );
    await endedWithin(clock, KEPT_WITHIN_MS, told);
    return isKept;
  }
}
