/** Opens the parts of an outbox in their order, from whatever lies in its folder. */
import type { Clock } from '../host/clock.ts';
import type { Files } from '../host/files.ts';
import type { Log } from '../host/log.ts';
import { BlockBuilder } from './block-builder.ts';
import type { BlockInfo } from './block-frame.ts';
import { BootTimes, type TimeSource } from './boot-times.ts';
import { DeliveryState } from './delivery-state.ts';
import { Lanes } from './lanes.ts';
import { LedgerFile } from './ledger-file.ts';
import { noteTaken } from './noted-instants.ts';
import { OutboxFolder } from './outbox-folder.ts';
import { type OutboxSettings, segmentSizes } from './outbox-settings.ts';
import { ReadingTurns } from './reading-turns.ts';
import { RejectedFile } from './rejected-file.ts';
import { Retention } from './retention.ts';
import { oldestWaitingBoot } from './segment-count.ts';
import { isOpenEnded } from './segment-file.ts';
import type { Segment } from './segment-shelf.ts';
import { SegmentShelf } from './segment-shelf.ts';
import { SegmentWriter } from './segment-writer.ts';
import { SequenceRanges } from './sequence-ranges.ts';
import { UnreadFiles } from './unread-files.ts';

export interface OutboxDeps {
  /** The outbox's own folder; made when missing. */
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: OutboxSettings;
  readonly timeSync: TimeSource;
  readonly files: Files;
  /** Over all tries to open it. Without, nothing is given up that the disk refuses at the only one. */
  readonly unread?: UnreadFiles;
  /** Looked at the clock before, over all tries to open it. */
  readonly watch?: BootTimes;
}

export interface OutboxParts {
  readonly reading: ReadingTurns;
  readonly shelf: SegmentShelf;
  readonly state: DeliveryState;
  readonly boots: BootTimes;
  readonly writer: SegmentWriter;
  /** Entries that stand aside; in memory only. */
  readonly aside: SequenceRanges;
  readonly lanes: Lanes;
  readonly retention: Retention;
  readonly ledger: LedgerFile;
  readonly rejected: RejectedFile;
  readonly builder: BlockBuilder;
}

/** Shares of `maxBytes` that are not segments; together a sixteenth with some to spare. */
const LEDGER_FILE_SHARE = 1 / 512;
const REJECTED_FILE_SHARE = 1 / 256;
const SET_ASIDE_SHARE = 1 / 64;
const LARGEST_SMALL_FILE_BYTES = 1_000_000;

export async function openParts(deps: OutboxDeps): Promise<OutboxParts> {
  const { files, folder, clock, log, settings, unread = new UnreadFiles(clock) } = deps;
  await files.makeFolder(folder);
  let counted = 0;
  let opened: DeliveryState | undefined;
  const outboxFolder = new OutboxFolder({
    files,
    folder,
    log,
    unread,
    setAsideBytes: settings.maxBytes * SET_ASIDE_SHARE,
    onSetAside: () => {
      // The delivery state itself may be what is set aside.
      if (opened === undefined) counted += 1;
      else opened.count('setAside', 1);
    },
  });
  const putAside = (name: string): Promise<void> => outboxFolder.setAside(name);
  const state = await DeliveryState.open({ files, folder, clock, unread }, putAside);
  opened = state;
  if (counted > 0) state.count('setAside', counted);
  const boots = await BootTimes.open({ ...deps, unread, timeUncertain: settings.timeUncertain }, putAside);
  let waiting: Segment | undefined;
  const onScanned = (segment: Segment, blocks: readonly BlockInfo[]): void => {
    closeGaps(state, segment, blocks);
    if (segment === waiting) OutboxFolder.observeBoots(boots, blocks);
  };
  const reading = new ReadingTurns(clock);
  const shelf = new SegmentShelf({ files, folder, log, clock, reading, onScanned });
  const newest = await outboxFolder.load(shelf);
  if (newest !== undefined) OutboxFolder.observeBoots(boots, newest.scan.blocks);
  else waiting = shelf.segments.at(-1);
  // What was taken in this boot may lie in what cannot be read yet: no step of the clock from now on moves it.
  if (waiting !== undefined) boots.hold(clock.bootId, clock.monotonicMs());
  for (const segment of shelf.segments.filter(isOpenEnded)) {
    // Of its entries only those up to one that was delivered are known.
    const lastKnown = state.acknowledged.lastUpTo(segment.lastSequence) ?? 0;
    if (segment.thinned === 0) segment.count = Math.max(1, lastKnown - segment.firstSequence + 1);
  }
  if (deps.watch !== undefined) boots.takeOver(deps.watch);
  boots.refresh();
  const small = (share: number): number => Math.min(LARGEST_SMALL_FILE_BYTES, settings.maxBytes * share);
  const ledger = new LedgerFile({ files, folder, maxBytes: small(LEDGER_FILE_SHARE) });
  await ledger.open(state.flush).catch((error: unknown) => log.warn({ err: error }, 'outbox ledger cannot be opened'));
  const sizes = segmentSizes(settings.maxBytes);
  const onWritten = (bytes: number): void => {
    state.counters.diskBytes += bytes;
  };
  const writer = new SegmentWriter({ files, folder, shelf, clock, ...sizes, onWritten });
  const isSound = newest?.scan.cleanTail === true && newest.segment.unreadable === undefined;
  if (isSound && newest.segment.thinned === 0 && newest.segment.first !== undefined)
    await writer.resume(newest.segment, newest.scan.blocks, newest.scan.end).catch(() => {});
  boots.forgetOld(oldestWaitingBoot(shelf, state.acknowledged));
  // Past everything that was ever acknowledged, too: a new entry under an acknowledged number would never be sent.
  const nextSequence = Math.max(shelf.segments.at(-1)?.lastSequence ?? 0, state.acknowledged.last ?? 0) + 1;
  const builder = new BlockBuilder(nextSequence, boots);
  if (newest !== undefined) await noteTaken(builder.spacing, { ...newest, shelf, boots, clock });
  const { acknowledged } = state;
  const aside = new SequenceRanges();
  return {
    reading,
    shelf,
    state,
    boots,
    writer,
    aside,
    lanes: new Lanes({ ...deps, shelf, boots, acknowledged, aside, order: settings.order, commitAgeMs: settings.commitAgeMs }),
    retention: new Retention({ ...deps, reading, shelf, boots, state, setAside: putAside }),
    ledger,
    rejected: new RejectedFile({ files, folder, maxBytes: small(REJECTED_FILE_SHARE) }),
    builder,
  };
}

/** Sequences of a segment that no block has, and that were neither delivered nor dropped, were lost to damage. */
function closeGaps(state: DeliveryState, segment: Segment, blocks: readonly BlockInfo[]): void {
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
