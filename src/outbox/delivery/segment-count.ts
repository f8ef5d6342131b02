/**
 * How many entries of a segment wait for delivery: by its blocks where they are known, else by its sequences. After thinning and delivery in part
 * this is an upper bound: nobody is told that nothing waits where something does. While its end was never read, it is a lower bound.
 */
import type { BlockInfo } from '../format/block-frame.ts';
import { isOpenEnded } from '../format/segment-file.ts';
import type { Segment, SegmentShelf } from '../segments/segment-shelf.ts';
import type { SequenceRanges } from './sequence-ranges.ts';

/** The sequences of blocks in which numbers alone do not say how many entries wait. */
type SequencesOfBlocks = ReadonlyMap<BlockInfo, readonly number[]>;

export function heldIn(
  segment: Segment,
  blocks: readonly BlockInfo[] | undefined,
  acknowledged: SequenceRanges,
  sequences?: SequencesOfBlocks,
): number {
  const { firstSequence, lastSequence, thinned, count } = segment;
  if (lastSequence < firstSequence || acknowledged.covers(firstSequence, lastSequence)) return 0;
  if (blocks !== undefined)
    return blocks.reduce((sum, block) => sum + heldInBlock(block, acknowledged, sequences?.get(block)), 0);
  const settled = acknowledged.countWithin(firstSequence, lastSequence);
  // Entries known to be in it, and one: its blocks will say how many more.
  if (isOpenEnded(segment)) return Math.max(1, count - settled);
  const open = lastSequence - firstSequence + 1 - settled;
  // Entries delivered before it was thinned are not in the count: no share of that says how many are left.
  return thinned > 0 ? Math.min(count, open) : open;
}

/** The boot of the oldest entry that waits for a time of its boot; of the segment's first, and '' at worst, where that is not known without reading. */
export function oldestWaitingBoot(shelf: SegmentShelf, acknowledged: SequenceRanges): string | undefined {
  for (const segment of shelf.segments) {
    const blocks = shelf.knownBlocksOf(segment);
    if (heldIn(segment, blocks, acknowledged) === 0) continue;
    const waiting = blocks?.find((block) => !block.ownTime && heldInBlock(block, acknowledged) > 0);
    if (blocks === undefined) return segment.first?.bootId ?? '';
    if (waiting !== undefined) return waiting.bootId;
  }
  return undefined;
}

/** Knowledge of a segment: where its blocks lie, and the sequences of those that `SequencesOfBlocks` is about. */
export interface SegmentContent {
  readonly blocks?: readonly BlockInfo[] | undefined;
  readonly sequences?: SequencesOfBlocks;
}

/** Reads all that is needed to count exactly; what cannot be read stays as it is known. */
export async function contentOf(
  shelf: SegmentShelf,
  segment: Segment,
  acknowledged: SequenceRanges,
): Promise<SegmentContent> {
  const blocks = await shelf.blocksOf(segment).catch(() => undefined);
  const unclear = (blocks ?? []).filter(
    (info) =>
      hasGaps(info) &&
      acknowledged.touches(info.firstSequence, info.lastSequence) &&
      heldInBlock(info, acknowledged) > 0,
  );
  const read = await shelf.read(unclear.map((info) => ({ segment, info }))).catch(() => []);
  return {
    blocks,
    sequences: new Map(
      unclear.flatMap((info, at) => (read[at]?.sequences === undefined ? [] : [[info, read[at].sequences]])),
    ),
  };
}

/** As `heldIn`, of a block; of one that thinning left gaps in, without its sequences, at most. */
export function heldInBlock(info: BlockInfo, acknowledged: SequenceRanges, sequences?: readonly number[]): number {
  const { firstSequence, lastSequence, count } = info;
  if (sequences !== undefined) return sequences.filter((sequence) => !acknowledged.has(sequence)).length;
  return Math.min(count, lastSequence - firstSequence + 1 - acknowledged.countWithin(firstSequence, lastSequence));
}

function hasGaps({ firstSequence, lastSequence, count }: BlockInfo): boolean {
  return count < lastSequence - firstSequence + 1;
}
