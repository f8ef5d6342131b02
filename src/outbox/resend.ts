/**
 * Puts delivered entries that are still kept back into the backlog: their blocks count as not acknowledged, and the ledger no longer
 * counts them, in one change of the delivery state. They go out again with the very times they had, so what arrives twice overwrites itself.
 */
import type { BootTimes } from './boot-times.ts';
import type { DeliveryState } from './delivery-state.ts';
import { lookAtEntries } from './entry-resolver.ts';
import type { EntryColumns, ResolvedEntry } from './outbox-batch.ts';
import type { Segment, SegmentShelf } from './segment-shelf.ts';
import type { SerialQueue } from './serial-queue.ts';

export interface ResendQuery {
  readonly key: string;
  /** UTC epoch ms, `[fromMs, toMs)`. */
  readonly fromMs: number;
  readonly toMs: number;
}

export interface ResendParts {
  readonly shelf: SegmentShelf;
  readonly boots: BootTimes;
  readonly state: DeliveryState;
  readonly reading: SerialQueue;
  /** Refused entries: acknowledged, but never counted. */
  readonly rejected: ReadonlySet<number>;
}

/** Resolves to how many entries of the query wait again; their neighbours in the same blocks go along. */
export async function resendDelivered(parts: ResendParts, query: ResendQuery, signal: AbortSignal): Promise<number> {
  let matched = 0;
  for (const segment of [...parts.shelf.segments]) {
    signal.throwIfAborted();
    matched += await parts.reading.run(() => resendFrom(parts, segment, query));
  }
  return matched;
}

async function resendFrom(parts: ResendParts, segment: Segment, query: ResendQuery): Promise<number> {
  const { shelf, boots } = parts;
  if (!shelf.segments.includes(segment) || !shelf.isReadable(segment)) return 0;
  let matched = 0;
  for (const info of await shelf.blocksOf(segment)) {
    const [columns] = await shelf.read([{ segment, info }]);
    if (columns === undefined) continue;
    const entries = lookAtEntries(boots, { segment, info }, columns);
    const wanted = [...entries].filter((entry) => isWanted(entry, query, parts)).length;
    if (wanted > 0) giveUp(entries, parts);
    matched += wanted;
  }
  return matched;
}

function isWanted({ key, ts, sequence }: ResolvedEntry, query: ResendQuery, { state, rejected }: ResendParts): boolean {
  return key === query.key && ts >= query.fromMs && ts < query.toMs && state.acknowledged.has(sequence) && !rejected.has(sequence);
}

/** No wait in here: acknowledgements and the ledger change together. */
function giveUp(entries: EntryColumns, { state, rejected }: ResendParts): void {
  for (const [row, entry] of [...entries].entries()) {
    if (entries.isMark(row) || !state.acknowledged.has(entry.sequence) || rejected.has(entry.sequence)) continue;
    state.cells.take(entry);
    state.acknowledged.remove(entry.sequence, entry.sequence);
  }
}
