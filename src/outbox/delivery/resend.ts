/**
 * Puts delivered entries that are still kept back into the backlog: their blocks count as not acknowledged, and the ledger no longer
 * counts them, in one change of the delivery state. They go out again with the very times they had, so what arrives twice overwrites itself.
 */
import type { ResolvedEntry } from '../format/entry-columns.ts';
import type { PlacedBlock } from '../segments/segment-shelf.ts';
import { lookAtEntries } from '../times/entry-resolver.ts';
import type { DeliveryParts } from './delivery-parts.ts';
import { blocksInTurn, passOver } from './outbox-reading.ts';
import { nameOf, type RejectedFile } from './rejected-file.ts';

export interface ResendQuery {
  readonly key: string;
  /** UTC epoch ms, `[fromMs, toMs)`. */
  readonly fromMs: number;
  readonly toMs: number;
}

interface ResendParts extends Pick<DeliveryParts, 'shelf' | 'boots' | 'state' | 'reading'> {
  readonly rejected: Pick<RejectedFile, 'list'>;
}

/** Resolves to how many entries of the query wait again; their neighbours in the same blocks go along. */
export async function resendDelivered(parts: ResendParts, query: ResendQuery, signal: AbortSignal): Promise<number> {
  const { shelf, boots, state, rejected, reading } = parts;
  // Of what an earlier release refused nothing else is noted.
  const refused = new Set((await rejected.list()).map(nameOf));
  // It arrived, and was not refused or given up.
  const wasDelivered = (entry: ResolvedEntry): boolean =>
    state.acknowledged.has(entry.sequence) && !state.undelivered.has(entry.sequence) && !refused.has(nameOf(entry));
  const resendBlock = async ({ segment, info }: PlacedBlock): Promise<number> => {
    // A segment may be thinned or unlinked between two blocks; its old places then hold nothing that reads as a block.
    if (!shelf.segments.includes(segment)) return 0;
    const [columns] = await shelf.read([{ segment, info }]).catch(passOver);
    if (columns === undefined) return 0;
    const entries = lookAtEntries(boots, info, columns);
    const isMeant = ({ key, ts }: ResolvedEntry): boolean => key === query.key && ts >= query.fromMs && ts < query.toMs;
    const wanted = [...entries].filter((entry) => isMeant(entry) && wasDelivered(entry)).length;
    if (wanted === 0) return 0;
    // No wait in here: acknowledgements and the ledger change together.
    for (const [row, entry] of [...entries].entries()) {
      if (entries.isMark(row) || !wasDelivered(entry)) continue;
      state.cells.take(entry);
      state.acknowledged.remove(entry.sequence, entry.sequence);
    }
    return wanted;
  };
  let matched = 0;
  for (const segment of [...shelf.segments]) {
    signal.throwIfAborted();
    // A turn for each block: who holds up commits waits for one of them at most.
    for (const placed of await blocksInTurn(parts, segment)) matched += await reading.run(() => resendBlock(placed));
  }
  return matched;
}
