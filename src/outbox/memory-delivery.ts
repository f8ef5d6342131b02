/**
 * Delivery of entries that have never been on a disk, while none can be opened: given out from memory, and settled by the platform's word alone.
 * They have numbers of their own, below all that an outbox on a disk gives: no delivered state ever knows of them. What has not arrived when
 * there is a disk goes there, with the time that it was given out with.
 */
import { AgentError } from '../errors/agent-error.ts';
import { type Clock, wallOffsetMs } from '../host/clock.ts';
import type { BatchLimits, Lane, OutboxBatch } from './delivery/outbox-batch.ts';
import { asAppended } from './delivery/rejected-file.ts';
import { SequenceRanges } from './delivery/sequence-ranges.ts';
import { EntryColumns, type ResolvedEntry } from './format/entry-columns.ts';
import type { TelemetryEntry } from './format/telemetry-entry.ts';
import { MEMORY_RING_BYTES, type WaitingAppend, WaitingAppends } from './segments/waiting-appends.ts';
import { hasOwnTime, nameOf } from './times/block-builder.ts';
import type { TimeSource } from './times/boot-times.ts';
import { EntrySpacing } from './times/entry-spacing.ts';

interface MemoryDeliveryDeps {
  readonly clock: Clock;
  readonly timeSync: Pick<TimeSource, 'isSynchronised'>;
  /** Entries that may wait; the oldest regular ones give way. */
  readonly memoryEntries: number;
}

/** Given out, and not yet known to have arrived. */
interface GivenAppend {
  readonly append: WaitingAppend;
  rows: readonly ResolvedEntry[];
}

/** The first number: of all that follow, none is ever positive. */
const FIRST_SEQUENCE = Number.MIN_SAFE_INTEGER;

export class MemoryDelivery {
  readonly #deps: MemoryDeliveryDeps;
  readonly #waiting = new WaitingAppends();
  readonly #spacing = new EntrySpacing();
  readonly #quarantined = new SequenceRanges();
  #given: GivenAppend[] = [];
  #nextSequence = FIRST_SEQUENCE;
  /** Entries that gave way, or that the platform refused. */
  dropped = 0;

  constructor(deps: MemoryDeliveryDeps) {
    this.#deps = deps;
  }

  /** True of a number that this class gave. */
  static hasGiven(sequence: number | undefined): boolean {
    return sequence !== undefined && sequence < 0;
  }

  get entries(): number {
    return this.#waiting.entries + this.#given.reduce((sum, { rows }) => sum + rows.length, 0);
  }

  /** Resolves when they are on a disk, or have arrived without one. Tells whether there is an alarm. */
  add(entries: readonly TelemetryEntry[], resolve: () => void, reject: (error: AgentError) => void): boolean {
    const alarm = this.#waiting.add(entries, resolve, reject);
    const givenBytes = this.#given.reduce((sum, { append }) => sum + append.bytes, 0);
    this.dropped += this.#waiting.dropWhile(
      () => this.#waiting.bytes + givenBytes > MEMORY_RING_BYTES || this.entries > this.#deps.memoryEntries,
    );
    return alarm;
  }

  /** As `Outbox.peek`; nothing whose time is not known to be right. */
  peek(lane: Exclude<Lane, 'backlog'>, { maxEntries, maxBytes }: BatchLimits): OutboxBatch | undefined {
    let rows = this.#waitingRows(lane);
    if (rows.length === 0) {
      const offsetMs = this.#deps.timeSync.isSynchronised() ? wallOffsetMs(this.#deps.clock) : undefined;
      let [count, bytes] = [0, 0];
      const taken = this.#waiting.takeWhile((part) => {
        if (
          part.alarm !== (lane === 'alarm') ||
          !part.entries.every((entry) => this.#timeOf(entry, offsetMs) !== undefined)
        )
          return false;
        const isFull = count > 0 && (count + part.entries.length > maxEntries || bytes + part.bytes > maxBytes);
        count += part.entries.length;
        bytes += part.bytes;
        return isFull ? 'full' : true;
      });
      for (const append of taken)
        this.#given.push({ append, rows: append.entries.map((entry) => this.#give(entry, offsetMs)) });
      rows = this.#waitingRows(lane);
    }
    if (rows.length === 0) return undefined;
    const entries = EntryColumns.of(rows);
    const ranges = new SequenceRanges(rows.map(({ sequence }) => [sequence, sequence]));
    return { lane, entries, ranges: ranges.list(), bytes: entries.jsonBytes() };
  }

  /** The batch arrived. */
  acknowledge({ ranges }: OutboxBatch): void {
    const arrived = new SequenceRanges(ranges);
    this.#settle(
      (sequence) => arrived.has(sequence),
      (append) => append.resolve(),
    );
  }

  /** The platform refuses this entry, and there is no disk to keep it on. */
  refuse(sequence: number): void {
    if (!this.isWaiting(sequence)) return;
    this.dropped += 1;
    this.#settle(
      (other) => other === sequence,
      (append) =>
        append.reject(
          new AgentError('outbox/dropped', 'the platform refuses an entry, and no disk takes it', { recovery: 'drop' }),
        ),
    );
  }

  quarantine(sequence: number): void {
    this.#quarantined.add(sequence, sequence);
  }

  putBack(sequence: number): void {
    this.#quarantined.remove(sequence, sequence);
  }

  isWaiting(sequence: number): boolean {
    return this.#given.some(({ rows }) => rows.some((row) => row.sequence === sequence));
  }

  /** Takes all that was never given out: for a disk, or for nobody. */
  takeWaiting(): readonly WaitingAppend[] {
    return this.#waiting.takeAll();
  }

  /** Takes what was given out and has not arrived, with the times that it had. */
  takeGiven(): readonly WaitingAppend[] {
    const given = this.#given;
    this.#given = [];
    return given.map(({ append, rows }) => ({ ...append, entries: asAppended(rows, this.#deps.clock) }));
  }

  #waitingRows(lane: Lane): readonly ResolvedEntry[] {
    return this.#given
      .filter(({ append }) => append.alarm === (lane === 'alarm'))
      .flatMap(({ rows }) => rows.filter(({ sequence }) => !this.#quarantined.has(sequence)));
  }

  /** UTC epoch ms; undefined while it is not known. */
  #timeOf(entry: TelemetryEntry, offsetMs: number | undefined): number | undefined {
    if (hasOwnTime(entry)) return Math.floor(entry.takenAtMs as number);
    const isKnown = offsetMs !== undefined && entry.bootId === this.#deps.clock.bootId;
    return isKnown ? Math.floor(entry.monotonicMs) + offsetMs : undefined;
  }

  #give(entry: TelemetryEntry, offsetMs: number | undefined): ResolvedEntry {
    const { device, key, value } = entry;
    const ms = this.#timeOf(entry, offsetMs) as number;
    const ts = entry.isAgain === true ? ms : this.#spacing.placeOwn(nameOf(device, key), ms);
    const sequence = this.#nextSequence;
    this.#nextSequence += 1;
    return { sequence, device, key, value, ts, class: entry.class };
  }

  /** Lets go of rows; an append of which none is left ends. */
  #settle(isOver: (sequence: number) => boolean, end: (append: WaitingAppend) => void): void {
    for (const given of this.#given) {
      given.rows = given.rows.filter(({ sequence }) => !isOver(sequence));
      if (given.rows.length === 0) end(given.append);
    }
    this.#given = this.#given.filter(({ rows }) => rows.length > 0);
  }
}
