/** Opens the parts of an outbox in their order, from whatever lies in its folder. */
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import { BlockBuilder } from './block-builder.ts';
import type { BlockInfo } from './block-frame.ts';
import { BootTimes, type TimeSource } from './boot-times.ts';
import { DeliveryState } from './delivery-state.ts';
import type { FileLayer } from './file-layer.ts';
import { Lanes } from './lanes.ts';
import { LedgerFile } from './ledger-file.ts';
import { type NewestSegment, OutboxFolder } from './outbox-folder.ts';
import { type OutboxSettings, segmentSizes } from './outbox-settings.ts';
import { RejectedFile } from './rejected-file.ts';
import { Retention } from './retention.ts';
import type { Segment } from './segment-shelf.ts';
import { SegmentShelf } from './segment-shelf.ts';
import { SegmentWriter } from './segment-writer.ts';

export interface OutboxDeps {
  /** The outbox's own folder; made when missing. */
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: OutboxSettings;
  readonly timeSync: TimeSource;
  /** The machine's files unless a test brings others. */
  readonly files?: FileLayer;
}

export interface OutboxParts {
  readonly shelf: SegmentShelf;
  readonly state: DeliveryState;
  readonly boots: BootTimes;
  readonly writer: SegmentWriter;
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

export async function openParts(deps: OutboxDeps & { readonly files: FileLayer }): Promise<OutboxParts> {
  const { files, folder, clock, log, settings } = deps;
  await files.makeFolder(folder);
  let counted = 0;
  let opened: DeliveryState | undefined;
  const outboxFolder = new OutboxFolder({
    files,
    folder,
    log,
    setAsideBytes: settings.maxBytes * SET_ASIDE_SHARE,
    onSetAside: () => {
      // The delivery state itself may be what is set aside.
      if (opened === undefined) counted += 1;
      else opened.count('setAside', 1);
    },
  });
  const putAside = (name: string): Promise<void> => outboxFolder.setAside(name);
  const state = await DeliveryState.open({ files, folder, clock }, putAside);
  opened = state;
  if (counted > 0) state.count('setAside', counted);
  const boots = await BootTimes.open({ ...deps, timeUncertain: settings.timeUncertain }, putAside);
  const shelf = new SegmentShelf({ files, folder, log, clock, onScanned: (segment, blocks) => closeGaps(state, segment, blocks) });
  const newest = await outboxFolder.load(shelf);
  if (newest !== undefined) OutboxFolder.observeBoots(boots, newest.scan);
  const small = (share: number): number => Math.min(LARGEST_SMALL_FILE_BYTES, settings.maxBytes * share);
  const ledger = new LedgerFile({ files, folder, maxBytes: small(LEDGER_FILE_SHARE) });
  await ledger.open(state.flush).catch((error: unknown) => log.warn({ err: error }, 'outbox ledger cannot be opened'));
  const sizes = segmentSizes(settings.maxBytes);
  const onWritten = (bytes: number): void => {
    state.counters.diskBytes += bytes;
  };
  const writer = new SegmentWriter({ files, folder, shelf, clock, ...sizes, onWritten });
  if (newest?.scan.cleanTail === true && newest.segment.thinned === 0 && newest.segment.first !== undefined)
    await writer.resume(newest.segment, newest.scan.blocks, newest.scan.end).catch(() => {});
  // Past everything that was ever acknowledged, too: a new entry under an acknowledged number would never be sent.
  const builder = new BlockBuilder(Math.max(shelf.segments.at(-1)?.lastSequence ?? 0, state.acknowledged.last ?? 0) + 1);
  if (newest !== undefined) await occupyAhead(builder, shelf, newest, clock);
  return {
    shelf,
    state,
    boots,
    writer,
    lanes: new Lanes({ ...deps, shelf, boots, acknowledged: state.acknowledged, order: settings.order, commitAgeMs: settings.commitAgeMs }),
    retention: new Retention({ ...deps, shelf, boots, state, setAside: putAside }),
    ledger,
    rejected: new RejectedFile({ files, folder, maxBytes: small(REJECTED_FILE_SHARE) }),
    builder,
  };
}

/** Many values in one ms may have run ahead of the clock; a restart within that time must not give their instants away again. */
async function occupyAhead(builder: BlockBuilder, shelf: SegmentShelf, { segment, scan }: NewestSegment, clock: Clock): Promise<void> {
  const nowMs = Math.floor(clock.monotonicMs());
  const ahead = scan.blocks.filter(({ bootId, ownTime, lastMs }) => bootId === clock.bootId && !ownTime && lastMs >= nowMs);
  const read = await shelf.read(ahead.map((info) => ({ segment, info }))).catch(() => []);
  for (const entries of read) if (entries !== undefined) builder.occupy(entries, nowMs);
}

/** Sequences of a segment that no block has, and that were neither delivered nor dropped, were lost to damage. */
function closeGaps(state: DeliveryState, segment: Segment, blocks: readonly BlockInfo[]): void {
  const last = blocks.at(-1);
  if (last === undefined) return;
  let next = segment.firstSequence;
  const end = segment.lastSequence === Number.MAX_SAFE_INTEGER ? last.lastSequence : segment.lastSequence;
  for (const { firstSequence, lastSequence } of [...blocks, { firstSequence: end + 1, lastSequence: end }]) {
    if (firstSequence > next) {
      const lost = firstSequence - next - state.acknowledged.countWithin(next, firstSequence - 1);
      if (lost > 0) {
        state.acknowledged.add(next, firstSequence - 1);
        state.count('damaged', lost);
      }
    }
    next = Math.max(next, lastSequence + 1);
  }
}
