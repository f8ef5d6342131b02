/**
 * Writes commits to the newest segment: one write and one sync each. Space is taken ahead in zeros, so that most syncs change data
 * only. After any failure the file is left alone for good: what the kernel kept of a failed sync cannot be known
 * (the pages may be marked clean), so the same commit goes to a new file.
 */
import { systemCode } from '../errors.ts';
import type { BlockInfo, FramedBlock } from './block-frame.ts';
import type { FileLayer, OpenFile } from './file-layer.ts';
import { SEGMENT_HEADER_BYTES, segmentFileName, segmentHeader } from './segment-file.ts';
import type { Segment, SegmentShelf } from './segment-shelf.ts';

const PAGE_BYTES = 4096;

export interface SegmentWriterDeps {
  readonly files: FileLayer;
  readonly folder: string;
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
}

export class SegmentWriter {
  readonly #deps: SegmentWriterDeps;
  #open: OpenSegment | undefined;

  constructor(deps: SegmentWriterDeps) {
    this.#deps = deps;
  }

  /** Goes on with a segment whose blocks end cleanly at `end`. */
  async resume(segment: Segment, blocks: readonly BlockInfo[], end: number): Promise<void> {
    const file = await this.#deps.files.open(`${this.#deps.folder}/${segment.name}`, 'update');
    this.#open = { segment, file, at: end, allocated: segment.bytes };
    this.#deps.shelf.activate(segment, blocks);
  }

  /** Writes blocks, durable when it resolves. @throws what the files throw; nothing of the commit then counts as written. */
  async write(blocks: readonly FramedBlock[]): Promise<void> {
    const size = blocks.reduce((sum, block) => sum + block.bytes.length, 0);
    const fits = this.#open !== undefined && this.#open.at + size <= this.#deps.segmentBytes;
    if (!fits) await this.seal();
    const open = this.#open ?? (await this.#begin((blocks[0] as FramedBlock).info.firstSequence));
    try {
      await this.#append(open, blocks, size);
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

  async #append(open: OpenSegment, blocks: readonly FramedBlock[], size: number): Promise<void> {
    const { preallocationBytes, shelf, files, folder, onWritten } = this.#deps;
    const isNew = open.allocated === 0;
    const end = open.at + size;
    const parts: Uint8Array[] = blocks.map((block) => block.bytes);
    if (isNew) parts.unshift(segmentHeader());
    if (end > open.allocated) {
      const allocated = Math.ceil(end / preallocationBytes) * preallocationBytes;
      parts.push(Buffer.alloc(allocated - end));
      open.allocated = allocated;
    }
    const bytes = parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
    const position = isNew ? 0 : open.at;
    onWritten((Math.ceil((position + bytes.length) / PAGE_BYTES) - Math.floor(position / PAGE_BYTES)) * PAGE_BYTES);
    await open.file.write(bytes, position);
    await open.file.datasync();
    if (isNew) {
      await files.syncFolder(folder);
      const { bootId, firstMs, ownTime } = (blocks[0] as FramedBlock).info;
      open.segment.first = { bootId, ms: firstMs, ownTime };
      shelf.add(open.segment);
      shelf.activate(open.segment, []);
    }
    let at = open.at;
    const infos = blocks.map(({ info, bytes: { length } }) => {
      at += length;
      return { ...info, offset: at - length };
    });
    open.at = at;
    open.segment.bytes = open.allocated;
    shelf.committed(infos);
  }

  async #begin(firstSequence: number): Promise<OpenSegment> {
    const { files, folder } = this.#deps;
    for (let generation = 0; ; generation += 1) {
      const name = segmentFileName({ firstSequence, generation });
      const file = await files.open(`${folder}/${name}`, 'create').catch((error: unknown) => {
        if (systemCode(error) === 'EEXIST') return undefined;
        throw error;
      });
      if (file === undefined) continue;
      const segment = { name, firstSequence, lastSequence: firstSequence - 1, bytes: 0, thinned: 0, count: 0, damagedBytes: 0 };
      this.#open = { segment, file, at: SEGMENT_HEADER_BYTES, allocated: 0 };
      return this.#open;
    }
  }

  async #abandon(open: OpenSegment): Promise<void> {
    this.#open = undefined;
    const isEmpty = !this.#deps.shelf.segments.includes(open.segment);
    this.#deps.shelf.retire();
    await open.file.close().catch(() => {});
    // On a full disk its pages are what the next try needs.
    if (isEmpty) await this.#deps.files.unlink(`${this.#deps.folder}/${open.segment.name}`).catch(() => {});
  }
}
