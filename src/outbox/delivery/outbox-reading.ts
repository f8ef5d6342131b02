/** Reads what is still on the disk or on its way there, delivered or not: for plots, the audit and the command line. One block of entries in memory at a time. */
import { hasCode } from '../../errors/agent-error.ts';
import type { NumberedBlock } from '../format/block-frame.ts';
import type { ResolvedEntry } from '../format/entry-columns.ts';
import type { PlacedBlock, Segment, SegmentShelf } from '../segments/segment-shelf.ts';
import { lookAtEntries } from '../times/entry-resolver.ts';
import type { DeliveryParts } from './delivery-parts.ts';
import type { DeliveryState } from './delivery-state.ts';

export interface EntryQuery {
  readonly device?: string;
  readonly keys?: readonly string[];
  /** UTC epoch ms, `[fromMs, toMs)`. */
  readonly fromMs?: number;
  readonly toMs?: number;
  /** Only entries that wait for delivery. */
  readonly heldOnly?: boolean;
}

/** Entries with a time of their own need none of a boot's. */
const ITS_OWN = { untilMs: Number.POSITIVE_INFINITY, offsetMs: 0 } as const;

type ReadingParts = Pick<DeliveryParts, 'shelf' | 'boots' | 'state' | 'reading'>;

export async function* readEntries(
  parts: ReadingParts & { readonly unwritten: readonly NumberedBlock[] },
  query: EntryQuery,
  signal: AbortSignal,
): AsyncGenerator<ResolvedEntry> {
  const { shelf, boots, state, reading, unwritten } = parts;
  let readSequence = 0;
  for (const segment of [...shelf.segments]) {
    if (query.heldOnly === true && state.acknowledged.covers(segment.firstSequence, segment.lastSequence)) continue;
    for (const placed of await blocksInTurn(parts, segment)) {
      signal.throwIfAborted();
      readSequence = Math.max(readSequence, placed.info.lastSequence);
      if (!mayMatch(placed.info, query, parts)) continue;
      // A segment may be thinned or unlinked between two blocks; its old places then hold nothing that reads as a block.
      const [columns] = await reading
        .run(async () => (isThere(shelf, segment) ? shelf.read([placed]) : []))
        .catch(passOver);
      if (columns === undefined) continue;
      for (const entry of lookAtEntries(boots, placed.info, columns))
        if (matchesEntry(entry, query, state)) yield entry;
    }
  }
  // Some may have been written while the disk was read.
  for (const { info, entries } of unwritten.filter(({ info: { firstSequence } }) => firstSequence > readSequence))
    if (mayMatch(info, query, parts))
      for (const entry of lookAtEntries(boots, info, entries)) if (matchesEntry(entry, query, state)) yield entry;
}

/** Where the blocks of a segment lie; none when it went, or cannot be read now. */
export async function blocksInTurn(
  { shelf, reading }: Pick<ReadingParts, 'shelf' | 'reading'>,
  segment: Segment,
): Promise<PlacedBlock[]> {
  const blocks = await reading
    .run(async () => (isThere(shelf, segment) ? shelf.blocksOf(segment) : []))
    .catch(passOver);
  return blocks.map((info) => ({ segment, info }));
}

/** One segment that cannot be read must not hide the others. */
export function passOver(error: unknown): never[] {
  if (hasCode(error, 'outbox/unreadable')) return [];
  throw error;
}

function isThere(shelf: SegmentShelf, segment: Segment): boolean {
  return shelf.segments.includes(segment) && shelf.isReadable(segment);
}

function mayMatch(info: NumberedBlock['info'], query: EntryQuery, { boots, state }: ReadingParts): boolean {
  if (query.heldOnly === true && state.acknowledged.covers(info.firstSequence, info.lastSequence)) return false;
  const stretch = info.ownTime ? ITS_OWN : boots.stretchAt(info.bootId, info.firstMs);
  if (stretch === undefined) return false;
  // The clock stepped between its entries: their order says nothing about their times.
  if (info.lastMs >= stretch.untilMs) return true;
  const [first, last] = [info.firstMs + stretch.offsetMs, info.lastMs + stretch.offsetMs];
  return last >= (query.fromMs ?? Number.NEGATIVE_INFINITY) && first < (query.toMs ?? Number.POSITIVE_INFINITY);
}

function matchesEntry(entry: ResolvedEntry, query: EntryQuery, state: DeliveryState): boolean {
  if (query.device !== undefined && entry.device !== query.device) return false;
  if (query.keys !== undefined && !query.keys.includes(entry.key)) return false;
  if (query.fromMs !== undefined && entry.ts < query.fromMs) return false;
  if (query.toMs !== undefined && entry.ts >= query.toMs) return false;
  return query.heldOnly !== true || !state.acknowledged.has(entry.sequence);
}
