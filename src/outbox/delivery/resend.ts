/**
 * Puts delivered entries that are still kept back into the backlog: their blocks count as not acknowledged, and the ledger no longer
 * counts them, in one change of the delivery state. They go out again with the very times they had, so what arrives twice overwrites itself.
 * A person asks for a key and a range of time; a restart of the platform, for what was acknowledged shortly before it.
 */

import type { NumberedBlock } from '../format/block-frame.ts';
import type { EntryColumns, ResolvedEntry } from '../format/entry-columns.ts';
import type { PlacedBlock, Segment } from '../segments/segment-shelf.ts';
import { lookAtEntries } from '../times/entry-resolver.ts';
import type { DeliveryParts } from './delivery-parts.ts';
import type { DeliveryState } from './delivery-state.ts';
import { blocksInTurn, passOver } from './outbox-reading.ts';

export interface ResendQuery {
  readonly key: string;
  /** UTC epoch ms, `[fromMs, toMs)`. */
  readonly fromMs: number;
  readonly toMs: number;
}

interface ResendParts extends Pick<DeliveryParts, 'shelf' | 'boots' | 'state' | 'reading'> {
  /** Blocks that are in memory, and not on the disk. */
  readonly unwritten: readonly NumberedBlock[];
}

/** A queue of the platform that is lost holds no more than seconds. */
const MAX_RECENT = 5_000;
/** A platform that is away for longer finds what `retain` still keeps. */
const KEPT_FOR_MS = 600_000;

interface RecentDeliveriesDeps extends Pick<DeliveryParts, 'clock' | 'shelf' | 'state'> {
  /** True of a number that is in memory, and not on the disk. */
  readonly isInMemory: (sequence: number) => boolean;
}

/** The entries that were acknowledged last, and when; in memory only. */
export class RecentDeliveries {
  readonly #deps: RecentDeliveriesDeps;
  /** The newest first. */
  #batches: readonly { readonly atMs: number; readonly entries: EntryColumns }[] = [];

  constructor(deps: RecentDeliveriesDeps) {
    this.#deps = deps;
  }

  add(acknowledged: EntryColumns): void {
    const { length } = acknowledged;
    const entries = length <= MAX_RECENT ? acknowledged : acknowledged.part(length - MAX_RECENT, length);
    let newer = 0;
    this.#batches = [{ atMs: this.#deps.clock.monotonicMs(), entries }, ...this.#batches].filter((batch) => {
      newer += batch.entries.length;
      return newer <= MAX_RECENT;
    });
  }

  /** True for a segment that holds some of the last minutes: it is kept. */
  lieIn({ firstSequence, lastSequence }: Segment): boolean {
    return this.#since(this.#deps.clock.monotonicMs() - KEPT_FOR_MS).some(
      ({ sequences }) => (sequences[0] as number) <= lastSequence && (sequences.at(-1) as number) >= firstSequence,
    );
  }

  /** Puts back those acknowledged at or after `sinceMs`, each once; returns how many. */
  putBack(sinceMs: number): number {
    const { shelf, state, isInMemory } = this.#deps;
    const isKept = (sequence: number): boolean =>
      isInMemory(sequence) || (shelf.segmentAtOrAfter(sequence)?.firstSequence ?? Number.POSITIVE_INFINITY) <= sequence;
    let count = 0;
    for (const entries of this.#since(sinceMs))
      for (const [row, entry] of [...entries].entries()) {
        if (entries.isMark(row) || !isDelivered(state, entry.sequence) || !isKept(entry.sequence)) continue;
        putBack(state, entry);
        count += 1;
      }
    this.#batches = [];
    return count;
  }

  #since(ms: number): readonly EntryColumns[] {
    return this.#batches.filter(({ atMs }) => atMs >= ms).map(({ entries }) => entries);
  }
}

/** Resolves to how many entries of the query wait again; their neighbours in the same blocks go along. */
export async function resendDelivered(parts: ResendParts, query: ResendQuery, signal: AbortSignal): Promise<number> {
  const { shelf, boots, state, reading, unwritten } = parts;
  const resendBlock = async ({ segment, info }: PlacedBlock): Promise<number> => {
    // A segment may be thinned or unlinked between two blocks; its old places then hold nothing that reads as a block.
    if (!shelf.segments.includes(segment)) return 0;
    const [columns] = await shelf.read([{ segment, info }]).catch(passOver);
    return columns === undefined ? 0 : resendEntries(state, lookAtEntries(boots, info, columns), query);
  };
  let matched = 0;
  for (const { info, entries } of unwritten)
    matched += resendEntries(state, lookAtEntries(boots, info, entries), query);
  for (const segment of [...shelf.segments]) {
    signal.throwIfAborted();
    // A turn for each block: who holds up commits waits for one of them at most.
    for (const placed of await blocksInTurn(parts, segment)) matched += await reading.run(() => resendBlock(placed));
  }
  return matched;
}

/** Puts the delivered entries of a block back when the query means any; returns how many it means. No wait in here: acknowledgements and the ledger change together. */
function resendEntries(state: DeliveryState, entries: EntryColumns, query: ResendQuery): number {
  const isMeant = ({ key, ts }: ResolvedEntry): boolean => key === query.key && ts >= query.fromMs && ts < query.toMs;
  const delivered = [...entries].filter((entry, row) => !entries.isMark(row) && isDelivered(state, entry.sequence));
  const meant = delivered.filter(isMeant).length;
  if (meant > 0) for (const entry of delivered) putBack(state, entry);
  return meant;
}

/** True when it arrived, and was not refused or given up. */
function isDelivered({ acknowledged, undelivered }: DeliveryState, sequence: number): boolean {
  return acknowledged.has(sequence) && !undelivered.has(sequence);
}

function putBack({ acknowledged, cells }: DeliveryState, entry: ResolvedEntry): void {
  cells.take(entry);
  acknowledged.remove(entry.sequence, entry.sequence);
}
