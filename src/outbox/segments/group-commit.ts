/**
 * Many appends, one sync. Entries wait in memory until their block closes (age, count, bytes, an alarm, the first of a start),
 * and each `append` resolves when its block is synced. While the disk fails, what waits is a bounded ring: sampling goes
 * on, the oldest regular entries give way, and the same commit is tried again until the disk takes it.
 */
import { AgentError, messageOf, systemCode } from '../../errors/agent-error.ts';
import type { FramedBlock } from '../format/block-frame.ts';
import type { EntryClass, TelemetryEntry } from '../format/telemetry-entry.ts';
import type { OutboxPlace } from './outbox-place.ts';
import { closedError, MEMORY_RING_BYTES, settle, type WaitingAppend, WaitingAppends } from './waiting-appends.ts';

interface GroupCommitDeps extends Pick<OutboxPlace, 'clock' | 'log'> {
  /** Makes blocks of at most `largest` entries. */
  readonly builder: { build(appended: readonly (readonly TelemetryEntry[])[], largest: number): FramedBlock[] };
  readonly commitAgeMs: number;
  readonly commitEntries: number;
  /** Entries that may wait while the disk fails. */
  readonly memoryEntries: number;
  /** Makes blocks durable, but those that give way, which it resolves to; rejects when the disk takes none. `isOldest`: nothing before them waits. */
  readonly write: (blocks: readonly FramedBlock[], isOldest: boolean) => Promise<readonly FramedBlock[]>;
  readonly onCommitted: (blocks: readonly FramedBlock[]) => void;
  /** Entries that gave way in memory, and the blocks of those that were in blocks already. */
  readonly onDropped: (count: number, blocks: readonly FramedBlock[]) => void;
}

interface Commit {
  readonly blocks: readonly FramedBlock[];
  readonly appends: readonly WaitingAppend[];
  readonly bytes: number;
  isWriting: boolean;
  /** Regular entries of it have reached the platform without the disk. */
  hasBegunToArrive: boolean;
}

/** The numbers of entries that have reached the platform. */
export interface Arrived {
  /** True when every number of the range has. */
  covers(first: number, last: number): boolean;
  /** True when any has. */
  touches(first: number, last: number): boolean;
}

/** A block closes at this size, so that a commit stays a few pages. */
const COMMIT_BYTES = 64 * 1024;
/** Syncs of neighbouring commits run into each other in the device; a third would only take a thread from everyone else. */
const COMMITS_IN_FLIGHT = 2;
/** Those, and one packed meanwhile; what comes after that waits unpacked and makes one larger block. */
const PACKED_COMMITS = COMMITS_IN_FLIGHT + 1;
/** The sync takes time, too. And two commits of 5 s then fall into one of ext4's journal commits (every 5 s): measured, a fifth less to write. */
const CLOSING_SHARE = 0.96;
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;
/** A disk that has not taken a commit for so long may never do so. Alarms do not wait for that, and at a stop nothing does. */
const STUCK_AFTER_MS = 5_000;
/** All else leaves without a disk that takes nothing for so long. */
export const LEAVES_AFTER_MS = 45_000;
/** Commits that wait for a disk which takes nothing, while more alarms come. */
const MAX_PACKED = 64;

export class GroupCommit {
  readonly #deps: GroupCommitDeps;
  readonly #waiting = new WaitingAppends();
  #packed: Commit[] = [];
  #packedBytes = 0;
  #due = true;
  #cancelTimer: (() => void) | undefined;
  #inFlight = 0;
  /** A write failed, and the next try waits for its time. */
  #isRetrying = false;
  #retryMs = FIRST_RETRY_MS;
  #watchers: (() => void)[] = [];
  /** Since when commits wait of which the disk has taken none, ms since boot. */
  #stuckSinceMs: number | undefined;
  #flushes = 0;
  /** Why nothing can be written, as the system's code; undefined while all is well. */
  fault: string | undefined;
  readonly #closing = new AbortController();
  commitAgeMs: number;

  constructor(deps: GroupCommitDeps) {
    this.#deps = deps;
    this.commitAgeMs = deps.commitAgeMs;
  }

  get waitingEntries(): number {
    return this.#waiting.entries + this.#packed.reduce((sum, commit) => sum + countOf(commit.blocks), 0);
  }

  get waitingBytes(): number {
    return this.#waiting.bytes + this.#packedBytes;
  }

  append(entries: readonly TelemetryEntry[]): Promise<void> {
    if (entries.length === 0) return Promise.resolve();
    if (this.#closing.signal.aborted) return Promise.reject(closedError());
    return new Promise((resolve, reject) => {
      const alarm = this.#waiting.add(entries, resolve, reject);
      if (alarm || this.#waiting.entries >= this.#deps.commitEntries || this.#waiting.bytes >= COMMIT_BYTES)
        this.#due = true;
      this.#boundMemory();
      if (this.#due) this.#pump();
      else
        this.#cancelTimer ??= this.#deps.clock.after(this.commitAgeMs * CLOSING_SHARE, () => {
          this.#due = true;
          this.#pump();
        });
    });
  }

  /** Blocks that a disk which is stuck, or fails, does not take: alarms soon, regular ones when it lasts, or at a stop. */
  stuckBlocks(kind: EntryClass): readonly FramedBlock[] {
    const stuckMs = this.#deps.clock.monotonicMs() - (this.#stuckSinceMs ?? Number.POSITIVE_INFINITY);
    const isAlarm = kind === 'alarm';
    if (stuckMs < (isAlarm || this.#flushes > 0 ? STUCK_AFTER_MS : LEAVES_AFTER_MS)) return [];
    if (isAlarm && this.#packed.length < MAX_PACKED) this.#pack(this.#waiting.takeAlarms());
    return this.#packed.flatMap(({ blocks }) => blocks.filter(({ info }) => info.alarm === isAlarm));
  }

  /** Settles commits whose entries all reached the platform without the disk, and packs what waits behind them. */
  arrived(arrived: Arrived): void {
    for (const commit of this.#packed) {
      const { blocks } = commit;
      commit.hasBegunToArrive ||= blocks.some(
        ({ info }) => !info.alarm && arrived.touches(info.firstSequence, info.lastSequence),
      );
      if (commit.isWriting || !blocks.every(({ info }) => arrived.covers(info.firstSequence, info.lastSequence)))
        continue;
      this.#unpack(commit);
      for (const append of commit.appends) append.resolve();
    }
    for (const wake of this.#watchers.splice(0)) wake();
    this.#pump();
  }

  /** Closes the open block now; resolves when nothing waits any more: on a failing disk, perhaps never. */
  async flush(): Promise<void> {
    this.#flushes += 1;
    while (this.waitingEntries > 0 && !this.#closing.signal.aborted) {
      this.#due = true;
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
    for (let tries = 0; this.waitingEntries > 0 && !isOver && (this.fault === undefined || tries === 0); tries += 1) {
      this.#due = true;
      this.#pump();
      isOver = await Promise.race([ended, this.#nextSettled().then(() => false)]);
    }
    deadline.abort();
    this.#closing.abort();
    this.#cancelTimer?.();
    for (const append of [...this.#packed.flatMap((commit) => commit.appends), ...this.#waiting.takeAll()])
      append.reject(closedError());
    this.#packed = [];
  }

  #nextSettled(): Promise<void> {
    return new Promise((resolve) => this.#watchers.push(resolve));
  }

  /** Packs what is due, as far ahead as makes sense, and begins to write what is packed. */
  #pump(): void {
    if (this.#due && this.#waiting.entries > 0 && this.#hasRoom()) {
      this.#pack(this.#waiting.takeAll());
      this.#due = false;
      this.#cancelTimer?.();
      this.#cancelTimer = undefined;
    }
    if (this.#isRetrying) return;
    for (const commit of this.#packed) {
      if (this.#inFlight >= COMMITS_IN_FLIGHT) return;
      if (commit.isWriting) continue;
      this.#inFlight += 1;
      commit.isWriting = true;
      this.#deps.write(commit.blocks, commit === this.#packed[0]).then(
        (refused) => this.#onWritten(commit, refused),
        (error: unknown) => this.#onFailed(commit, error),
      );
    }
  }

  /** True while more may be packed: commits that have left without the disk make room, and none of it is that of alarms. */
  #hasRoom(): boolean {
    const waiting = this.#packed.filter(({ hasBegunToArrive }) => !hasBegunToArrive);
    return waiting.length < PACKED_COMMITS && this.#packed.length < MAX_PACKED / 2;
  }

  #pack(appends: readonly WaitingAppend[]): void {
    if (appends.length === 0) return;
    const bytes = appends.reduce((sum, append) => sum + append.bytes, 0);
    const entries = appends.map((append) => append.entries);
    const blocks = this.#deps.builder.build(entries, this.#deps.commitEntries);
    this.#packed.push({ blocks, appends, bytes, isWriting: false, hasBegunToArrive: false });
    this.#stuckSinceMs ??= this.#deps.clock.monotonicMs();
    this.#packedBytes += bytes;
  }

  #onWritten(commit: Commit, refused: readonly FramedBlock[]): void {
    this.#unpack(commit);
    const written = commit.blocks.filter((block) => !refused.includes(block));
    if (written.length > 0) {
      if (this.fault !== undefined) this.#deps.log.info({ code: this.fault }, 'outbox can write again');
      this.fault = undefined;
      this.#retryMs = FIRST_RETRY_MS;
      this.#stuckSinceMs = this.#packed.length > 0 ? this.#deps.clock.monotonicMs() : undefined;
      this.#deps.onCommitted(written);
    }
    if (refused.length > 0) this.#deps.onDropped(countOf(refused), refused);
    for (const append of commit.appends) settle(append, { isFull: refused.length > 0 });
    this.#settled();
  }

  /** The commits stay packed, with the sequences they have, and go again together when all that was in flight has ended. */
  #onFailed(commit: Commit, error: unknown): void {
    commit.isWriting = false;
    if (!this.#isRetrying) {
      this.#isRetrying = true;
      this.#onFault(error);
    }
    this.#settled();
  }

  #unpack(commit: Commit): void {
    this.#packed = this.#packed.filter((other) => other !== commit);
    this.#packedBytes -= commit.bytes;
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
}

function countOf(blocks: readonly FramedBlock[]): number {
  return blocks.reduce((sum, block) => sum + block.info.count, 0);
}
