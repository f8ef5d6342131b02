/**
 * Entries on their way to the platform and to the disk, in memory. They may leave as soon as they are appended; one that has not arrived within the
 * commit age is written, and with it all before it, under one sync. One that has arrived is written later, as part of the local record, in large
 * blocks. An append resolves when its entries have arrived or are durable. While the disk fails, entries that wait are a bounded ring: sampling
 * goes on, the oldest regular entries give way, and the same blocks are tried again until the disk takes them.
 */
import { AgentError, messageOf, systemCode } from '../../errors/agent-error.ts';
import type { FramedBlock, NumberedBlock } from '../format/block-frame.ts';
import type { EntryClass, TelemetryEntry } from '../format/telemetry-entry.ts';
import type { OutboxPlace } from './outbox-place.ts';
import { closedError, MEMORY_RING_BYTES, settle, type WaitingAppend, WaitingAppends } from './waiting-appends.ts';

interface GroupCommitDeps extends Pick<OutboxPlace, 'clock' | 'log'> {
  readonly builder: {
    /** Makes blocks of at most `largest` entries. */
    number(appended: readonly (readonly TelemetryEntry[])[], largest: number): NumberedBlock[];
    /** Frames blocks, those together that follow each other. */
    frame(blocks: readonly NumberedBlock[], largest: number): FramedBlock[];
  };
  readonly commitAgeMs: number;
  readonly commitEntries: number;
  /** Entries that may wait while the disk fails. */
  readonly memoryEntries: number;
  /** False while the time of what is appended now is not known: it leaves from the disk alone. */
  readonly mayLeave: () => boolean;
  /** Makes blocks durable, but those that give way, which it resolves to; rejects when the disk takes none. `isOldest`: nothing before them waits. */
  readonly write: (blocks: readonly FramedBlock[], isOldest: boolean) => Promise<readonly FramedBlock[]>;
  readonly onCommitted: (blocks: readonly FramedBlock[]) => void;
  /** Something waits that may leave. */
  readonly onLeaving: () => void;
  /** Entries that gave way in memory, and the blocks of those that were in blocks already. */
  readonly onDropped: (count: number, blocks: readonly FramedBlock[]) => void;
}

interface Commit {
  readonly blocks: readonly NumberedBlock[];
  readonly appends: readonly WaitingAppend[];
  readonly entries: number;
  readonly bytes: number;
  /** When the first of it was appended, ms since boot. */
  readonly atMs: number;
  /** All of it has reached the platform. */
  hasArrived: boolean;
  /** Regular entries of it have. */
  hasBegunToArrive: boolean;
  write?: Write;
}

/** Commits that go to the disk together. */
interface Write {
  readonly commits: readonly Commit[];
  readonly blocks: readonly FramedBlock[];
  isUnderWay: boolean;
}

/** The numbers of entries that have reached the platform. */
export interface Arrived {
  /** True when every number of the range has. */
  covers(first: number, last: number): boolean;
  /** True when any has. */
  touches(first: number, last: number): boolean;
}

/** Appends gather before they leave, so that a post carries more than one: this long, or this share of a block's entries. Alarms do not wait. */
const GATHER_MS = 300;
const GATHERED_SHARE = 1 / 4;
/** Entries that have not arrived are written at this size, so that a commit stays a few pages. */
const COMMIT_BYTES = 64 * 1024;
/**
 * Age and size at which entries that have arrived are written: each write costs the file system's journal three blocks, whatever its size. The age is
 * out of step with sensors that are read each whole second: what they said last has arrived by then, too, and the delivery state that is written
 * first need not be written once more for it.
 */
const RECORD_AGE_MS = 5 * 60_000 - 1_000 + 2 * GATHER_MS;
const RECORD_BYTES = 512 * 1024;
/** A disk that takes nothing leaves no more of the record in memory. */
const MAX_RECORD_BYTES = 1024 * 1024;
/** Syncs of neighbouring writes run into each other in the device; a third would only take a thread from everyone else. */
const WRITES_IN_FLIGHT = 2;
/** Those, and one framed meanwhile; entries that come after that make one larger write. */
const FRAMED_WRITES = WRITES_IN_FLIGHT + 1;
/** The sync takes time, too. And two commits of 5 s then fall into one of ext4's journal commits (every 5 s): measured, a fifth less to write. */
const CLOSING_SHARE = 0.96;
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;
/** An outbox that cannot be opened keeps regular entries for so long before they leave without it. */
export const LEAVES_AFTER_MS = 45_000;
/** Commits in memory that have not arrived, while the disk takes nothing and the platform slowly. */
const MAX_COMMITS = 64;

export class GroupCommit {
  readonly #deps: GroupCommitDeps;
  readonly #waiting = new WaitingAppends();
  #waitingSinceMs: number | undefined;
  /** Ascending by their numbers. */
  #commits: Commit[] = [];
  #writes: Write[] = [];
  #isDue = true;
  #timer: { readonly atMs: number; readonly cancel: () => void } | undefined;
  #cancelGathering: (() => void) | undefined;
  #inFlight = 0;
  /** A write failed, and the next try waits for its time. */
  #isRetrying = false;
  #retryMs = FIRST_RETRY_MS;
  #watchers: (() => void)[] = [];
  #flushes = 0;
  /** Why nothing can be written, as the system's code; undefined while all is well. */
  fault: string | undefined;
  readonly #closing = new AbortController();
  #commitAgeMs: number;

  constructor(deps: GroupCommitDeps) {
    this.#deps = deps;
    this.#commitAgeMs = deps.commitAgeMs;
  }

  /** Entries that are neither at the platform nor on the disk. */
  get waitingEntries(): number {
    return this.#commits.reduce((sum, one) => sum + (one.hasArrived ? 0 : one.entries), this.#waiting.entries);
  }

  get waitingBytes(): number {
    return this.#commits.reduce((sum, one) => sum + (one.hasArrived ? 0 : one.bytes), this.#waiting.bytes);
  }

  /** Entries at the platform that are not on the disk. */
  get recordEntries(): number {
    return this.#commits.reduce((sum, one) => sum + (one.hasArrived ? one.entries : 0), 0);
  }

  set commitAgeMs(ms: number) {
    this.#commitAgeMs = ms;
    this.#wakeWhenDue();
  }

  append(entries: readonly TelemetryEntry[]): Promise<void> {
    if (entries.length === 0) return Promise.resolve();
    if (this.#closing.signal.aborted) return Promise.reject(closedError());
    return new Promise((resolve, reject) => {
      const alarm = this.#waiting.add(entries, resolve, reject);
      this.#waitingSinceMs ??= this.#deps.clock.monotonicMs();
      if (alarm || this.#isMuch()) this.#isDue = true;
      this.#boundMemory();
      this.#pump();
      this.#leaveSoon(alarm);
    });
  }

  /** Blocks of one class that have not all arrived and are not on the disk, ascending: appends that have gathered are among them from now on. */
  unwritten(kind: EntryClass): readonly NumberedBlock[] {
    const isAlarm = kind === 'alarm';
    const unarrived = (): readonly Commit[] => this.#commits.filter(({ hasArrived }) => !hasArrived);
    if (unarrived().length < MAX_COMMITS) {
      if (isAlarm) this.#pack(this.#waiting.takeAlarms());
      else if (this.#hasGathered()) this.#packAll();
    }
    return unarrived().flatMap(({ blocks }) => blocks.filter(({ info }) => info.alarm === isAlarm));
  }

  /** All blocks that are not on the disk, ascending. */
  get unwrittenBlocks(): readonly NumberedBlock[] {
    return this.#commits.flatMap(({ blocks }) => blocks);
  }

  /** True of a number that is in memory, and not on the disk. */
  holds(sequence: number): boolean {
    return this.#commits.some(({ blocks }) =>
      blocks.some(({ info }) => info.firstSequence <= sequence && sequence <= info.lastSequence),
    );
  }

  /** Settles appends whose entries all reached the platform; they are written with the record. One that is put back waits again, and is written now. */
  arrived(arrived: Arrived): void {
    for (const commit of this.#commits) {
      const { blocks } = commit;
      commit.hasBegunToArrive ||= blocks.some(
        ({ info }) => !info.alarm && arrived.touches(info.firstSequence, info.lastSequence),
      );
      const had = commit.hasArrived;
      commit.hasArrived = blocks.every(({ info }) => arrived.covers(info.firstSequence, info.lastSequence));
      if (commit.hasArrived && !had) for (const append of commit.appends) append.resolve();
      if (had && !commit.hasArrived) this.#isDue = true;
    }
    this.#boundRecord();
    for (const wake of this.#watchers.splice(0)) wake();
    this.#pump();
  }

  /** The platform is not reached: what has arrived is written, too, as it may have to go again. */
  keepRecord(): void {
    if (this.#commits.every(({ hasArrived, write }) => !hasArrived || write !== undefined)) return;
    this.#isDue = true;
    this.#pump();
  }

  /** Writes all now; resolves when nothing is in memory alone, or on a failing disk when all has arrived: perhaps never. */
  async flush(): Promise<void> {
    this.#flushes += 1;
    while (this.#isMissing && !this.#closing.signal.aborted) {
      this.#isDue = true;
      this.#pump();
      await this.#nextSettled();
    }
    this.#flushes -= 1;
  }

  /** Tries once more to commit all; what the disk does not take within the deadline is refused to its appenders. */
  async close(deadlineMs: number): Promise<void> {
    if (this.#closing.signal.aborted) return;
    const deadline = new AbortController();
    const ended = this.#deps.clock.sleep(deadlineMs, deadline.signal).then(() => true);
    this.#isRetrying = false;
    let isOver = false;
    // With a fault, too, it is tried: the disk may be back, and nobody has asked it since.
    for (let tries = 0; this.#isMissing && !isOver && (this.fault === undefined || tries === 0); tries += 1) {
      this.#isDue = true;
      this.#pump();
      isOver = await Promise.race([ended, this.#nextSettled().then(() => false)]);
    }
    deadline.abort();
    this.#closing.abort();
    this.#timer?.cancel();
    this.#endGathering();
    for (const append of [...this.#commits.flatMap(({ appends }) => appends), ...this.#waiting.takeAll()])
      append.reject(closedError());
    this.#commits = [];
    this.#writes = [];
  }

  /** True while the disk lacks something that it may take. */
  get #isMissing(): boolean {
    return this.fault === undefined ? this.#hasUnwritten : this.waitingEntries > 0;
  }

  get #hasUnwritten(): boolean {
    return this.#waiting.entries > 0 || this.#commits.length > 0;
  }

  #nextSettled(): Promise<void> {
    return new Promise((resolve) => this.#watchers.push(resolve));
  }

  /** True when so much is in memory alone that it is written, whatever its age. */
  #isMuch(): boolean {
    const unwritten = this.#commits.filter(({ write }) => write === undefined);
    let [entries, bytes, record] = [this.#waiting.entries, this.#waiting.bytes, 0];
    for (const commit of unwritten) {
      if (commit.hasArrived) record += commit.bytes;
      else [entries, bytes] = [entries + commit.entries, bytes + commit.bytes];
    }
    return entries >= this.#deps.commitEntries || bytes >= COMMIT_BYTES || record >= RECORD_BYTES;
  }

  /** True when appends may leave: they have waited for others, or are enough. */
  #hasGathered(): boolean {
    const { commitEntries, mayLeave } = this.#deps;
    if (this.#waiting.entries === 0 || !mayLeave()) return false;
    return this.#gathersForMs <= 0 || this.#waiting.entries >= commitEntries * GATHERED_SHARE || this.#flushes > 0;
  }

  /** Until what waits has gathered, ms; below 0 when it has, or nothing waits. */
  get #gathersForMs(): number {
    const sinceMs = this.#waitingSinceMs ?? Number.NEGATIVE_INFINITY;
    return sinceMs + GATHER_MS - this.#deps.clock.monotonicMs();
  }

  /** Tells that something may leave: alarms at once. */
  #leaveSoon(alarm: boolean): void {
    const { clock, mayLeave, onLeaving } = this.#deps;
    if (!mayLeave()) return;
    if (alarm || this.#hasGathered()) onLeaving();
    else
      this.#cancelGathering ??= clock.after(Math.max(0, this.#gathersForMs), () => {
        this.#cancelGathering = undefined;
        onLeaving();
        // Timers may be early, and those that it was set for may have left before, with others gathering since.
        if (this.#gathersForMs > 0) this.#leaveSoon(false);
      });
  }

  #endGathering(): void {
    this.#cancelGathering?.();
    this.#cancelGathering = undefined;
  }

  /** Begins to write what is due, as far ahead as makes sense. */
  #pump(): void {
    if (this.#isDue && this.#hasRoom()) {
      this.#packAll();
      this.#frame();
      this.#isDue = false;
    }
    this.#wakeWhenDue();
    if (this.#isRetrying) return;
    for (const write of this.#writes) {
      if (this.#inFlight >= WRITES_IN_FLIGHT) return;
      if (write.isUnderWay) continue;
      this.#inFlight += 1;
      write.isUnderWay = true;
      this.#deps.write(write.blocks, write === this.#writes[0]).then(
        (refused) => this.#onWritten(write, refused),
        (error: unknown) => this.#onFailed(write, error),
      );
    }
  }

  /** True while more may be framed: writes whose entries have left without the disk make room, and none of it is that of alarms. */
  #hasRoom(): boolean {
    const waiting = this.#writes.filter(({ commits }) => commits.every(({ hasBegunToArrive }) => !hasBegunToArrive));
    return waiting.length < FRAMED_WRITES && this.#writes.length < MAX_COMMITS / 2;
  }

  #packAll(): void {
    this.#pack(this.#waiting.takeAll());
    this.#waitingSinceMs = undefined;
  }

  #pack(appends: readonly WaitingAppend[]): void {
    if (appends.length === 0) return;
    const blocks = this.#deps.builder.number(
      appends.map(({ entries }) => entries),
      this.#deps.commitEntries,
    );
    this.#commits.push({
      blocks,
      appends,
      entries: appends.reduce((sum, { entries }) => sum + entries.length, 0),
      bytes: appends.reduce((sum, { bytes }) => sum + bytes, 0),
      atMs: this.#waitingSinceMs ?? this.#deps.clock.monotonicMs(),
      hasArrived: false,
      hasBegunToArrive: false,
    });
  }

  /** Makes a write of all that is in none. */
  #frame(): void {
    const commits = this.#commits.filter(({ write }) => write === undefined);
    if (commits.length === 0) return;
    // In blocks apart: the age of a block that waits is that of what waits in it.
    const runs: Commit[][] = [];
    for (const commit of commits) {
      const run = runs.at(-1);
      if (run?.[0]?.hasArrived === commit.hasArrived) run.push(commit);
      else runs.push([commit]);
    }
    const blocks = runs.flatMap((run) =>
      this.#deps.builder.frame(
        run.flatMap((commit) => commit.blocks),
        this.#deps.commitEntries,
      ),
    );
    const write: Write = { commits, blocks, isUnderWay: false };
    for (const commit of commits) commit.write = write;
    this.#writes.push(write);
  }

  #dueMs(): number {
    const ageMs = this.#commitAgeMs * CLOSING_SHARE;
    let dueMs = (this.#waitingSinceMs ?? Number.POSITIVE_INFINITY) + ageMs;
    for (const { atMs, hasArrived, write } of this.#commits)
      if (write === undefined) dueMs = Math.min(dueMs, atMs + (hasArrived ? RECORD_AGE_MS : ageMs));
    return dueMs;
  }

  #wakeWhenDue(): void {
    const atMs = this.#isDue ? Number.POSITIVE_INFINITY : this.#dueMs();
    // One that wakes too early looks again.
    if (this.#timer !== undefined && this.#timer.atMs <= atMs && atMs !== Number.POSITIVE_INFINITY) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    if (atMs === Number.POSITIVE_INFINITY) return;
    const { clock } = this.#deps;
    const cancel = clock.after(Math.max(0, atMs - clock.monotonicMs()), () => {
      this.#timer = undefined;
      if (this.#dueMs() <= clock.monotonicMs()) this.#isDue = true;
      this.#pump();
    });
    this.#timer = { atMs, cancel };
  }

  #onWritten(write: Write, refused: readonly FramedBlock[]): void {
    this.#forget(write);
    if (!this.#hasUnwritten) this.#endGathering();
    const written = write.blocks.filter((block) => !refused.includes(block));
    if (written.length > 0) {
      if (this.fault !== undefined) this.#deps.log.info({ code: this.fault }, 'outbox can write again');
      this.fault = undefined;
      this.#retryMs = FIRST_RETRY_MS;
      this.#deps.onCommitted(written);
    }
    if (refused.length > 0) this.#deps.onDropped(countOf(refused), refused);
    for (const append of write.commits.flatMap(({ appends }) => appends))
      settle(append, { isFull: refused.length > 0 });
    this.#settled();
  }

  /** The blocks stay framed, and go again when all that was in flight has ended. */
  #onFailed(write: Write, error: unknown): void {
    write.isUnderWay = false;
    if (!this.#isRetrying) {
      this.#isRetrying = true;
      this.#onFault(error);
    }
    this.#boundRecord();
    this.#settled();
  }

  #forget(write: Write): void {
    this.#writes = this.#writes.filter((other) => other !== write);
    this.#commits = this.#commits.filter((commit) => commit.write !== write);
  }

  /** A write has ended, one way or the other. */
  #settled(): void {
    this.#inFlight -= 1;
    for (const wake of this.#watchers.splice(0)) wake();
    if (this.#isRetrying && this.#inFlight === 0 && !this.#closing.signal.aborted) void this.#retryLater();
    else this.#pump();
  }

  async #retryLater(): Promise<void> {
    await this.#deps.clock.sleep(this.#retryMs, this.#closing.signal);
    this.#retryMs = Math.min(this.#retryMs * 2, MAX_RETRY_MS);
    this.#isRetrying = false;
    this.#pump();
  }

  #onFault(error: unknown): void {
    const code = systemCode(error instanceof AgentError ? error.cause : error) ?? 'unknown';
    if (this.fault !== code)
      this.#deps.log.error({ code, reason: messageOf(error) }, 'outbox cannot write; entries wait in memory');
    this.fault = code;
  }

  #boundMemory(): void {
    const isTooMuch = (): boolean =>
      this.waitingBytes > MEMORY_RING_BYTES || this.waitingEntries > this.#deps.memoryEntries;
    const dropped = this.#waiting.dropWhile(isTooMuch);
    if (dropped > 0) this.#deps.onDropped(dropped, []);
  }

  /** Forgets the oldest of a record that the disk does not take: all of it has arrived. */
  #boundRecord(): void {
    let bytes = this.#commits.reduce((sum, one) => sum + (one.hasArrived ? one.bytes : 0), 0);
    for (const commit of [...this.#commits]) {
      if (bytes <= MAX_RECORD_BYTES) return;
      const { write } = commit;
      const isWhole = write === undefined ? commit.hasArrived : write.commits.every(({ hasArrived }) => hasArrived);
      if (!isWhole || write?.isUnderWay === true) continue;
      const gone = write === undefined ? [commit] : write.commits;
      bytes -= gone.reduce((sum, one) => sum + one.bytes, 0);
      this.#commits = this.#commits.filter((one) => !gone.includes(one));
      this.#writes = this.#writes.filter((one) => one !== write);
    }
  }
}

function countOf(blocks: readonly FramedBlock[]): number {
  return blocks.reduce((sum, block) => sum + block.info.count, 0);
}
