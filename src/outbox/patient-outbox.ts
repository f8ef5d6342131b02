/**
 * The outbox of an agent that does not wait for its disk: opening it is tried at the start, and again and again while the disk refuses. Until then
 * entries wait in the same bounded ring as while an open outbox cannot write, and reading what is on the disk is refused. When it lasts they leave
 * from memory, alarms at once. What has not arrived goes into the outbox, in its order, as soon as there is one.
 */

import { AgentError, messageOf, systemCode } from '../errors/agent-error.ts';
import { Backoff } from '../host/backoff.ts';
import { endedWithin } from '../host/bounded-wait.ts';
import { Listeners } from '../values/listeners.ts';
import type { BatchLimits, Lane, OutboxBatch } from './delivery/outbox-batch.ts';
import { asAppended } from './delivery/rejected-file.ts';
import type { ResolvedEntry } from './format/entry-columns.ts';
import type { TelemetryEntry } from './format/telemetry-entry.ts';
import { MemoryDelivery } from './memory-delivery.ts';
import type { Outbox } from './outbox.ts';
import { type OutboxStatus, statusBeforeOpening } from './outbox-status.ts';
import { LEAVES_AFTER_MS } from './segments/group-commit.ts';
import type { OutboxPlace } from './segments/outbox-place.ts';
import { closedError, type WaitingAppend } from './segments/waiting-appends.ts';
import type { BootTimes, TimeSource } from './times/boot-times.ts';

interface PatientOutboxDeps extends Pick<OutboxPlace, 'clock' | 'log'> {
  /** Entries that may wait in memory; the oldest regular ones give way. */
  readonly memoryEntries: number;
  /** Opens it; what it throws is tried again. */
  readonly open: () => Promise<Outbox>;
  readonly timeSync: Pick<TimeSource, 'isSynchronised'>;
}

/** Code that is reported while the disk has not answered. */
const STUCK = 'ETIMEDOUT';
/** As a commit that the disk does not take. */
const OPEN_AGAIN = { firstMs: 1_000, maxMs: 30_000 };
/** A start does not wait longer for a disk that is stuck: the try goes on by itself. */
const OPEN_WITHIN_MS = 10_000;
/** A stop does not wait longer for a disk that is stuck. */
const CLOSE_DEADLINE_MS = 5_000;

/** Once there is a disk, what is on its way from memory has so long to arrive: no upload takes longer. */
const ARRIVES_WITHIN_MS = 60_000;

const CANNOT_OPEN = 'outbox cannot be opened; entries wait in memory';

export class PatientOutbox {
  readonly #deps: PatientOutboxDeps;
  readonly #memory: MemoryDelivery;
  /** From then on regular entries leave from memory, ms since boot; at a stop at once. */
  #leavesFromMs: number;
  readonly #backoff: Backoff;
  readonly #appended = new Listeners<[]>();
  readonly #opened = Promise.withResolvers<Outbox>();
  readonly #closing = new AbortController();
  #outbox: Outbox | undefined;
  #trying: Promise<void> = Promise.resolve();
  #fault: string = STUCK;
  /** It was not open when the start went on. */
  #isLate = false;
  #isOver = false;
  #cancelMoving = (): void => {};
  #commitAgeMs: number | undefined;

  // Calls that only an open outbox can answer. @throws AgentError `outbox/not-open` (retry).
  readonly read: Outbox['read'] = (query, signal) => this.#expectOpen().read(query, signal);
  readonly readLedger: Outbox['readLedger'] = async (query) => this.#expectOpen().readLedger(query);
  readonly resend: Outbox['resend'] = async (query, signal) => this.#expectOpen().resend(query, signal);
  readonly rejected: Outbox['rejected'] = async () => this.#expectOpen().rejected();
  readonly resendRejected: Outbox['resendRejected'] = async (pick) => this.#expectOpen().resendRejected(pick);
  // Calls that a closed outbox answers as an empty one.
  readonly resendRecent: Outbox['resendRecent'] = (sinceMs) => this.#outbox?.resendRecent(sinceMs);
  readonly keepRecord: Outbox['keepRecord'] = () => this.#outbox?.keepRecord();
  readonly isStillLooking: Outbox['isStillLooking'] = () => this.#outbox?.isStillLooking() ?? false;

  private constructor(deps: PatientOutboxDeps) {
    this.#deps = deps;
    this.#backoff = new Backoff(OPEN_AGAIN, deps.clock);
    this.#memory = new MemoryDelivery(deps);
    this.#leavesFromMs = deps.clock.monotonicMs() + LEAVES_AFTER_MS;
  }

  /** Resolves when it was tried once, or the disk has not answered for a while. Never rejects. */
  static async open(deps: PatientOutboxDeps): Promise<PatientOutbox> {
    const outbox = new PatientOutbox(deps);
    outbox.#trying = outbox.#try();
    await endedWithin(deps.clock, OPEN_WITHIN_MS, outbox.#trying);
    if (outbox.#outbox === undefined) {
      outbox.#isLate = true;
      if (outbox.#fault === STUCK) deps.log.error({ code: STUCK }, CANNOT_OPEN);
      void outbox.#tryUntilOpen();
    }
    return outbox;
  }

  get isOpen(): boolean {
    return this.#outbox !== undefined;
  }

  /** As `Outbox.quarantined`. */
  readonly quarantined: Outbox['quarantined'] = {
    add: (sequence) =>
      MemoryDelivery.hasGiven(sequence)
        ? this.#memory.quarantine(sequence)
        : this.#expectOpen().quarantined.add(sequence),
    putBack: (sequence) =>
      MemoryDelivery.hasGiven(sequence)
        ? this.#memory.putBack(sequence)
        : this.#expectOpen().quarantined.putBack(sequence),
    isWaiting: (sequence) =>
      MemoryDelivery.hasGiven(sequence)
        ? this.#memory.isWaiting(sequence)
        : this.#expectOpen().quarantined.isWaiting(sequence),
  };

  /** As `Outbox.peek`. */
  async peek(lane: Lane, limits: BatchLimits, beyond?: OutboxBatch): Promise<OutboxBatch | undefined> {
    if (this.#outbox !== undefined) return this.#outbox.peek(lane, limits, beyond);
    const leaves = lane === 'alarm' || (lane === 'live' && this.#deps.clock.monotonicMs() >= this.#leavesFromMs);
    return leaves ? this.#memory.peek(lane, limits) : undefined;
  }

  /** As `Outbox.acknowledge`. */
  async acknowledge(batch: OutboxBatch): Promise<void> {
    if (MemoryDelivery.hasGiven(batch.entries.sequences[0])) this.#memory.acknowledge(batch);
    else await this.#expectOpen().acknowledge(batch);
  }

  /** As `Outbox.deadLetter`; without a disk it is dropped. */
  async deadLetter(rows: readonly ResolvedEntry[], answer: string): Promise<void> {
    const [first] = rows;
    if (first === undefined || !this.#isRefused(first)) await this.#expectOpen().deadLetter(rows, answer);
  }

  /** As `Outbox.reject`; without a disk it is dropped. */
  async reject(entry: ResolvedEntry, answer: string): Promise<void> {
    if (!this.#isRefused(entry)) await this.#expectOpen().reject(entry, answer);
  }

  /** As `Outbox.waitsForTime`. */
  waitsForTime(): boolean {
    if (this.#outbox !== undefined) return this.#outbox.waitsForTime();
    return this.#memory.entries > 0 && !this.#deps.timeSync.isSynchronised();
  }

  /** Undefined of one that is not open: nothing of it is due. */
  get deadLetters(): Outbox['deadLetters'] | undefined {
    return this.#outbox?.deadLetters;
  }

  /** @throws as Outbox.append. */
  append(entries: readonly TelemetryEntry[]): Promise<void> {
    if (this.#outbox !== undefined) return this.#outbox.append(entries);
    if (this.#closing.signal.aborted) return Promise.reject(closedError());
    if (entries.length === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      if (this.#memory.add(entries, resolve, reject)) this.#appended.tell();
    });
  }

  /** Appends entries that have their times already, from another outbox. @throws as Outbox.append. */
  appendAgain(entries: Iterable<ResolvedEntry>): Promise<void> {
    return this.append(asAppended([...entries], this.#deps.clock));
  }

  /** By what the clock says now these have their times, though they are appended later. */
  take(moments: Parameters<BootTimes['take']>[0]): void {
    this.#outbox?.times.take(moments);
  }

  /** Resolves when all of it is durable, never while the disk takes nothing. What waits leaves at once. */
  async flush(): Promise<void> {
    this.#leavesFromMs = Number.NEGATIVE_INFINITY;
    await (await this.#opened.promise).flush();
  }

  changeCommitAge(commitAgeMs: number): void {
    this.#commitAgeMs = commitAgeMs;
    this.#outbox?.changeCommitAge(commitAgeMs);
  }

  readonly onAppended = this.#appended.add;

  status(): OutboxStatus {
    if (this.#outbox !== undefined) return withMemory(this.#outbox.status(), this.#memory.entries);
    const timeSynchronised = this.#deps.timeSync.isSynchronised();
    return statusBeforeOpening({
      heldEntries: this.#memory.entries,
      dropped: this.#memory.dropped,
      fault: this.#fault,
      timeSynchronised,
    });
  }

  /** Tries once more to open it for what waits; what the disk does not take is refused to its appenders. Idempotent. */
  async close(): Promise<void> {
    const isFirst = !this.#closing.signal.aborted;
    this.#closing.abort();
    if (isFirst && this.#outbox === undefined) {
      const tried = this.#trying.then(() => (this.#outbox === undefined ? this.#try() : undefined));
      await endedWithin(this.#deps.clock, CLOSE_DEADLINE_MS, tried);
    }
    this.#cancelMoving();
    if (this.#outbox !== undefined) appendTo(this.#outbox, this.#memory.takeGiven());
    await this.#outbox?.close();
    this.#isOver = true;
    for (const append of [...this.#memory.takeGiven(), ...this.#memory.takeWaiting()]) append.reject(closedError());
  }

  async #tryUntilOpen(): Promise<void> {
    const { signal } = this.#closing;
    await this.#trying;
    while (this.#outbox === undefined && !signal.aborted) {
      await this.#deps.clock.sleep(this.#backoff.nextMs(), signal);
      if (signal.aborted) return;
      this.#trying = this.#try();
      await this.#trying;
    }
  }

  async #try(): Promise<void> {
    const { log, open } = this.#deps;
    try {
      const outbox = await open();
      if (this.#isOver) await outbox.close();
      else this.#begin(outbox);
    } catch (error) {
      const fault = faultOf(error);
      if (fault !== this.#fault) log.error({ code: fault, reason: messageOf(error) }, CANNOT_OPEN);
      this.#fault = fault;
    }
  }

  #begin(outbox: Outbox): void {
    if (this.#memory.dropped > 0) outbox.countDropped(this.#memory.dropped);
    if (this.#commitAgeMs !== undefined) outbox.changeCommitAge(this.#commitAgeMs);
    outbox.onAppended(() => this.#appended.tell());
    appendTo(outbox, this.#memory.takeWaiting());
    if (this.#memory.entries > 0)
      this.#cancelMoving = this.#deps.clock.after(ARRIVES_WITHIN_MS, () => appendTo(outbox, this.#memory.takeGiven()));
    if (this.#isLate) this.#deps.log.info({ code: this.#fault }, 'outbox is open');
    this.#outbox = outbox;
    this.#opened.resolve(outbox);
    this.#appended.tell();
  }

  /** True of an entry that was given out from memory: it goes, and is counted. */
  #isRefused({ sequence }: ResolvedEntry): boolean {
    if (!MemoryDelivery.hasGiven(sequence)) return false;
    const before = this.#memory.dropped;
    this.#memory.refuse(sequence);
    this.#outbox?.countDropped(this.#memory.dropped - before);
    return true;
  }

  #expectOpen(): Outbox {
    if (this.#outbox !== undefined) return this.#outbox;
    throw new AgentError('outbox/not-open', `the outbox cannot be opened now: ${this.#fault}`, { recovery: 'retry' });
  }
}

function appendTo(outbox: Outbox, appends: readonly WaitingAppend[]): void {
  for (const { entries, resolve, reject } of appends) outbox.append(entries).then(resolve, reject);
}

function withMemory(status: OutboxStatus, entries: number): OutboxStatus {
  if (entries === 0) return status;
  const { heldEntries, inMemoryEntries } = status;
  return { ...status, heldEntries: heldEntries + entries, inMemoryEntries: inMemoryEntries + entries };
}

/** The system's code, from wherever it lies beneath. */
function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return (
    systemCode(error instanceof AgentError ? undefined : error) ??
    (error.cause === undefined ? 'unknown' : faultOf(error.cause))
  );
}
