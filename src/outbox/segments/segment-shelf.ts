/**
 * The segments on disk, in the order of their sequences, and the way to read them. Only names and sizes are kept in memory;
 * where the blocks of a segment lie is read when it is needed and kept for the few segments in use.
 */
import { undefinedWhenMissing } from '../../host/files.ts';
import { nextTurn } from '../../host/next-turn.ts';
import { type BlockInfo, isWholeBlock, unpackBlock } from '../format/block-frame.ts';
import type { BlockEntries } from '../format/block-payload.ts';
import { isOpenEnded, type SegmentScan, scanSteps } from '../format/segment-file.ts';
import { type ReadableSegment, SegmentReader, type SegmentReaderDeps } from './segment-reader.ts';

/** Time of an entry: ms since its boot, or UTC epoch ms with a time of its own, which says nothing about its age. */
export interface TakenMoment {
  readonly bootId: string;
  readonly ms: number;
  readonly ownTime: boolean;
}

export interface Segment extends ReadableSegment {
  readonly firstSequence: number;
  /** The last that it holds, or may hold when it was not read yet; far beyond, while its end cannot be read. */
  lastSequence: number;
  /** Size of the file. */
  bytes: number;
  /** How often it was decimated. */
  thinned: number;
  /** Entries in it; until it has been read, the width of its sequences, and while its end cannot be read, what is known of that. */
  count: number;
  /** Bytes found in it that are no block. */
  damagedBytes: number;
  /** Time of its first entry; undefined when its head is damaged. */
  first?: TakenMoment;
  /** No entry in it is later than this; undefined until it was read or written. */
  last?: TakenMoment;
  /** The boots of its entries; undefined until it was read. */
  bootIds?: readonly string[];
  /** True when some of its entries bring their own time; undefined until it was read. */
  ownTimes?: boolean;
}

/** A block with the segment it lies in. */
export interface PlacedBlock {
  readonly segment: Segment;
  readonly info: BlockInfo;
}

/** Sending the backlog uses one, alarms or a reader another. Each takes up to half a megabyte. */
const KEPT_INDEXES = 2;
/** Blocks that lie side by side are read together, up to this much. */
const MAX_READ_BYTES = 256 * 1024;

export interface SegmentShelfDeps extends SegmentReaderDeps {
  /** Told what a segment really holds, whenever one is read through. */
  readonly onScanned: (segment: Segment, blocks: readonly BlockInfo[]) => void;
}

export class SegmentShelf {
  readonly #deps: SegmentShelfDeps;
  readonly #segments: Segment[] = [];
  /** The newest last. */
  readonly #indexes = new Map<Segment, readonly BlockInfo[]>();
  /** The segment being written, whose index grows with each commit. */
  #active: { readonly segment: Segment; readonly blocks: BlockInfo[] } | undefined;
  readonly #reader: SegmentReader;

  constructor(deps: SegmentShelfDeps) {
    this.#deps = deps;
    this.#reader = new SegmentReader(deps);
  }

  /** Ascending. */
  get segments(): readonly Segment[] {
    return this.#segments;
  }

  get active(): Segment | undefined {
    return this.#active?.segment;
  }

  get bytes(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.bytes, 0);
  }

  /** Returns the bytes of its blocks, without the zeros ahead of the active one. */
  usedBytes(segment: Segment): number {
    const last = this.#active?.segment === segment ? this.#active.blocks.at(-1) : undefined;
    return last === undefined ? segment.bytes : last.offset + last.bytes;
  }

  add(segment: Segment): void {
    this.#segments.push(segment);
    this.#segments.sort((a, b) => a.firstSequence - b.firstSequence);
  }

  /** From now on `committed` adds to this segment. */
  activate(segment: Segment, blocks: readonly BlockInfo[]): void {
    this.retire();
    this.#active = { segment, blocks: [...blocks] };
  }

  committed(blocks: readonly BlockInfo[]): void {
    if (this.#active === undefined) return;
    const { segment, blocks: known } = this.#active;
    for (const block of blocks) {
      known.push(block);
      segment.lastSequence = Math.max(segment.lastSequence, block.lastSequence);
      segment.count += block.count;
      // Marks that an earlier run left on the segment say nothing of new blocks.
      if (block.ownTime) segment.ownTimes = true;
      else if (segment.bootIds?.includes(block.bootId) === false) segment.bootIds = [...segment.bootIds, block.bootId];
    }
    segment.last = { bootId: this.#deps.clock.bootId, ms: this.#deps.clock.monotonicMs(), ownTime: false };
  }

  /** Nothing is added to the active segment any more. */
  retire(): void {
    if (this.#active !== undefined) this.#keep(this.#active.segment, this.#active.blocks);
    this.#active = undefined;
  }

  /** True when the segment may be read now; after a failure it waits for its backoff. */
  isReadable(segment: Segment): boolean {
    return this.#reader.isReadable(segment);
  }

  /** The segment whose range holds a sequence, or else the next one. */
  segmentAtOrAfter(sequence: number): Segment | undefined {
    return this.#segments.find((segment) => sequence <= segment.lastSequence);
  }

  /** Where the blocks of a segment lie, ascending; read from the disk when not known. */
  async blocksOf(segment: Segment): Promise<readonly BlockInfo[]> {
    if (this.#active?.segment === segment) return this.#active.blocks;
    const known = this.#indexes.get(segment);
    if (known !== undefined) {
      this.#indexes.delete(segment);
      this.#indexes.set(segment, known);
      return known;
    }
    const { blocks } = await this.scan(segment);
    this.#keep(segment, blocks);
    return blocks;
  }

  /** The same without reading: undefined when they are not known now. */
  knownBlocksOf(segment: Segment): readonly BlockInfo[] | undefined {
    return this.#active?.segment === segment ? this.#active.blocks : this.#indexes.get(segment);
  }

  /** Reads a segment through, and corrects what is known of it. */
  async scan(segment: Segment): Promise<SegmentScan> {
    const scan = await inSteps(scanSteps(await this.#reader.read(segment, 0, segment.bytes)));
    // Blocks of a failed commit were written again at the beginning of the next segment.
    const blocks = scan.blocks.filter((block) => block.firstSequence <= segment.lastSequence);
    const damagedBytes = scan.damaged.reduce((sum, [from, to]) => sum + to - from, 0);
    // A range that was given up may be zeros in place of anything.
    segment.damagedBytes = segment.unreadable === undefined ? damagedBytes : Math.max(1, damagedBytes);
    segment.bootIds = [...new Set(blocks.map((block) => block.bootId))];
    segment.ownTimes = blocks.some((block) => block.ownTime);
    const last = blocks.at(-1);
    if (isOpenEnded(segment))
      segment.lastSequence = Math.max(last?.lastSequence ?? 0, segment.firstSequence + segment.count - 1);
    segment.count = blocks.reduce((sum, block) => sum + block.count, 0);
    if (last !== undefined) segment.last = { bootId: last.bootId, ms: last.lastMs, ownTime: last.ownTime };
    this.#deps.onScanned(segment, blocks);
    if (segment.damagedBytes > 0)
      this.#deps.log.warn(
        { segment: segment.name, damagedBytes: segment.damagedBytes, wholeBlocks: blocks.length },
        'outbox segment is damaged',
      );
    return { ...scan, blocks };
  }

  /** Reads blocks; in place of one that is no longer whole there is undefined. */
  async read(placed: readonly PlacedBlock[]): Promise<(BlockEntries | undefined)[]> {
    const entries: (BlockEntries | undefined)[] = [];
    for (let from = 0; from < placed.length; ) {
      const first = placed[from] as PlacedBlock;
      let to = from + 1;
      let end = first.info.offset + first.info.bytes;
      for (let next = placed[to]; next !== undefined; next = placed[to]) {
        if (next.segment !== first.segment || next.info.offset !== end) break;
        if (end + next.info.bytes - first.info.offset > MAX_READ_BYTES) break;
        end += next.info.bytes;
        to += 1;
      }
      const got = await this.#reader.read(first.segment, first.info.offset, end - first.info.offset);
      for (; from < to; from += 1) entries.push(this.#unpack(got, first.info.offset, placed[from] as PlacedBlock));
    }
    return entries;
  }

  /** Takes a segment's file off the disk and then the segment off the shelf, as `forget`; what cannot be unlinked stays on both. */
  async remove(segment: Segment): Promise<boolean> {
    await this.#deps.files.unlink(`${this.#deps.folder}/${segment.name}`).catch(undefinedWhenMissing);
    return this.forget(segment);
  }

  /** Takes a segment off the shelf; the file stays. False when somebody else did. */
  forget(segment: Segment): boolean {
    const at = this.#segments.indexOf(segment);
    if (at !== -1) this.#segments.splice(at, 1);
    this.refresh(segment);
    return at !== -1;
  }

  /** Forgets what is known of a segment whose file was replaced. */
  refresh(segment: Segment): void {
    this.#indexes.delete(segment);
    this.#reader.forget(segment);
  }

  close(): Promise<void> {
    return this.#reader.close();
  }

  #unpack(bytes: Buffer, offset: number, { segment, info }: PlacedBlock): BlockEntries | undefined {
    const at = info.offset - offset;
    try {
      if (isWholeBlock(bytes, at, info)) return unpackBlock(bytes, at, info);
    } catch (error) {
      this.#deps.log.warn(
        { segment: segment.name, offset: info.offset, err: error },
        'outbox block cannot be unpacked',
      );
    }
    return undefined;
  }

  #keep(segment: Segment, blocks: readonly BlockInfo[]): void {
    this.#indexes.set(segment, blocks);
    for (const oldest of this.#indexes.keys()) {
      if (this.#indexes.size <= KEPT_INDEXES) break;
      this.#indexes.delete(oldest);
    }
  }
}

/** Runs steps to their end, with a turn of the loop for others between them. */
async function inSteps<T>(steps: Generator<undefined, T>): Promise<T> {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    await nextTurn();
  }
}
