/** How many entries of a segment wait for delivery: exactly, where its blocks are known, and otherwise by its sequences; at least, without its end. */
import type { BlockInfo } from './block-frame.ts';
import { isOpenEnded } from './segment-file.ts';
import type { Segment, SegmentShelf } from './segment-shelf.ts';
import type { SequenceRanges } from './sequence-ranges.ts';

export function heldIn(segment: Segment, blocks: readonly BlockInfo[] | undefined, acknowledged: SequenceRanges): number {
  const { firstSequence, lastSequence, thinned, count } = segment;
  if (lastSequence < firstSequence || acknowledged.covers(firstSequence, lastSequence)) return 0;
  if (blocks !== undefined) return blocks.reduce((sum, block) => sum + heldInBlock(block, acknowledged), 0);
  const settled = acknowledged.countWithin(firstSequence, lastSequence);
  // What is known to be in it, and one: how many more, its blocks will say.
  if (isOpenEnded(segment)) return Math.max(1, count - settled);
  const width = lastSequence - firstSequence + 1;
  const open = width - settled;
  return thinned > 0 ? Math.round((count * open) / width) : open;
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

/** The same of a block; one that thinning left gaps in has fewer entries than sequences. */
export function heldInBlock({ firstSequence, lastSequence, count }: BlockInfo, acknowledged: SequenceRanges): number {
  if (acknowledged.covers(firstSequence, lastSequence)) return 0;
  return Math.max(0, count - acknowledged.countWithin(firstSequence, lastSequence));
}
