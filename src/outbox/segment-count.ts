/** How many entries of a segment wait for delivery: exactly, where its blocks are known, and otherwise by its sequences. */
import type { BlockInfo } from './block-frame.ts';
import type { Segment } from './segment-shelf.ts';
import type { SequenceRanges } from './sequence-ranges.ts';

export function heldIn(segment: Segment, blocks: readonly BlockInfo[] | undefined, acknowledged: SequenceRanges): number {
  const { firstSequence, lastSequence, thinned, count } = segment;
  if (lastSequence < firstSequence || acknowledged.covers(firstSequence, lastSequence)) return 0;
  if (blocks !== undefined) return blocks.reduce((sum, block) => sum + heldInBlock(block, acknowledged), 0);
  const width = lastSequence - firstSequence + 1;
  const open = width - acknowledged.countWithin(firstSequence, lastSequence);
  return thinned > 0 ? Math.round((count * open) / width) : open;
}

/** A block that thinning left gaps in has fewer entries than sequences. */
function heldInBlock({ firstSequence, lastSequence, count }: BlockInfo, acknowledged: SequenceRanges): number {
  if (acknowledged.covers(firstSequence, lastSequence)) return 0;
  return Math.max(0, count - acknowledged.countWithin(firstSequence, lastSequence));
}
