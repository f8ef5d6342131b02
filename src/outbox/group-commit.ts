/**
 * Many appends, one sync. Entries wait in memory until their block closes (age, count, bytes, an alarm, the first of a start),
 * and each `append` resolves when its block is synced. While the disk fails, what waits is a bounded ring: sampling goes
 * on, the oldest regular entries give way, and the same commit is tried again until the disk takes it.
 */
import { AgentError, messageOf, systemCode } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { BlockBuilder } from './block-builder.ts';
import type { FramedBlock } from './block-frame.ts';
import type { TelemetryEntry, TelemetryValue } from './telemetry-entry.ts';

export interface GroupCommitDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly builder: BlockBuilder;
  readonly commitAgeMs: number;
  readonly commitEntries: number;
  /** What may wait while the disk fails, in entries. */
  readonly memoryEntries: number;
  /** Makes blocks durable; rejects when the disk does not take them. */
  readonly write: (blocks: readonly FramedBlock[]) => Promise<void>;
  readonly onCommitted: (blocks: readonly FramedBlock[]) => void;
  /** Entries that gave way in memory. */
  readonly onDropped: (count: number) => void;
}

interface Waiting {
  readonly entries: readonly TelemetryEntry[];
  readonly bytes: number;
  readonly alarm: boolean;
  readonly resolve: () => void;
  readonly reject: (error: AgentError) => void;
}

interface Commit {
  readonly blocks: readonly FramedBlock[];
  readonly appends: readonly Waiting[];
  readonly bytes: number;
}

/** A block closes at this size, so that a commit stays a few pages. */
const COMMIT_BYTES = 64 * 1024;
/** What may wait while the disk fails, however few entries it is. */
const MEMORY_RING_BYTES = 4 * 1024 * 1024;
/** One being synced and one packed meanwhile; what comes after that waits unpacked and makes one larger block. */
const PACKED_COMMITS = 2;
const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;
/** An entry in memory without its key and value: the object, its numbers, its place in arrays. */
const ENTRY_BYTES = 64;

export class GroupCommit {
  readonly #deps: GroupCommitDeps;
  #waiting: Waiting[] = [];
  #waitingEntries = 0;
  #waitingBytes = 0;
  #packed: Commit[] = [];
  #packedBytes = 0;
  #due = true;
  #cancelTimer: (() => void) | undefined;
  #writing: Promise<void> | undefined;
  #fault: { readonly code: string; readonly sinceMonotonicMs: number } | undefined;
  readonly #closing = new AbortController();
  commitAgeMs: number;

  constructor(deps: GroupCommitDeps) {
    this.#deps = deps;
    this.commitAgeMs = deps.commitAgeMs;
  }

  /** Why nothing can be written, and since when; undefined while all is well. */
  get fault(): { readonly code: string; readonly sinceMonotonicMs: number } | undefined {
    return this.#fault;
  }

  get waitingEntries(): number {
    return this.#waitingEntries + this.#packed.reduce((sum, commit) => sum + countOf(commit), 0);
  }

  get waitingBytes(): number {
    return this.#waitingBytes + this.#packedBytes;
  }

  append(entries: readonly TelemetryEntry[]): Promise<void> {
    if (entries.length === 0) return Promise.resolve();
    if (this.#closing.signal.aborted) return Promise.reject(closedError());
    return new Promise((resolve, reject) => {
      let bytes = 0;
      let alarm = false;
      for (const entry of entries) {
        bytes += ENTRY_BYTES + entry.key.length + sizeOf(entry.value);
        alarm ||= entry.class === 'alarm';
      }
      this.#waiting.push({ entries, bytes, alarm, resolve, reject });
      this.#waitingEntries += entries.length;
      this.#waitingBytes += bytes;
      if (alarm || this.#waitingEntries >= this.#deps.commitEntries || this.#waitingBytes >= COMMIT_BYTES) this.#due = true;
      if (this.#isOverfull()) this.#giveWay();
      if (this.#due) this.#pump();
      else this.#cancelTimer ??= this.#deps.clock.after(this.commitAgeMs, () => this.#onAge());
    });
  }

  /** Closes the open block now; resolves when nothing waits any more, which on a failing disk may be never. */
  async flush(): Promise<void> {
    while (this.waitingEntries > 0 && !this.#closing.signal.aborted) {
      this.#due = true;
      this.#pump();
      await this.#writing;
    }
  }

  /** Tries once more to commit all; what the disk does not take within the deadline is refused to its appenders. */
  async close(deadlineMs: number): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#due = true;
    this.#pump();
    this.#closing.abort();
    const deadline = new AbortController();
    await Promise.race([this.#writing, this.#deps.clock.sleep(deadlineMs, deadline.signal)]);
    deadline.abort();
    this.#cancelTimer?.();
    for (const append of [...this.#packed.flatMap((commit) => commit.appends), ...this.#waiting]) append.reject(closedError());
    this.#packed = [];
    this.#waiting = [];
  }

  #onAge(): void {
    this.#cancelTimer = undefined;
    this.#due = true;
    this.#pump();
  }

  /** Packs what is due, as far ahead as makes sense, and keeps the writer going. */
  #pump(): void {
    if (this.#due && this.#waiting.length > 0 && this.#packed.length < PACKED_COMMITS) {
      const appends = this.#waiting;
      const blocks = this.#deps.builder.build(
        appends.map((append) => append.entries),
        this.#deps.commitEntries,
      );
      this.#packed.push({ blocks, appends, bytes: this.#waitingBytes });
      this.#packedBytes += this.#waitingBytes;
      this.#waiting = [];
      this.#waitingEntries = 0;
      this.#waitingBytes = 0;
      this.#due = false;
      this.#cancelTimer?.();
      this.#cancelTimer = undefined;
    }
    if (this.#packed.length > 0 && this.#writing === undefined) {
      this.#writing = this.#writePacked().finally(() => {
        this.#writing = undefined;
        if (!this.#closing.signal.aborted) this.#pump();
      });
    }
  }

  async #writePacked(): Promise<void> {
    let retryMs = FIRST_RETRY_MS;
    for (let commit = this.#packed[0]; commit !== undefined; commit = this.#packed[0]) {
      try {
        await this.#deps.write(commit.blocks);
      } catch (error) {
        if (error instanceof AgentError && error.recovery === 'drop') {
          this.#onRefused(commit, error);
          continue;
        }
        this.#onFault(error);
        if (this.#closing.signal.aborted) return;
        await this.#deps.clock.sleep(retryMs, this.#closing.signal);
        retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS);
        continue;
      }
      retryMs = FIRST_RETRY_MS;
      this.#onWritten(commit);
    }
  }

  #onWritten(commit: Commit): void {
    if (this.#packed[0] !== commit) return;
    this.#packed.shift();
    this.#packedBytes -= commit.bytes;
    if (this.#fault !== undefined) this.#deps.log.info({ code: this.#fault.code }, 'outbox can write again');
    this.#fault = undefined;
    this.#deps.onCommitted(commit.blocks);
    for (const append of commit.appends) append.resolve();
    this.#pump();
  }

  #onRefused(commit: Commit, error: AgentError): void {
    this.#packed.shift();
    this.#packedBytes -= commit.bytes;
    this.#deps.onDropped(countOf(commit));
    for (const append of commit.appends) append.reject(error);
    this.#pump();
  }

  #onFault(error: unknown): void {
    const code = systemCode(error) ?? 'unknown';
    if (this.#fault?.code !== code) this.#deps.log.error({ code, reason: messageOf(error) }, 'outbox cannot write; entries wait in memory');
    this.#fault = { code, sinceMonotonicMs: this.#fault?.sinceMonotonicMs ?? this.#deps.clock.monotonicMs() };
  }

  #isOverfull(): boolean {
    return this.waitingBytes > MEMORY_RING_BYTES || this.waitingEntries > this.#deps.memoryEntries;
  }

  /** The oldest regular appends go first, alarms only when nothing else is left. */
  #giveWay(): void {
    let dropped = 0;
    while (this.#isOverfull() && this.#waiting.length > 1) {
      const regular = this.#waiting.findIndex((append) => !append.alarm);
      const [append] = this.#waiting.splice(Math.max(regular, 0), 1) as [Waiting];
      this.#waitingBytes -= append.bytes;
      this.#waitingEntries -= append.entries.length;
      dropped += append.entries.length;
      append.reject(new AgentError('outbox/dropped', 'the disk does not take entries, and memory is full of them', { recovery: 'drop' }));
    }
    if (dropped > 0) this.#deps.onDropped(dropped);
  }
}

function countOf(commit: Commit): number {
  return commit.blocks.reduce((sum, block) => sum + block.info.count, 0);
}

function closedError(): AgentError {
  return new AgentError('outbox/closed', 'the outbox is closed', { recovery: 'stop' });
}

/** Roughly what a value takes in memory. */
function sizeOf(value: TelemetryValue): number {
  if (typeof value === 'string') return 16 + value.length;
  if (typeof value !== 'object' || value === null) return 8;
  let bytes = 32;
  for (const part of Object.values(value)) bytes += 24 + sizeOf(part as TelemetryValue);
  return bytes;
}
