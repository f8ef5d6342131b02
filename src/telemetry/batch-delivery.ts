/**
 * One post of a batch, and what its answer says: about the size of posts (batch-halving.ts), about single entries (suspects.ts), or about nothing but
 * the platform. What the client itself cannot send is kept among the rejected at once; no platform would make a difference.
 */
import type { BatchLimits, EntryColumns, OutboxBatch, ResolvedEntry } from '../outbox/outbox.ts';
import type { TelemetryRows, UnsendableRow, UploadAnswer } from '../platform/device-api.ts';
import { BatchHalving } from './batch-halving.ts';
import { Empty500 } from './empty-500.ts';
import { PiecePace } from './piece-pace.ts';
import { type Refusal, Suspects, type SuspectsDeps } from './suspects.ts';
import { Unanswered } from './unanswered.ts';

export interface BatchDeliveryDeps extends SuspectsDeps {
  readonly postTelemetry: (rows: TelemetryRows, signal: AbortSignal) => Promise<UploadAnswer>;
}

/** Request Timeout and Gateway Timeout: the body did not pass in time. */
const TIMED_OUT: ReadonlySet<number | undefined> = new Set([408, 504]);

/** `kept`: nobody was asked, as nothing is left to send; every entry is among the rejected, and the batch is to be acknowledged. */
export type DeliveryOutcome = UploadAnswer | { readonly kind: 'kept' };

/** Nobody was asked; the next batch is without what stands aside. */
const NOT_KEPT: UploadAnswer = { kind: 'busy', status: 0, text: 'the disk does not take what cannot be sent' };

export class BatchDelivery {
  readonly #deps: BatchDeliveryDeps;
  /** What a batch may be now, of what is configured. */
  readonly size = new BatchHalving();
  /** Entries that stand aside, as the platform refused them. */
  readonly suspects: Suspects;
  /** Entries that made way for others, as they were not answered by themselves. */
  readonly unanswered: Unanswered;
  readonly empty500: Empty500;
  readonly #pieces = new PiecePace();
  #maxTakenBytes = 0;

  constructor(deps: BatchDeliveryDeps) {
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
    switch (answer.kind) {
      case 'accepted':
        this.empty500.taken(sent);
        this.unanswered.taken(sent);
        this.#maxTakenBytes = Math.max(this.#maxTakenBytes, sent.bytes);
        if (this.size.taken(sent)) this.suspects.absolve();
        return this.suspects.taken(sent);
      case 'refused':
        if (!isAlone(sent.entries)) this.size.refused(sent);
        return this.#refused(sent, { answer: `${answer.status} ${answer.text}`, counts: true });
      case 'too-large':
        if (!isAlone(sent.entries)) this.size.shrink(sent);
        // What is no larger than what was taken before is not too large, whatever a server says today.
        return this.#refused(sent, { answer: `${answer.status} too large`, counts: sent.entries.jsonBytes() > this.#maxTakenBytes });
      case 'busy': {
        if (answer.status === 500 && answer.text === '') return this.#silently(sent);
        if (!isTooSlow(answer)) return this.suspects.failed();
        if (isAlone(sent.entries)) return this.#notAnswered(sent);
        this.size.shrink(sent);
        return this.suspects.failed();
      }
      default:
        return this.suspects.failed();
    }
  }

  /** It was answered with an empty 500. */
  #silently(sent: OutboxBatch): void {
    const isSuspect = this.suspects.has(sent.entries.sequences[0] as number);
    const meaning = isSuspect ? 'post' : this.empty500.met(sent);
    if (!isAlone(sent.entries) && meaning !== 'moment') this.size.silent(sent, meaning);
    const isAtFault = isAlone(sent.entries) && (meaning === 'post' || (meaning === 'open' && !this.size.isProven));
    if (isAtFault) this.#refused(sent, { answer: '500 without a reason', counts: true });
    else this.suspects.failed();
  }

  /** One entry, by itself. */
  #notAnswered({ entries, lane }: OutboxBatch): void {
    const entry = entries.at(0) as ResolvedEntry;
    if (this.suspects.has(entry.sequence) || this.unanswered.failed(entry.sequence, lane))
      this.suspects.refused({ entry, answer: 'no answer in time', counts: false });
    else this.suspects.failed();
  }

  #refused({ entries }: OutboxBatch, refusal: Omit<Refusal, 'entry'>): void {
    if (isAlone(entries)) {
      const entry = entries.at(0) as ResolvedEntry;
      this.size.found();
      this.unanswered.forget(entry.sequence);
      this.suspects.refused({ ...refusal, entry });
    } else this.suspects.failed();
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

/** Whether what goes next is less, or another: so it need not fail as this did. */
export function isAboutWhatWasSent(answer: UploadAnswer): boolean {
  return answer.kind === 'refused' || answer.kind === 'too-large' || answer === NOT_KEPT || (answer.kind === 'busy' && isTooSlow(answer));
}

function isTooSlow({ cut, status }: Extract<UploadAnswer, { kind: 'busy' }>): boolean {
  return cut === true || TIMED_OUT.has(status);
}

/** Whether a batch is one entry, with its mark if it has one. */
export function isAlone({ sequences }: EntryColumns): boolean {
  return sequences.length > 0 && sequences[0] === sequences.at(-1);
}
