/**
 * Entries that the platform refused by themselves. They stand aside, so that others go on, and are tried again one at a time. An entry is at
 * fault only when it was refused at three contacts, ten minutes apart, and other entries that were waiting were taken right after each of them:
 * a platform that refuses everything, or now this and now that, is itself at fault. In memory only; a restart begins anew.
 *
 *   refused alone → aside ─ next post taken → counts ─ the third time → rejected
 *                     │   └ next post failed → counts for nothing, tried again as soon as something is taken
 *                     └ taken at last → nobody's refusals count: the platform was at fault; the second in a row → all go back to their lanes
 */
import { endedWithin } from '../../host/bounded-wait.ts';
import type { Clock } from '../../host/clock.ts';
import type { Log } from '../../host/log.ts';
import type { Outbox, OutboxBatch, ResolvedEntry } from '../../outbox/outbox.ts';
import type { DueOptions } from './unanswered.ts';

export interface SuspectsDeps {
  readonly outbox: Pick<Outbox, 'aside' | 'reject'>;
  readonly clock: Clock;
  readonly log: Log;
}

const REFUSALS_NEEDED = 3;
/** Between two refusals that count. */
const APART_MS = 600_000;
/** A suspect is tried again after this, and then half as often each time; a short illness delays an alarm no longer. */
const FIRST_RETRY_MS = 30_000;
/** Between two suspects, while they are refused: they must not take the posts of the others. */
const ASK_EVERY_MS = 10_000;
/** More are not kept aside: of those that were refused most often the oldest goes undelivered. */
const MAX_SUSPECTS = 1_000;
/** Nor longer than this. */
const MAX_AGE_MS = 24 * 3_600_000;
/** While the disk hangs, the delivery of all others goes on. */
const KEPT_WITHIN_MS = 5_000;

interface Suspect {
  readonly isAlarm: boolean;
  readonly sinceMs: number;
  refusals: number;
  /** Of the last refusal that counts. */
  countedAtMs: number;
  tries: number;
  nextAtMs: number;
}

export interface Refusal {
  readonly entry: ResolvedEntry;
  /** The platform's words. */
  readonly answer: string;
  /** Whether it says anything about the entry. */
  readonly counts: boolean;
}

export class Suspects {
  readonly #deps: SuspectsDeps;
  /** Refused for good, by sequence: what a disk has not answered yet is not asked of it again. */
  readonly #rejecting = new Map<number, Promise<void>>();
  /** By sequence, the oldest suspect first. */
  readonly #all = new Map<number, Suspect>();
  /** The last refusal, until it is known what becomes of others. */
  #undecided: (Refusal & { readonly atMs: number }) | undefined;
  /** Refused while nothing else was taken. */
  readonly #inVain = new Set<number>();
  /** Others were taken since a suspect was last asked for. */
  #othersTaken = false;
  /** The one that was asked for last. */
  #wasAlarm = false;
  /** What was refused last has been taken since. */
  #isWellAgain = false;
  #askNotBeforeMs = Number.NEGATIVE_INFINITY;

  constructor(deps: SuspectsDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#all.size;
  }

  has(sequence: number): boolean {
    return this.#all.has(sequence);
  }

  /** An entry was refused by itself. */
  refused(refusal: Refusal): void {
    const { sequence } = refusal.entry;
    this.#isWellAgain = false;
    if (this.#undecided?.entry.sequence !== sequence) this.failed();
    const atMs = this.#deps.clock.monotonicMs();
    const isAlarm = refusal.entry.class === 'alarm';
    const fresh = { isAlarm, sinceMs: atMs, refusals: 0, countedAtMs: Number.NEGATIVE_INFINITY, tries: 0, nextAtMs: 0 };
    const known = this.#all.get(sequence) ?? fresh;
    if (known.tries > 0) this.#askNotBeforeMs = atMs + ASK_EVERY_MS;
    const nextAtMs = atMs + Math.min(APART_MS, FIRST_RETRY_MS * 2 ** known.tries);
    const countsAtMs = known.countedAtMs + APART_MS;
    this.#all.set(sequence, { ...known, tries: known.tries + 1, nextAtMs: countsAtMs > atMs ? Math.min(nextAtMs, countsAtMs) : nextAtMs });
    this.#inVain.delete(sequence);
    this.#deps.outbox.aside.add(sequence);
    this.#undecided = { ...refusal, atMs };
  }

  /** What can never be sent. False while the disk does not keep all of it: then the rest of it stands aside, and is tried again by itself. */
  async keep(refused: readonly Omit<Refusal, 'counts'>[]): Promise<boolean> {
    const left = [...refused];
    while (left[0] !== undefined && (await this.#isKept(left[0].entry, left[0].answer))) {
      this.#all.delete(left[0].entry.sequence);
      left.shift();
    }
    for (const refusal of left) this.refused({ ...refusal, counts: false });
    return left.length === 0;
  }

  /** Something else was not taken either: the last refusal tells nothing, and is tried again as soon as something is taken. */
  failed(): void {
    const sequence = this.#undecided?.entry.sequence;
    if (sequence === undefined) return;
    this.#undecided = undefined;
    if (this.#all.size > MAX_SUSPECTS) {
      this.#all.delete(sequence);
      this.#deps.outbox.aside.putBack(sequence);
    } else this.#inVain.add(sequence);
  }

  /** What was refused was taken after all: the platform was at fault, and so it may have been with the others. */
  absolve(): void {
    for (const suspect of this.#all.values()) suspect.refusals = 0;
    this.failed();
  }

  /** A batch was taken. */
  async taken({ ranges }: OutboxBatch): Promise<void> {
    if (this.#all.size === 0) return;
    const wereSuspects = [...this.#all.keys()].filter((sequence) => ranges.some(([first, last]) => first <= sequence && sequence <= last));
    for (const sequence of wereSuspects) this.#all.delete(sequence);
    if (wereSuspects.length > 0) this.#takenAtLast();
    else this.#othersTaken = true;
    const nowMs = this.#deps.clock.monotonicMs();
    for (const sequence of this.#inVain) {
      const suspect = this.#all.get(sequence);
      if (suspect !== undefined) suspect.nextAtMs = nowMs;
    }
    this.#inVain.clear();
    const undecided = this.#undecided;
    this.#undecided = undefined;
    if (undecided !== undefined) await this.#count(undecided, nowMs);
  }

  /** A suspect whose turn it is, after others had theirs; when there are no others, those refused in vain need not wait. */
  async due({ nothingElse, withHistory }: DueOptions): Promise<OutboxBatch | undefined> {
    const nowMs = this.#deps.clock.monotonicMs();
    if (!nothingElse && (!this.#othersTaken || nowMs < this.#askNotBeforeMs)) return undefined;
    for (;;) {
      // What is no alarm is history by the time it is tried again.
      const mayGo = (sequence: number): boolean => withHistory || this.#all.get(sequence)?.isAlarm !== false;
      const [inVain] = nothingElse ? [...this.#inVain].filter(mayGo) : [];
      const sequence = this.#firstDue(nowMs, mayGo) ?? inVain;
      if (sequence === undefined) return undefined;
      const batch = await this.#deps.outbox.aside.peek(sequence);
      // It keeps its turn, and what is known of it.
      if (batch === 'not-now') return undefined;
      const wasInVain = this.#inVain.delete(sequence);
      if (batch === 'unreadable') {
        const suspect = this.#all.get(sequence);
        if (suspect !== undefined) suspect.nextAtMs = nowMs + FIRST_RETRY_MS;
        continue;
      }
      this.#othersTaken = false;
      if (batch !== undefined) {
        // Each in its turn.
        if (wasInVain) this.#inVain.add(sequence);
        return batch;
      }
      // Delivered, dropped or damaged: if it still waits, its lane has it.
      this.#all.delete(sequence);
      this.#deps.outbox.aside.putBack(sequence);
    }
  }

  /** One by one they would cost a post each, of a platform that takes all of them again. */
  #takenAtLast(): void {
    this.absolve();
    if (this.#isWellAgain) {
      for (const sequence of this.#all.keys()) this.#deps.outbox.aside.putBack(sequence);
      this.#all.clear();
    }
    this.#isWellAgain = true;
  }

  /** Whose time came first, of alarms and of others in turns: what is bad for good, and is due again and again, holds up nothing that is not. */
  #firstDue(nowMs: number, mayGo: (sequence: number) => boolean): number | undefined {
    const due = [...this.#all].filter(([sequence, { nextAtMs }]) => nextAtMs <= nowMs && mayGo(sequence));
    const isFirst = ({ isAlarm }: Suspect): boolean => isAlarm !== this.#wasAlarm;
    const [first] = due.sort(([, a], [, b]) => Number(isFirst(b)) - Number(isFirst(a)) || a.nextAtMs - b.nextAtMs);
    if (first !== undefined) this.#wasAlarm = first[1].isAlarm;
    return first?.[0];
  }

  async #count({ entry, answer, atMs, counts }: Refusal & { readonly atMs: number }, nowMs: number): Promise<void> {
    const suspect = this.#all.get(entry.sequence);
    if (suspect === undefined) return;
    if (counts && atMs - suspect.countedAtMs >= APART_MS) {
      suspect.refusals += 1;
      suspect.countedAtMs = atMs;
    }
    if (suspect.refusals >= REFUSALS_NEEDED && (await this.#reject(entry, answer))) return;
    if (nowMs - suspect.sinceMs >= MAX_AGE_MS) this.#giveUp(entry.sequence);
    if (this.#all.size <= MAX_SUSPECTS) return;
    const [worst] = [...this.#all].sort(([, a], [, b]) => b.refusals - a.refusals);
    if (worst !== undefined) this.#giveUp(worst[0]);
  }

  async #reject(entry: ResolvedEntry, answer: string): Promise<boolean> {
    if (!(await this.#isKept(entry, answer))) return false;
    this.#all.delete(entry.sequence);
    this.#deps.log.error({ key: entry.key, ts: entry.ts, answer }, 'the platform refuses this entry; it is kept among the rejected');
    return true;
  }

  /** Whether the entry is kept among the rejected; if not, it waits as before, and may be kept yet when the disk answers. Never rejects. */
  async #isKept(entry: ResolvedEntry, answer: string): Promise<boolean> {
    const { outbox, clock, log } = this.#deps;
    const { sequence, key } = entry;
    const work = this.#rejecting.get(sequence) ?? outbox.reject(entry, answer).finally(() => this.#rejecting.delete(sequence));
    this.#rejecting.set(sequence, work);
    let isKept = false;
    const told = work.then(
      () => {
        isKept = true;
      },
      (error: unknown) => log.warn({ key, err: error }, 'what is refused cannot be written down yet; it waits'),
    );
    await endedWithin(clock, KEPT_WITHIN_MS, told);
    return isKept;
  }

  #giveUp(sequence: number): void {
    this.#all.delete(sequence);
    this.#deps.outbox.aside.giveUp(sequence);
    this.#deps.log.error({ sequence }, 'an entry that the platform refuses stood aside for too long; it goes undelivered');
  }
}
