/** Opens the parts of an outbox in their order, from whatever lies in its folder. */
import type { OutboxConfig } from '../config/schema/agent-config.ts';
import { closeGaps } from './delivery/damage.ts';
import { Delivery } from './delivery/delivery.ts';
import type { DeliveryParts } from './delivery/delivery-parts.ts';
import { DeliveryState } from './delivery/delivery-state.ts';
import type { LedgerFile } from './delivery/ledger-file.ts';
import { openDeadLetters } from './delivery/open-dead-letters.ts';
import { oldestWaitingBoot } from './delivery/segment-count.ts';
import type { BlockInfo } from './format/block-frame.ts';
import { isOpenEnded } from './format/segment-file.ts';
import { OutboxFolder } from './segments/outbox-folder.ts';
import type { OutboxPlace } from './segments/outbox-place.ts';
import { ReadingTurns } from './segments/reading-turns.ts';
import { type Segment, SegmentShelf } from './segments/segment-shelf.ts';
import { SegmentWriter } from './segments/segment-writer.ts';
import { UnreadFiles } from './segments/small-file.ts';
import { BlockBuilder } from './times/block-builder.ts';
import { BootTimes, type TimeSource } from './times/boot-times.ts';
import { noteTaken, observeBoots } from './times/noted-instants.ts';

export interface OutboxDeps extends OutboxPlace {
  readonly settings: OutboxConfig;
  readonly timeSync: TimeSource;
  readonly presentMs?: DeliveryParts['presentMs'];
  /** Since when files cannot be read, over all tries to open it. Without it nothing is given up that the disk refuses at the only try. */
  readonly unread?: UnreadFiles;
}

export interface OutboxParts extends OutboxDeps, Omit<DeliveryParts, 'quarantined'> {
  readonly writer: SegmentWriter;
  readonly builder: BlockBuilder;
  readonly ledger: LedgerFile;
}

/** Share of `maxBytes` for the quarantine. */
const SET_ASIDE_SHARE = 1 / 64;
/** A segment is the unit of unlinking: small enough that space returns soon, large enough that hundreds of them hold everything. */
const MAX_SEGMENT_BYTES = 1024 * 1024;
/** Space is written ahead as zeros, so that a commit changes data only and no file size: its sync then needs no file-system journal. */
const MAX_PREALLOCATION_BYTES = 64 * 1024;
const PAGE_BYTES = 4096;

/** Makes the folder when it is missing. */
export async function openOutboxParts(deps: OutboxDeps): Promise<OutboxParts> {
  const { files, folder, clock, settings, unread = new UnreadFiles(clock) } = deps;
  await files.makeFolder(folder);
  let counted = 0;
  let opened: DeliveryState | undefined;
  const outboxFolder = new OutboxFolder({
    ...deps,
    unread,
    setAsideBytes: settings.maxBytes * SET_ASIDE_SHARE,
    onSetAside: () => {
      // The quarantined file may be the delivery state itself.
      if (opened === undefined) counted += 1;
      else opened.count('setAside', 1);
    },
  });
  const setAside = (name: string): Promise<void> => outboxFolder.setAside(name);
  const state = await DeliveryState.open({ ...deps, unread, setAside });
  opened = state;
  if (counted > 0) state.count('setAside', counted);
  const letters = await openDeadLetters({ ...deps, unread, setAside }, state);
  const boots = await BootTimes.open({ ...deps, unread, setAside });
  const onScanned = (segment: Segment, blocks: readonly BlockInfo[]): void => closeGaps(state, segment, blocks);
  const reading = new ReadingTurns(clock);
  const shelf = new SegmentShelf({ ...deps, reading, onScanned });
  const newest = await outboxFolder.load(shelf);
  if (newest !== undefined) observeBoots(boots, newest.scan.blocks);
  for (const segment of shelf.segments.filter(isOpenEnded)) {
    // Its entries are known only up to one that was delivered.
    const lastKnown = state.acknowledged.lastUpTo(segment.lastSequence) ?? 0;
    if (segment.thinned === 0) segment.count = Math.max(1, lastKnown - segment.firstSequence + 1);
  }
  boots.refresh();
  const ledger = await Delivery.openLedger(deps, settings.maxBytes, state.flush);
  const onWritten = (bytes: number): void => {
    state.counters.diskBytes += bytes;
  };
  const writer = new SegmentWriter({ ...deps, ...segmentSizes(settings.maxBytes), shelf, onWritten });
  const isSound = newest?.scan.cleanTail === true && newest.segment.unreadable === undefined;
  if (isSound && newest.segment.thinned === 0 && newest.segment.first !== undefined)
    await writer.resume(newest.segment, newest.scan.blocks, newest.scan.end).catch(() => {});
  boots.forgetOld(oldestWaitingBoot(shelf, state.acknowledged));
  // Past everything that was ever acknowledged, too: a new entry under an acknowledged number would never be sent.
  const lastOnDisk = shelf.segments.at(-1)?.lastSequence ?? 0;
  const nextSequence = Math.max(lastOnDisk, state.acknowledged.last ?? 0) + 1;
  // Numbers between were in memory alone: the platform has their entries, or a kill took them within the commit age. No block of them is missing.
  if (lastOnDisk + 1 < nextSequence && (newest === undefined || isSound))
    state.acknowledged.add(lastOnDisk + 1, nextSequence - 1);
  const builder = new BlockBuilder(nextSequence, boots);
  if (newest !== undefined) await noteTaken(builder.spacing, { ...newest, shelf, boots, clock });
  return { ...deps, reading, shelf, boots, writer, builder, setAside, state, letters, ledger };
}

/** Segment and preallocation sizes that suit a bound: at least 16 segments in it, whole pages. */
export function segmentSizes(maxBytes: number): { readonly segmentBytes: number; readonly preallocationBytes: number } {
  const segmentBytes = Math.min(MAX_SEGMENT_BYTES, wholePages(maxBytes / 16));
  return { segmentBytes, preallocationBytes: Math.min(MAX_PREALLOCATION_BYTES, wholePages(segmentBytes / 4)) };
}

function wholePages(bytes: number): number {
  return Math.max(PAGE_BYTES, Math.floor(bytes / PAGE_BYTES) * PAGE_BYTES);
}
