/**
 * Writes commits to the newest segment: one synced write each, two of them at a time where they only fill space taken ahead. That space
 * is zeros, written before, so that most syncs change data and no file size. After any failure the file is left alone for good:
 * what the kernel kept of a failed sync cannot be known (its pages may be marked clean), so the commit goes to a new file.
 */
import { systemCode } from '../../errors/agent-error.ts';
import type { OpenFile } from '../../host/files.ts';
import type { BlockInfo, FramedBlock } from '../format/block-frame.ts';
import { SEGMENT_HEADER_BYTES, segmentFileName, segmentHeader } from '../format/segment-file.ts';
import type { OutboxPlace } from './outbox-place.ts';
import type { Segment, SegmentShelf } from './segment-shelf.ts';

const PAGE_BYTES = 4096;
/** Each is a file that an earlier try left and nobody could remove. */
const MAX_GENERATIONS = 1_000;
/** When the file has not grown for so long, nobody waits for the few ms that taking space by pages costs. */
const QUIET_MS = 10_000;
/** A commit is one call for a thread of the pool: a third faster than a write and a sync. */
const SYNCED = { synced: true };

interface SegmentWriterDeps extends Omit<OutboxPlace, 'log'> {
  readonly shelf: SegmentShelf;
  readonly segmentBytes: number;
  readonly preallocationBytes: number;
  /** Told how many bytes each write makes the disk write: whole pages. */
  readonly onWritten: (bytes: number) => void;
}

/** A commit on its way. */
export interface BegunWrite {
  /** Resolves when it, and all before it, are durable; rejects when one of them is not: then none of the rest counts as written. */
  readonly written: Promise<void>;
}

interface OpenSegment {
  readonly segment: Segment;
  readonly file: OpenFile;
  /** Where the next block goes. */
  at: number;
  /** Where the zeros end. */
  allocated: number;
  /** Nothing was written to it but zeros. */
  isNew: boolean;
  /** A write failed: nothing after it counts. */
  failed: boolean;
}

export class SegmentWriter {
  readonly #deps: SegmentWriterDeps;
  #open: OpenSegment | undefined;
  /** The last write begun; settled when it and all before it are. */
  #last: Promise<void> = Promise.resolve();
  #grownMs = Number.NEGATIVE_INFINITY;
  /** A commit failed and has not begun again. */
  #broken = false;

  constructor(deps: SegmentWriterDeps) {
    this.#deps = deps;
  }

  /** Goes on with a segment whose blocks end cleanly at `end`. */
  async resume(segment: Segment, blocks: readonly BlockInfo[], end: number): Promise<void> {
    const file = await this.#deps.files.open(`${this.#deps.folder}/${segment.name}`, 'update', SYNCED);
    this.#open = { segment, file, at: end, allocated: segment.bytes, isNew: false, failed: false };
    this.#deps.shelf.activate(segment, blocks);
  }

  /** By how much the files will grow with a commit of so many bytes. */
  growthOf(size: number): number {
    const { segmentBytes, preallocationBytes } = this.#deps;
    const open = this.#open;
    const goesOn = open !== undefined && open.at + size <= Math.max(open.allocated, segmentBytes);
    const end = goesOn ? open.at + size : SEGMENT_HEADER_BYTES + size;
    return Math.max(0, Math.ceil(end / preallocationBytes) * preallocationBytes - (goesOn ? open.allocated : 0));
  }

  /**
   * Begins to write blocks; not to be called again before this resolves. After a failure only the oldest commit may begin again: one that
   * came after it must not take its place in the order of sequences.
   * @throws what the files throw.
   */
  begin(blocks: readonly FramedBlock[], { isOldest }: { readonly isOldest: boolean }): Promise<BegunWrite> {
    return this.inTurn(isOldest, () => this.#begin(blocks));
  }

  /** Runs a commit's work before its bytes are written; after a failure no later commit takes its place. @throws as the work. */
  async inTurn<T>(isOldest: boolean, work: () => Promise<T>): Promise<T> {
    if (isOldest) this.#broken = false;
    if (this.#broken) throw new Error('a commit before this one failed');
    try {
      return await work();
    } catch (error) {
      this.#broken = true;
      throw error;
    }
  }

  async #begin(blocks: readonly FramedBlock[]): Promise<BegunWrite> {
    const size = blocks.reduce((sum, block) => sum + block.bytes.length, 0);
    const open = this.#open;
    if (open !== undefined && open.at + size <= open.allocated) return { written: this.#start(open, blocks) };
    // The file grows, or another begins: that waits for what is on its way.
    await this.#last.catch(() => {});
    if (this.#broken) throw new Error('a commit before this one failed');
    if (this.#open !== undefined && this.#open.at + size > this.#deps.segmentBytes) await this.seal();
    const target = this.#open ?? (await this.#create((blocks[0] as FramedBlock).info.firstSequence));
    const now = this.#deps.clock.monotonicMs();
    const isQuiet = now - this.#grownMs > QUIET_MS;
    this.#grownMs = now;
    if (isQuiet) await this.#growByPages(target, target.at + size);
    await this.#start(target, blocks);
    return { written: Promise.resolve() };
  }

  /** Ends the segment being written; gives back the zeros behind its last block. */
  async seal(): Promise<void> {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    this.#deps.shelf.retire();
    try {
      if (open.allocated - open.at >= PAGE_BYTES) {
        await open.file.truncate(open.at);
        open.segment.bytes = open.at;
      }
    } finally {
      await open.file.close().catch(() => {});
    }
  }

  /** Closes the file and leaves its zeros to the next start. */
  async close(): Promise<void> {
    await this.#last.catch(() => {});
    const open = this.#open;
    this.#open = undefined;
    await open?.file.close();
  }

  /**
   * Takes space in single pages. Zeros that are written at once become one large folio of the page cache, and the kernel then accounts all of
   * it as written with every commit into it: the disk would not notice, but everyone who watches the process would be misled.
   */
  async #growByPages(open: OpenSegment, end: number): Promise<void> {
    const { files, folder, preallocationBytes, onWritten } = this.#deps;
    const until = Math.ceil(end / preallocationBytes) * preallocationBytes;
    try {
      const file = await files.open(`${folder}/${open.segment.name}`, 'update');
      try {
        const zeros = new Uint8Array(PAGE_BYTES);
        for (let at = open.allocated; at < until; at += PAGE_BYTES - (at % PAGE_BYTES))
          await file.write(zeros.subarray(at % PAGE_BYTES), at);
        await file.datasync();
      } finally {
        await file.close();
      }
    } catch (error) {
      await this.#abandon(open);
      throw error;
    }
    onWritten(until - open.allocated);
    open.allocated = until;
  }

  #start(open: OpenSegment, blocks: readonly FramedBlock[]): Promise<void> {
    const { isNew } = open;
    open.isNew = false;
    const parts: Uint8Array[] = blocks.map((block) => block.bytes);
    const infos = blocks.map(({ info, bytes: { length } }) => {
      open.at += length;
      return { ...info, offset: open.at - length };
    });
    const from = isNew ? 0 : (infos[0] as BlockInfo).offset;
    if (isNew) parts.unshift(segmentHeader());
    if (open.at > open.allocated) {
      const { preallocationBytes } = this.#deps;
      open.allocated = Math.ceil(open.at / preallocationBytes) * preallocationBytes;
      parts.push(Buffer.alloc(open.allocated - open.at));
    }
    const bytes = parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
    this.#deps.onWritten((Math.ceil((from + bytes.length) / PAGE_BYTES) - Math.floor(from / PAGE_BYTES)) * PAGE_BYTES);
    const written = this.#finish(open, this.#last, open.file.write(bytes, from), infos, isNew);
    // Whoever began it hears of a failure; the next in line only has to wait.
    written.catch(() => {});
    this.#last = written;
    return written;
  }

  async #finish(
    open: OpenSegment,
    before: Promise<void>,
    writing: Promise<void>,
    infos: readonly BlockInfo[],
    isNew: boolean,
  ): Promise<void> {
    const { files, folder, shelf } = this.#deps;
    const [, own] = await Promise.allSettled([before, writing]);
    try {
      if (own.status === 'rejected') throw own.reason;
      if (open.failed) throw new Error('a commit before this one failed');
      if (isNew) {
        await files.syncFolder(folder);
        const { bootId, firstMs, ownTime } = infos[0] as BlockInfo;
        open.segment.first = { bootId, ms: firstMs, ownTime };
        shelf.add(open.segment);
        shelf.activate(open.segment, []);
      }
    } catch (error) {
      await this.#abandon(open);
      throw error;
    }
    open.segment.bytes = open.allocated;
    shelf.committed(infos);
  }

  async #create(firstSequence: number): Promise<OpenSegment> {
    const { files, folder } = this.#deps;
    for (let generation = 0; generation < MAX_GENERATIONS; generation += 1) {
      const name = segmentFileName({ firstSequence, generation });
      const file = await files.open(`${folder}/${name}`, 'create', SYNCED).catch((error: unknown) => {
        if (systemCode(error) === 'EEXIST') return undefined;
        throw error;
      });
      if (file === undefined) continue;
      const segment = {
        name,
        firstSequence,
        lastSequence: firstSequence - 1,
        bytes: 0,
        thinned: 0,
        count: 0,
        damagedBytes: 0,
      };
      this.#open = { segment, file, at: SEGMENT_HEADER_BYTES, allocated: 0, isNew: true, failed: false };
      return this.#open;
    }
    throw new Error(`no free name is left for a segment that begins with ${firstSequence}`);
  }

  async #abandon(open: OpenSegment): Promise<void> {
    if (open.failed) return;
    open.failed = true;
    this.#broken = true;
    this.#open = undefined;
    const { shelf, files, folder } = this.#deps;
    const isEmpty = !shelf.segments.includes(open.segment);
    shelf.retire();
    // Another write to this file may still be on its way: it ends before the file is closed, and fails because this one did.
    const last = this.#last;
    void last.catch(() => {}).then(() => open.file.close().catch(() => {}));
    // On a full disk its pages are what the next try needs.
    if (isEmpty) await files.unlink(`${folder}/${open.segment.name}`).catch(() => {});
  }
}
