/**
 * The rule for damage: bytes that are wrong are never guessed at, never hide the bytes around them, and what was lost is counted, once.
 *
 *   bytes that are no block       passed over up to the next block; entries that are in no block and were not settled count as damaged
 *   a block that was whole        the same, when it is met: by a lane, or by thinning
 *   a page that cannot be read    its segment is left alone and tried again (segment-reader.ts); in the end the page counts as zeros
 *   a segment with damage         goes to `set-aside` instead of being unlinked; one with no block at all goes there at once
 *   a small file                  goes to `set-aside` when it is wrong, or cannot be read for long (small-file.ts); its twin is used, or none
 *
 * Damaged entries are acknowledged too: nothing waits for them, and no new entry gets its sequence.
 */
import type { BlockInfo } from '../format/block-frame.ts';
import type { Segment } from '../segments/segment-shelf.ts';
import type { DeliveryState } from './delivery-state.ts';
import { heldInBlock } from './segment-count.ts';

/** Sequences of a segment that no block has, and that were neither delivered nor dropped, were lost to damage. */
export function closeGaps(state: DeliveryState, segment: Segment, blocks: readonly BlockInfo[]): void {
  if (blocks.length === 0 && segment.damagedBytes === 0) return;
  let next = segment.firstSequence;
  const end = segment.lastSequence;
  for (const { firstSequence, lastSequence } of [...blocks, { firstSequence: end + 1, lastSequence: end }]) {
    const lost = firstSequence - next - state.acknowledged.countWithin(next, firstSequence - 1);
    if (lost > 0) {
      state.acknowledged.add(next, firstSequence - 1);
      state.count('damaged', lost);
    }
    next = Math.max(next, lastSequence + 1);
  }
}

/** A block that was whole is not any more: what waited in it is lost. */
export function loseBlock(state: DeliveryState, info: BlockInfo): void {
  state.count('damaged', heldInBlock(info, state.acknowledged));
  state.acknowledged.add(info.firstSequence, info.lastSequence);
}
