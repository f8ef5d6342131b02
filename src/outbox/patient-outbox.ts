/**
 * The outbox of an agent that does not wait for its disk: opening it is tried at the start, and again and again while the disk refuses. Until then
 * entries wait in the same bounded ring as while an open outbox cannot write, nothing is given out, and reading what is on the disk is refused. What
 * waited goes into the outbox, in its order, as soon as there is one.
 */

import { AgentError, messageOf, systemCode } from '../errors/agent-error.ts';
import { Backoff } from '../host/backoff.ts';
import { endedWithin } from '../host/bounded-wait.ts';
import { Listeners } from '../host/listeners.ts';
import { asAppended } from './delivery/rejected-file.ts';
import type { ResolvedEntry } from './format/entry-columns.ts';
import type { TelemetryEntry } from './format/telemetry-entry.ts';
import type { Outbox } from './outbox.ts';
import { type OutboxStatus, statusBeforeOpening } from './outbox-status.ts';
import type { OutboxPlace } from './segments/outbox-place.ts';
import { closedError, MEMORY_RING_BYTES, WaitingAppends } from './segments/waiting-appends.ts';
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

const CANNOT_OPEN = 'outbox cannot be opened; entries wait in memory';

export class PatientOutbox {
  readonly #deps: PatientOutboxDeps;
  readonly #waiting = new WaitingAppends();
  readonly #backoff: Backoff;
  readonly #appended = new Listeners<[]>();
  readonly #opened = Promise.withResolvers<Outbox>();
  readonly #closing = new AbortController();
  #outbox: Outbox | undefined;
  #trying: Promise<void> = Promise.resolve();
  #fault: string = STUCK;
  #dropped = 0;
  /** It was not open when the start went on. */
  #isLate = false;
  #isOver = false;
  #commitAgeMs: number | undefined;

  // Calls that only an open outbox can answer. @throws AgentError `outbox/not-open` (retry).
  readonly acknowledge: Outbox['acknowledge'] = (batch) => this.#expectOpen().acknowledge(batch);
  readonly deadLetter: Outbox['deadLetter'] = (rows, answer) => this.#expectOpen().deadLetter(rows, answer);
  readonly reject: Outbox['reject'] = (entry, answer) => this.#expectOpen().reject(entry, answer);
  readonly read: Outbox['read'] = (query, signal) => this.#expectOpen().read(query, signal);
  readonly readLedger: Outbox['readLedger'] = async (query) => this.#expectOpen().readLedger(query);
  readonly resend: Outbox['resend'] = async (query, signal) => this.#expectOpen().resend(query, signal);
  readonly rejected: Outbox['rejected'] = async () => this.#expectOpen().rejected();
  readonly resendRejected: Outbox['resendRejected'] = async (pick) => this.#expectOpen().resendRejected(pick);
  // Calls that a closed outbox answers as an empty one.
  readonly resendRecent: Outbox['resendRecent'] = (sinceMs) => this.#outbox?.resendRecent(sinceMs);
  readonly peek: Outbox['peek'] = async (...look) => this.#outbox?.peek(...look);
  readonly isStillLooking: Outbox['isStillLooking'] = () => this.#outbox?.isStillLooking() ?? false;
  readonly waitsForTime: Outbox['waitsForTime'] = () => this.#outbox?.waitsForTime() ?? false;

  private constructor(deps: PatientOutboxDeps) {
    this.#deps = deps;
    this.#backoff = new Backoff(OPEN_AGAIN, deps.clock);
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

  /** Entries that failed by themselves: known only of what was given out. */
  get quarantined(): Outbox['quarantined'] {
    return this.#expectOpen().quarantined;
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
      this.#waiting.add(entries, resolve, reject);
      this.#boundMemory();
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

  /** Resolves when all of it is durable, never while the disk takes nothing. */
  async flush(): Promise<void> {
    await (await this.#opened.promise).flush();
  }

  changeCommitAge(commitAgeMs: number): void {
    this.#commitAgeMs = commitAgeMs;
    this.#outbox?.changeCommitAge(commitAgeMs);
  }

  readonly onAppended = this.#appended.add;

  status(): OutboxStatus {
    if (this.#outbox !== undefined) return this.#outbox.status();
    const timeSynchronised = this.#deps.timeSync.isSynchronised();
    return statusBeforeOpening({
      heldEntries: this.#waiting.entries,
      dropped: this.#dropped,
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
    await this.#outbox?.close();
    this.#isOver = true;
    for (const append of this.#waiting.takeAll()) append.reject(closedError());
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
    if (this.#dropped > 0) outbox.countDropped(this.#dropped);
    if (this.#commitAgeMs !== undefined) outbox.changeCommitAge(this.#commitAgeMs);
    outbox.onAppended(() => this.#appended.tell());
    for (const { entries, resolve, reject } of this.#waiting.takeAll()) outbox.append(entries).then(resolve, reject);
    if (this.#isLate) this.#deps.log.info({ code: this.#fault }, 'outbox is open');
    this.#outbox = outbox;
    this.#opened.resolve(outbox);
    this.#appended.tell();
  }

  #boundMemory(): void {
    const { memoryEntries } = this.#deps;
    this.#dropped += this.#waiting.dropWhile(
      () => this.#waiting.bytes > MEMORY_RING_BYTES || this.#waiting.entries > memoryEntries,
    );
  }

  #expectOpen(): Outbox {
    if (this.#outbox !== undefined) return this.#outbox;
    throw new AgentError('outbox/not-open', `the outbox cannot be opened now: ${this.#fault}`, { recovery: 'retry' });
  }
}

/** The system's code, from wherever it lies beneath. */
function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return (
    systemCode(error instanceof AgentError ? undefined : error) ??
    (error.cause === undefined ? 'unknown' : faultOf(error.cause))
  );
}
