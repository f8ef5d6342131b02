/**
 * A segment: a header line in plain text, blocks, and zeros written ahead. Its name carries the first sequence, so that opening
 * the outbox needs no more than a folder's listing; a second file of the same first sequence supersedes the first.
 */
import { BLOCK_MAGIC, type BlockInfo, readBlockInfo } from './block-frame.ts';

export const SEGMENT_HEADER_BYTES = 96;
const FORMAT = 'turnstone-outbox-segment';
const VERSION = 1;
const BLOCKS_A_STEP = 256;
/** More entries than any segment holds: what follows one whose end cannot be read begins so far behind its first. */
const SPARED_SEQUENCES = 2 ** 32;
const NAME = /^(\d{16})-(\d{1,6})\.seg$/;

export interface SegmentName {
  readonly firstSequence: number;
  /** Counts the tries to begin a segment at this sequence. */
  readonly generation: number;
}

export interface SegmentScan {
  readonly blocks: readonly BlockInfo[];
  /** Bytes between whole blocks that are no block: `[from, to)`. */
  readonly damaged: readonly (readonly [from: number, to: number])[];
  /** Where the last whole block ends. */
  readonly end: number;
  /** Only zeros follow the last block; otherwise a commit was cut off there. */
  readonly cleanTail: boolean;
}

/** The last sequence that a segment whose end cannot be read may hold. */
export function farthestEnd(firstSequence: number): number {
  return firstSequence + SPARED_SEQUENCES - 1;
}

/** True when the end of a segment was never read: its last sequence is then a bound, and no entry is missed for being below it. */
export function isOpenEnded({
  firstSequence,
  lastSequence,
}: {
  readonly firstSequence: number;
  readonly lastSequence: number;
}): boolean {
  return lastSequence >= farthestEnd(firstSequence);
}

export function segmentFileName({ firstSequence, generation }: SegmentName): string {
  return `${String(firstSequence).padStart(16, '0')}-${generation}.seg`;
}

export function parseSegmentName(name: string): SegmentName | undefined {
  const match = NAME.exec(name);
  return match === null ? undefined : { firstSequence: Number(match[1]), generation: Number(match[2]) };
}

/** The header line; `thinned` counts how often the segment was decimated, and `count` what that left in it. */
export function segmentHeader(thinned = 0, count = 0): Buffer {
  const fields = { format: FORMAT, version: VERSION, ...(thinned === 0 ? {} : { thinned, count }) };
  return Buffer.from(`${JSON.stringify(fields).padEnd(SEGMENT_HEADER_BYTES - 1)}\n`);
}

/** `damaged`: not readable, but blocks may follow. `newer` and `foreign`: not ours to read. */
export type HeaderReading =
  | { readonly kind: 'ours' | 'damaged'; readonly thinned: number; readonly count: number }
  | { readonly kind: 'newer' | 'foreign' };

/** A flipped bit in the header says nothing about the blocks behind it. */
const DAMAGED: HeaderReading = { kind: 'damaged', thinned: 0, count: 0 };

export function readSegmentHeader(bytes: Buffer): HeaderReading {
  const line = bytes.subarray(0, SEGMENT_HEADER_BYTES).toString('latin1');
  try {
    const header = JSON.parse(line) as {
      format?: unknown;
      version?: unknown;
      thinned?: unknown;
      count?: unknown;
    } | null;
    if (header?.format !== FORMAT || typeof header.version !== 'number')
      return hasBlock(bytes) ? DAMAGED : { kind: 'foreign' };
    if (header.version > VERSION) return { kind: 'newer' };
    return { kind: 'ours', thinned: wholeOr0(header.thinned), count: wholeOr0(header.count) };
  } catch {
    return hasBlock(bytes) || bytes.every((byte) => byte === 0) ? DAMAGED : { kind: 'foreign' };
  }
}

/** Finds every whole block. */
export function scanSegment(bytes: Buffer): SegmentScan {
  const steps = scanSteps(bytes);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** The same in steps of a few hundred blocks, a millisecond each, so that others get their turn between them. */
export function* scanSteps(bytes: Buffer): Generator<undefined, SegmentScan> {
  const from = SEGMENT_HEADER_BYTES;
  const blocks: BlockInfo[] = [];
  const damaged: [number, number][] = [];
  let at = from;
  let end = from;
  for (;;) {
    const block = readBlockInfo(bytes, at);
    if (block !== undefined) {
      blocks.push(block);
      at += block.bytes;
      end = at;
      if (blocks.length % BLOCKS_A_STEP === 0) yield undefined;
      continue;
    }
    const nonZero = firstNonZero(bytes, at);
    if (nonZero === bytes.length) return { blocks, damaged, end, cleanTail: true };
    const next = nextBlock(bytes, at + 1);
    if (next === undefined) return { blocks, damaged, end, cleanTail: false };
    damaged.push([at, next]);
    at = next;
  }
}

function wholeOr0(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : 0;
}

function hasBlock(bytes: Buffer): boolean {
  return readBlockInfo(bytes, SEGMENT_HEADER_BYTES) !== undefined || nextBlock(bytes, 0) !== undefined;
}

function nextBlock(bytes: Buffer, from: number): number | undefined {
  const magic = Buffer.alloc(4);
  magic.writeUInt32LE(BLOCK_MAGIC);
  for (let at = bytes.indexOf(magic, from); at !== -1; at = bytes.indexOf(magic, at + 1)) {
    if (readBlockInfo(bytes, at) !== undefined) return at;
  }
  return undefined;
}

function firstNonZero(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] === 0) at += 1;
  return at;
}
