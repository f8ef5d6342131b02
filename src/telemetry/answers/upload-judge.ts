/**
 * One post of a batch, and what its answer says: about the size of posts (batch-size.ts), about single entries (suspects.ts), or about nothing but
 * the platform. What the client itself cannot send is kept among the rejected at once; no platform would make a difference.
 */
import type { BatchLimits, EntryColumns, OutboxBatch, ResolvedEntry } from '../../outbox/outbox.ts';
import type { TelemetryRows, UnsendableRow, UploadAnswer } from '../../platform/device-api.ts';
import { BatchSize } from './batch-size.ts';
import { Empty500 } from './empty-500.ts';
import { PiecePace } from './piece-pace.ts';
import { type Refusal, Suspects, type SuspectsDeps } from './suspects.ts';
import { Unanswered } from './unanswered.ts';
import { type AnswerName, isAlone, NOT_KEPT, nameOf, UPLOAD_ACTIONS } from './upload-actions.ts';

export interface UploadJudgeDeps extends SuspectsDeps {
  readonly postTelemetry: (rows: TelemetryRows, signal: AbortSignal) => Promise<UploadAnswer>;
}

/** `kept`: nobody was asked, as nothing is left to send; every entry is among the rejected, and the batch is to be acknowledged. */
export type DeliveryOutcome = UploadAnswer | { readonly kind: 'kept' };

export class UploadJudge {
  readonly #deps: UploadJudgeDeps;
  /** What a batch may be now, of what is configured. */
  readonly size = new BatchSize();
  /** Entries that stand aside, as the platform refused them. */
  readonly suspects: Suspects;
  /** Entries that made way for others, as they were not answered by themselves. */
  readonly unanswered: Unanswered;
  readonly empty500: Empty500;
  readonly #pieces = new PiecePace();
  #maxTakenBytes = 0;

  constructor(deps: UploadJudgeDeps) {
    this.#deps = deps;
    this.suspects = new Suspects(deps);
    this.empty500 = new Empty500(deps.clock);
    this.unanswered = new Unanswered(deps.outbox);
  }

  /** What waits out of its lane, in words; undefined when nothing does. */
  standsAside(): string | undefined {
    const { suspects, unanswered } = this;
    const all = [
      { count: suspects.size, what: 'entries that the platform refused' },
      { count: unanswered.size, what: 'entries that the platform did not answer in time' },
    ].filter(({ count }) => count > 0);
    return all.length === 0 ? undefined : `${all.map(({ count, what }) => `${count} ${what}`).join(' and ')} are tried again later`;
  }

  /** Ms to leave its lane alone after it was taken. */
  pauseAfter(batch: OutboxBatch, configured: BatchLimits): number {
    if (this.size.isPiece(batch, configured)) return this.#pieces.after(batch.lane, this.#deps.clock.monotonicMs());
    this.#pieces.afterWhole(batch.lane);
    return 0;
  }

  /** `accepted` when every entry was taken or, but not all of them, kept among the rejected: the batch is to be acknowledged; otherwise the answer. */
  async deliver(batch: OutboxBatch, signal: AbortSignal): Promise<DeliveryOutcome> {
    let { entries } = batch;
    // A post of nothing would be answered by nobody, and must not look as if the platform had taken something.
    while (entries.length > 0) {
      const answer = await this.#deps.postTelemetry(entries, signal);
      if (answer.kind !== 'refused' || answer.unsendable === undefined) {
        // What the agent itself ended says nothing.
        if (answer.kind === 'accepted' || !signal.aborted) await this.#learn({ ...batch, entries }, answer);
        return answer;
      }
      const rest = await this.#withoutUnsendable(entries, answer.unsendable);
      if (rest === undefined) return NOT_KEPT;
      entries = rest;
    }
    return { kind: 'kept' };
  }

  /** The agent itself ended the post, as something more urgent came: half of it goes next, which may pass in time. */
  overtaken(batch: OutboxBatch): void {
    if (!isAlone(batch.entries)) this.size.shrink(batch);
  }

  async #learn(sent: OutboxBatch, answer: UploadAnswer): Promise<void> {
    const phase = isAlone(sent.entries) ? 'single' : 'batch';
    const name = this.#nameOf(sent, answer);
    const action = UPLOAD_ACTIONS[phase][name];
    const entry = sent.entries.at(0) as ResolvedEntry;
    switch (action) {
      case 'accept':
        this.empty500.taken(sent);
        this.unanswered.taken(sent);
        this.#maxTakenBytes = Math.max(this.#maxTakenBytes, sent.bytes);
        if (this.size.taken(sent)) this.suspects.absolve();
        return this.suspects.taken(sent);
      case 'quarantine':
        this.size.found();
        this.unanswered.forget(entry.sequence);
        return this.suspects.refused({ entry, ...this.#refusalOf(sent, answer) });
      case 'make-way':
        if (!this.suspects.has(entry.sequence) && !this.unanswered.failed(entry.sequence, sent.lane)) break;
        return this.suspects.refused({ entry, answer: 'no answer in time', counts: false });
      case 'bisect':
        this.size.refused(sent);
        break;
      case 'shrink':
        this.size.shrink(sent);
        break;
      case 'try-less':
        this.size.limited(sent);
        break;
      case 'retry':
    }
    this.suspects.failed();
  }

  #nameOf(sent: OutboxBatch, answer: UploadAnswer): AnswerName {
    const name = nameOf(answer);
    if (name !== 'limited') return name;
    if (this.suspects.has(sent.entries.sequences[0] as number)) return 'unhealed';
    const meaning = this.empty500.met(sent);
    if (meaning === 'moment') return 'busy';
    const isUnhealed = meaning === 'post' || (isAlone(sent.entries) && !this.size.isProven);
    return isUnhealed ? 'unhealed' : 'limited';
  }

  #refusalOf({ entries }: OutboxBatch, answer: UploadAnswer): Omit<Refusal, 'entry'> {
    if (answer.kind === 'refused') return { answer: `${answer.status} ${answer.text}`, counts: true };
    if (answer.kind !== 'too-large') return { answer: '500 without a reason', counts: true };
    // What is no larger than what was taken before is not too large, whatever a server says today.
    return { answer: `${answer.status} too large`, counts: entries.jsonBytes() > this.#maxTakenBytes };
  }

  /** Undefined while the disk does not keep all of them: they stand aside then, and the others go without them. */
  async #withoutUnsendable(entries: EntryColumns, unsendable: readonly UnsendableRow[]): Promise<EntryColumns | undefined> {
    const rows = new Set(unsendable.map(({ row }) => row));
    this.#deps.log.error(
      { entries: rows.size, reason: unsendable[0]?.reason },
      'what the platform would lose is not sent; it is kept among the rejected',
    );
    const refused = unsendable.map(({ row, reason }) => ({ entry: entries.at(row) as ResolvedEntry, answer: `not sent: ${reason}` }));
    if (!(await this.suspects.keep(refused))) return undefined;
    return entries.where((row) => !rows.has(row));
  }
}
