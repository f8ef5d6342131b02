/**
 * Writes commits to the newest segment: one synced write each, into space that was taken ahead. That space is zeros, written before, so that
 * most syncs change data and no file size. After any failure the file is left alone for good:
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

interface OpenSegment {
  readonly segment: Segment;
  readonly file: OpenFile;
  /** Where the next block goes. */
  at: number;
  /** Where the zeros end. */
  allocated: number;
  /** Nothing was written to it but zeros. */
  isNew: boolean;
}

export class SegmentWriter {
  readonly #deps: SegmentWriterDeps;
  #open: OpenSegment | undefined;
  #grownMs = Number.NEGATIVE_INFINITY;

  constructor(deps: SegmentWriterDeps) {
    this.#deps = deps;
  }

  /** Goes on with a segment whose blocks end cleanly at `end`. */
  async resume(segment: Segment, blocks: readonly BlockInfo[], end: number): Promise<void> {
    const file = await this.#deps.files.open(`${this.#deps.folder}/${segment.name}`, 'update', SYNCED);
    this.#open = { segment, file, at: end, allocated: segment.bytes, isNew: false };
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

  /** Writes blocks; they are durable when it resolves. Not to be called again before that. @throws what the files throw: none of them counts. */
  async write(blocks: readonly FramedBlock[]): Promise<void> {
    const size = blocks.reduce((sum, block) => sum + block.bytes.length, 0);
    const end = (this.#open?.at ?? 0) + size;
    const grows = this.#open === undefined || end > this.#open.allocated;
    if (grows && end > this.#deps.segmentBytes) await this.seal();
    const open = this.#open ?? (await this.#create((blocks[0] as FramedBlock).info.firstSequence));
    try {
      if (grows) await this.#grow(open, open.at + size);
      await this.#write(open, blocks);
    } catch (error) {
      await this.#abandon(open);
      throw error;
    }
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
    const open = this.#open;
    this.#open = undefined;
    await open?.file.close();
  }

  /**
   * Takes space in single pages, when nobody waits for it. Zeros that are written at once become one large folio of the page cache, and the kernel
   * then accounts all of it as written with every commit into it: the disk would not notice, but everyone who watches the process would be misled.
   */
  async #grow(open: OpenSegment, end: number): Promise<void> {
    const { files, folder, clock, preallocationBytes, onWritten } = this.#deps;
    const now = clock.monotonicMs();
    const isQuiet = now - this.#grownMs > QUIET_MS;
    this.#grownMs = now;
    if (!isQuiet) return;
    const until = Math.ceil(end / preallocationBytes) * preallocationBytes;
    const file = await files.open(`${folder}/${open.segment.name}`, 'update');
    try {
      const zeros = new Uint8Array(PAGE_BYTES);
      for (let at = open.allocated; at < until; at += PAGE_BYTES - (at % PAGE_BYTES)) await file.write(zeros.subarray(at % PAGE_BYTES), at);
      await file.datasync();
    } finally {
      await file.close();
    }
    onWritten(until - open.allocated);
    open.allocated = until;
  }

  async #write(open: OpenSegment, blocks: readonly FramedBlock[]): Promise<void> {
    const { files, folder, shelf, preallocationBytes, onWritten } = this.#deps;
    const { isNew } = open;
    const parts: Uint8Array[] = blocks.map((block) => block.bytes);
    const infos = blocks.map(({ info, bytes: { length } }) => {
      open.at += length;
      return { ...info, offset: open.at - length };
    });
    const [{ offset, bootId, firstMs, ownTime }] = infos as [BlockInfo];
    const from = isNew ? 0 : offset;
    if (isNew) parts.unshift(segmentHeader());
    if (open.at > open.allocated) {
      open.allocated = Math.ceil(open.at / preallocationBytes) * preallocationBytes;
      parts.push(Buffer.alloc(open.allocated - open.at));
    }
    const bytes = parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
    onWritten((Math.ceil((from + bytes.length) / PAGE_BYTES) - Math.floor(from / PAGE_BYTES)) * PAGE_BYTES);
    await open.file.write(bytes, from);
    if (isNew) {
      await files.syncFolder(folder);
      open.isNew = false;
      open.segment.first = { bootId, ms: firstMs, ownTime };
      shelf.add(open.segment);
      shelf.activate(open.segment, []);
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
      const segment = { name, firstSequence, lastSequence: firstSequence - 1, bytes: 0, thinned: 0, count: 0, damagedBytes: 0 };
      this.#open = { segment, file, at: SEGMENT_HEADER_BYTES, allocated: 0, isNew: true };
      return this.#open;
    }
    throw new Error(`no free name is left for a segment that begins with ${firstSequence}`);
  }

  async #abandon(open: OpenSegment): Promise<void> {
    this.#open = undefined;
    const { shelf, files, folder } = this.#deps;
    const isEmpty = !shelf.segments.includes(open.segment);
    shelf.retire();
    void open.file.close().catch(() => {});
    // On a full disk its pages are what the next try needs.
    if (isEmpty) await files.unlink(`${folder}/${open.segment.name}`).catch(() => {});
  }
}
