/**
 * The dead-letter queue: entries that the platform refuses alone while it takes others. Each is copied here with the answer, so that it keeps no
 * segment alive, and is tried again by itself for a week, at waits that neither restarts nor the wall clock change.
 *
 *   add → 10 min → 1 h → 6 h → daily ─ accepted → acknowledged late
 *                                    └ a week is over, or the queue is full → rejected for good, kept and counted
 */
import { EntryColumns, type ResolvedEntry } from '../format/entry-columns.ts';
import { type DeadLetter, DeadLetterFile, type DeadLetterFileDeps, lineOf } from './dead-letter-file.ts';
import type { DeliveryParts } from './delivery-parts.ts';
import type { OutboxBatch } from './outbox-batch.ts';

interface DeadLettersDeps extends DeadLetterFileDeps, Pick<DeliveryParts, 'clock' | 'log' | 'boots'> {
  /** As they were read at the start; kept up to date here. */
  readonly letters: Map<number, DeadLetter>;
  /** Keeps an entry among the rejected, and counts it. @throws the disk's fault. */
  readonly reject: (entry: ResolvedEntry, answer: string) => Promise<void>;
}

export interface DeadLetterRefusal {
  readonly answer: string;
  /** Others were accepted meanwhile: at the end of its time the refusal is final. */
  readonly othersPass: boolean;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** After the first refusal, after the second, and so on; after all others the last. */
const WAITS_MS = [10 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS, DAY_MS];
/** A short illness of the platform must not delay an alarm. */
const ALARM_WAITS_MS = [MINUTE_MS / 2, MINUTE_MS, 2 * MINUTE_MS, 5 * MINUTE_MS, ...WAITS_MS];
const MAX_AGE_MS = 7 * DAY_MS;
const MAX_LETTERS = 1_000;
const MAX_ANSWER_LENGTH = 500;

export class DeadLetters {
  readonly #deps: DeadLettersDeps;
  readonly #file: DeadLetterFile;
  /** Time at which each letter is due, by the monotonic clock of this boot, and the bytes of its line. */
  readonly #known = new Map<number, { readonly dueAtMs: number; readonly bytes: number }>();
  /** An alarm was given out last. */
  #wasAlarm = false;

  constructor(deps: DeadLettersDeps) {
    this.#deps = deps;
    this.#file = new DeadLetterFile(deps, deps.letters);
    const { clock, boots, letters } = deps;
    for (const letter of letters.values()) {
      const { bootId, ms } = letter.lastRefused;
      this.#keep(letter, clock.monotonicMs() - boots.ranSince(bootId, ms) + waitOf(letter));
    }
  }

  get size(): number {
    return this.#deps.letters.size;
  }

  /** Durable when it resolves. @throws the disk's fault: then it is no dead letter. */
  async add(rows: readonly ResolvedEntry[], answer: string): Promise<void> {
    const { clock, letters, maxBytes } = this.#deps;
    const now = this.#now();
    const said = answer.slice(0, MAX_ANSWER_LENGTH);
    const letter = { rows, answer: said, atMs: clock.wallMs(), firstRefused: now, lastRefused: now, attempts: 1 };
    const { sequence } = entryOf(letter);
    await this.#file.write(sequence, letter);
    this.#keep(letter, now.ms + waitOf(letter));
    while (letters.size > MAX_LETTERS || (letters.size > 1 && this.#bytes > maxBytes))
      if (!(await this.#endOldest())) break;
  }

  /** A letter whose time has come, to be sent by itself; alarms and others take turns. */
  next({ withHistory }: { readonly withHistory: boolean }): OutboxBatch | undefined {
    const nowMs = this.#deps.clock.monotonicMs();
    const due = [...this.#known]
      .filter(([, { dueAtMs }]) => dueAtMs <= nowMs)
      .sort(([, a], [, b]) => a.dueAtMs - b.dueAtMs);
    const found = due
      .flatMap(([sequence]) => this.#deps.letters.get(sequence) ?? [])
      .filter((letter) => withHistory || isAlarm(letter));
    const letter = found.find((one) => isAlarm(one) !== this.#wasAlarm) ?? found[0];
    if (letter === undefined) return undefined;
    this.#wasAlarm = isAlarm(letter);
    const entries = EntryColumns.of(letter.rows);
    const { sequence } = entryOf(letter);
    const lane = this.#wasAlarm ? 'alarm' : 'backlog';
    return { lane, entries, ranges: [[sequence, sequence]], bytes: entries.jsonBytes(), isDeadLetter: true };
  }

  /** It was refused again. Never rejects: what the disk does not take is known in memory. */
  async refused(sequence: number, { answer, othersPass }: DeadLetterRefusal): Promise<void> {
    const { letters, boots } = this.#deps;
    const known = letters.get(sequence);
    if (known === undefined) return;
    const now = this.#now();
    const letter = {
      ...known,
      answer: answer.slice(0, MAX_ANSWER_LENGTH),
      lastRefused: now,
      attempts: known.attempts + 1,
    };
    this.#keep(letter, now.ms + waitOf(letter));
    const ageMs = boots.ranSince(known.firstRefused.bootId, known.firstRefused.ms);
    if (ageMs >= MAX_AGE_MS && othersPass && (await this.#end(letter, 'refused for a week'))) return;
    await this.#note(sequence, letter);
  }

  /** It was accepted: returns its entry, unless it is no letter any more. */
  accepted(sequence: number): EntryColumns | undefined {
    const letter = this.#deps.letters.get(sequence);
    if (letter === undefined) return undefined;
    void this.#forget(sequence);
    return EntryColumns.of(letter.rows);
  }

  /** The platform took what it had refused, so it was at fault: every letter is due at once, and its waits begin anew. */
  hurry(): void {
    const { letters, clock } = this.#deps;
    for (const letter of letters.values()) this.#keep({ ...letter, attempts: 0 }, clock.monotonicMs());
  }

  /** Makes room. False when the disk does not keep it among the rejected. */
  async #endOldest(): Promise<boolean> {
    const [oldest] = this.#deps.letters.values();
    return oldest !== undefined && (await this.#end(oldest, 'the queue is full'));
  }

  /** Rejects it for good. False when the disk does not keep it. */
  async #end(letter: DeadLetter, reason: string): Promise<boolean> {
    const { reject, log } = this.#deps;
    const entry = entryOf(letter);
    try {
      await reject(entry, letter.answer);
    } catch (error) {
      log.warn({ key: entry.key, err: error }, 'a dead letter cannot be kept among the rejected yet');
      return false;
    }
    log.error({ key: entry.key, ts: entry.ts, answer: letter.answer, reason }, 'a dead letter is rejected for good');
    await this.#forget(entry.sequence);
    return true;
  }

  #keep(letter: DeadLetter, dueAtMs: number): void {
    const { sequence } = entryOf(letter);
    this.#deps.letters.set(sequence, letter);
    this.#known.set(sequence, { dueAtMs, bytes: Buffer.byteLength(lineOf(sequence, letter)) });
  }

  get #bytes(): number {
    return [...this.#known.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  #forget(sequence: number): Promise<void> {
    this.#deps.letters.delete(sequence);
    this.#known.delete(sequence);
    return this.#note(sequence);
  }

  #note(sequence: number, letter?: DeadLetter): Promise<void> {
    const failed = (error: unknown): void =>
      this.#deps.log.warn({ err: error }, 'the dead-letter queue cannot be written yet');
    return this.#file.write(sequence, letter).catch(failed);
  }

  #now(): DeadLetter['lastRefused'] {
    const { clock } = this.#deps;
    return { bootId: clock.bootId, ms: clock.monotonicMs() };
  }
}

function entryOf({ rows }: DeadLetter): ResolvedEntry {
  return rows[0] as ResolvedEntry;
}

function isAlarm(letter: DeadLetter): boolean {
  return entryOf(letter).class === 'alarm';
}

function waitOf(letter: DeadLetter): number {
  const waits = isAlarm(letter) ? ALARM_WAITS_MS : WAITS_MS;
  return waits[Math.min(Math.max(0, letter.attempts - 1), waits.length - 1)] as number;
}
