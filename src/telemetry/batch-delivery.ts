/**
 * Delivers one batch, in parts where the platform wants it so: a refused batch is halved down to the one bad entry, which is
 * set aside with the platform's answer, and the rest is delivered.
 *
 * An empty 500 is how the platform's rate limit looks, and also how some faults look. It is taken for a bad entry only when that
 * entry failed again and again while another one, sent right after it, went through.
 */
import { Backoff } from '../host/backoff.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { EntryColumns, OutboxBatch, ResolvedEntry } from '../outbox/outbox-batch.ts';
import type { TelemetryRows, UploadAnswer } from '../platform/device-api.ts';

export interface BatchDeliveryDeps {
  readonly postTelemetry: (rows: TelemetryRows, signal: AbortSignal) => Promise<UploadAnswer>;
  readonly reject: (batch: OutboxBatch, entry: ResolvedEntry, answer: string) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
  readonly random?: () => number;
}

/** So many empty 500s for one batch, and so many for one entry with a good one through in between, before it counts as bad. */
const SILENT_FAILURES = 5;
/** Between two tries of a suspected entry: long enough for a rate limit of a few posts a second to refill. */
const SUSPECT_BACKOFF = { firstMs: 1_000, maxMs: 16_000 };

/** So many entries refused one after the other, and none taken, end a delivery. */
const REFUSED_IN_A_ROW = 3;
/** So many deliveries must refuse an entry before it is bad by itself, when nothing else was taken that could tell. */
const REFUSED_BEFORE_BAD = 5;

type Refusal = Extract<UploadAnswer, { readonly kind: 'refused' | 'too-large' }>;

const ACCEPTED: UploadAnswer = { kind: 'accepted' };

export class BatchDelivery {
  readonly #deps: BatchDeliveryDeps;
  /** Empty 500s in a row for the batch that begins with this entry. */
  #silent = { firstSequence: -1, failures: 0 };

  /** Whether anything was taken in the delivery under way, and what was refused alone. */
  #someTaken = false;
  #suspects: { readonly entry: ResolvedEntry; readonly answer: Refusal }[] = [];
  /** How many deliveries refused an entry while nothing else was taken. */
  readonly #refusals = new Map<number, number>();

  constructor(deps: BatchDeliveryDeps) {
    this.#deps = deps;
  }

  /** `accepted` when every entry was delivered or set aside; otherwise the answer that stopped it, and the batch is to be tried again. */
  async deliver(batch: OutboxBatch, signal: AbortSignal): Promise<UploadAnswer> {
    this.#someTaken = false;
    this.#suspects = [];
    const answer = await this.#deliverPart(batch, batch.entries, signal);
    if (!isSilent(answer)) {
      this.#silent.failures = 0;
      return this.#judgeSuspects(batch, answer);
    }
    const firstSequence = batch.entries.sequences[0] ?? -1;
    this.#silent = { firstSequence, failures: this.#silent.firstSequence === firstSequence ? this.#silent.failures + 1 : 1 };
    if (this.#silent.failures < SILENT_FAILURES) return answer;
    return this.#judgeSuspects(batch, await this.#isolate(batch, batch.entries, undefined, signal));
  }

  async #deliverPart(batch: OutboxBatch, entries: EntryColumns, signal: AbortSignal): Promise<UploadAnswer> {
    const answer = await this.#post(entries, signal);
    if (answer.kind === 'accepted') this.#someTaken = true;
    if (answer.kind !== 'refused' && answer.kind !== 'too-large') return answer;
    const only = entries.at(0);
    if (entries.length === 1 && only !== undefined) {
      this.#suspects.push({ entry: only, answer });
      return !this.#someTaken && this.#suspects.length >= REFUSED_IN_A_ROW ? answer : ACCEPTED;
    }
    for (const half of halves(entries)) {
      const part = await this.#deliverPart(batch, half, signal);
      if (part.kind !== 'accepted') return part;
    }
    return ACCEPTED;
  }

  /** A platform that refuses everything is ill itself; only where it took others, or insists for long, is the entry at fault. */
  async #judgeSuspects(batch: OutboxBatch, answer: UploadAnswer): Promise<UploadAnswer> {
    let undecided: Refusal | undefined;
    for (const { entry, answer: refusal } of this.#suspects) {
      const refusals = (this.#refusals.get(entry.sequence) ?? 0) + 1;
      if (this.#someTaken || refusals >= REFUSED_BEFORE_BAD || isCertain(refusal)) {
        this.#refusals.delete(entry.sequence);
        await this.#setAside(
          batch,
          entry,
          refusal.kind === 'refused' ? `${refusal.status} ${refusal.text}` : `${refusal.status} too large`,
        );
      } else {
        this.#refusals.set(entry.sequence, refusals);
        undecided = refusal;
      }
    }
    if (answer.kind === 'accepted') return undecided ?? answer;
    return answer;
  }

  /** Finds the entry that the platform answers with an empty 500, as long as others go through. */
  async #isolate(batch: OutboxBatch, entries: EntryColumns, witness: EntryColumns | undefined, signal: AbortSignal): Promise<UploadAnswer> {
    if (entries.length === 0) return ACCEPTED;
    if (entries.length === 1) return this.#tryAlone(batch, entries, witness, signal);
    const silentParts: EntryColumns[] = [];
    let silence: UploadAnswer = ACCEPTED;
    let good = witness;
    for (const half of halves(entries)) {
      const answer = await this.#deliverPart(batch, half, signal);
      if (answer.kind === 'accepted') good = half.part(0, 1);
      else if (!isSilent(answer)) return answer;
      else {
        silentParts.push(half);
        silence = answer;
      }
    }
    // Nothing at all goes through: a rate limit or an outage, whatever the entries are.
    if (good === undefined) return silence;
    for (const part of silentParts) {
      const answer = await this.#isolate(batch, part, good, signal);
      if (answer.kind !== 'accepted') return answer;
    }
    return ACCEPTED;
  }

  async #tryAlone(
    batch: OutboxBatch,
    suspect: EntryColumns,
    witness: EntryColumns | undefined,
    signal: AbortSignal,
  ): Promise<UploadAnswer> {
    const { clock, random } = this.#deps;
    const backoff = new Backoff({ ...SUSPECT_BACKOFF, ...(random === undefined ? {} : { random }) });
    for (let failures = 0; failures < SILENT_FAILURES; failures += 1) {
      await clock.sleep(backoff.nextMs(), signal);
      // The suspect first, when a rate limit has most room; then one that is known to be good.
      const answer = await this.#deliverPart(batch, suspect, signal);
      if (!isSilent(answer)) return answer;
      if (witness === undefined) return answer;
      const control = await this.#post(witness, signal);
      if (control.kind !== 'accepted') return control;
    }
    await this.#setAside(batch, suspect.at(0) as ResolvedEntry, '500 without a reason, while other entries were taken');
    return ACCEPTED;
  }

  async #setAside(batch: OutboxBatch, entry: ResolvedEntry, answer: string): Promise<void> {
    this.#deps.log.error({ key: entry.key, ts: entry.ts, answer }, 'the platform refuses this entry; it is kept among the rejected');
    await this.#deps.reject(batch, entry, answer);
  }

  #post(entries: EntryColumns, signal: AbortSignal): Promise<UploadAnswer> {
    return this.#deps.postTelemetry(entries, signal);
  }
}

function halves(entries: EntryColumns): [EntryColumns, EntryColumns] {
  const middle = Math.ceil(entries.length / 2);
  return [entries.part(0, middle), entries.part(middle, entries.length)];
}

/** Too large by itself, or refused here before it was sent: no other server would think otherwise. */
function isCertain(answer: Refusal): boolean {
  return answer.kind === 'too-large' || answer.status === 0;
}

function isSilent(answer: UploadAnswer): boolean {
  return answer.kind === 'busy' && answer.status === 500 && answer.text === '';
}
