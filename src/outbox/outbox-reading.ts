/** Reads what is still on the disk, delivered or not: for plots, the audit and the command line. One block of entries in memory at a time. */
import { hasCode } from '../errors.ts';
import type { BlockInfo } from './block-frame.ts';
import type { BootTimes } from './boot-times.ts';
import type { DeliveryState } from './delivery-state.ts';
import { lookAtEntries } from './entry-resolver.ts';
import type { ResolvedEntry } from './outbox-batch.ts';
import type { Segment, SegmentShelf } from './segment-shelf.ts';
import type { SerialQueue } from './serial-queue.ts';

export interface EntryQuery {
  readonly device?: string;
  readonly keys?: readonly string[];
  /** UTC epoch ms, `[fromMs, toMs)`. */
  readonly fromMs?: number;
  readonly toMs?: number;
  /** Only entries that wait for delivery. */
  readonly heldOnly?: boolean;
}

export interface ReadingParts {
  readonly shelf: SegmentShelf;
  readonly boots: BootTimes;
  readonly state: DeliveryState;
  readonly reading: SerialQueue;
}

export async function* readEntries(parts: ReadingParts, query: EntryQuery, signal: AbortSignal): AsyncGenerator<ResolvedEntry> {
  const { shelf, boots, state, reading } = parts;
  for (const segment of [...shelf.segments]) {
    if (query.heldOnly === true && state.acknowledged.covers(segment.firstSequence, segment.lastSequence)) continue;
    const blocks = await reading.run(async () => (isThere(shelf, segment) ? [...(await shelf.blocksOf(segment))] : [])).catch(passOver);
    for (const info of blocks) {
      signal.throwIfAborted();
      if (!mayMatch(info, query, parts)) continue;
      // A segment may be thinned or unlinked between two blocks; its old places then hold nothing that reads as a block.
      const [columns] = await reading.run(async () => (isThere(shelf, segment) ? shelf.read([{ segment, info }]) : [])).catch(passOver);
      if (columns === undefined) continue;
      for (const entry of lookAtEntries(boots, { segment, info }, columns)) if (matchesEntry(entry, query, state)) yield entry;
    }
  }
}

/** One segment that cannot be read must not hide the others. */
function passOver(error: unknown): never[] {
  if (hasCode(error, 'outbox/unreadable')) return [];
  throw error;
}

function isThere(shelf: SegmentShelf, segment: Segment): boolean {
  return shelf.segments.includes(segment) && shelf.isReadable(segment);
}

function mayMatch(info: BlockInfo, query: EntryQuery, { boots, state }: ReadingParts): boolean {
  if (query.heldOnly === true && state.acknowledged.covers(info.firstSequence, info.lastSequence)) return false;
  if (query.fromMs === undefined && query.toMs === undefined) return true;
  const first = info.ownTime ? info.firstMs : boots.look(info.bootId, info.firstMs);
  const last = info.ownTime ? info.lastMs : boots.look(info.bootId, info.lastMs);
  if (first === undefined || last === undefined) return false;
  return last >= (query.fromMs ?? Number.NEGATIVE_INFINITY) && first < (query.toMs ?? Number.POSITIVE_INFINITY);
}

function matchesEntry(entry: ResolvedEntry, query: EntryQuery, state: DeliveryState): boolean {
  if (query.device !== undefined && entry.device !== query.device) return false;
  if (query.keys !== undefined && !query.keys.includes(entry.key)) return false;
  if (query.fromMs !== undefined && entry.ts < query.fromMs) return false;
  if (query.toMs !== undefined && entry.ts >= query.toMs) return false;
  return query.heldOnly !== true || !state.acknowledged.has(entry.sequence);
}
