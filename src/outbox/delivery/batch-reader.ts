/** From the blocks that a lane selected to a batch: reads and unpacks them, gives their entries times for good, and stays within the limits. */
import { hasCode, messageOf } from '../../errors/agent-error.ts';
import { endedWithin } from '../../host/bounded-wait.ts';
import type { NumberedBlock } from '../format/block-frame.ts';
import { EntryColumns } from '../format/entry-columns.ts';
import type { PlacedBlock } from '../segments/segment-shelf.ts';
import { canGiveOut, freezeEntries } from '../times/entry-resolver.ts';
import { loseBlock } from './damage.ts';
import type { DeliveryParts } from './delivery-parts.ts';
import type { Lanes } from './lanes.ts';
import type { BatchLimits, Lane, OutboxBatch } from './outbox-batch.ts';
import { type SequenceRange, SequenceRanges } from './sequence-ranges.ts';

/** Alarms do not wait longer for a disk that hangs. */
const SAVE_WITHIN_MS = 2_000;

interface BatchReaderDeps
  extends Pick<DeliveryParts, 'clock' | 'log' | 'shelf' | 'state' | 'quarantined' | 'boots' | 'settings'> {
  readonly lanes: Lanes;
}

interface Part {
  readonly entries: EntryColumns;
  readonly ranges: readonly SequenceRange[];
}

export class BatchReader {
  readonly #deps: BatchReaderDeps;
  /** Told once for each kind of fault: a disk that takes nothing is asked with each batch. */
  #timesFault: string | undefined;

  constructor(deps: BatchReaderDeps) {
    this.#deps = deps;
  }

  /** The next batch of a lane; what turns out to be damaged is counted, what cannot be read is tried later, and both are passed over. */
  async next(lane: Lane, limits: BatchLimits, beyond?: OutboxBatch): Promise<OutboxBatch | undefined> {
    for (;;) {
      try {
        return await this.#next(lane, limits, beyond);
      } catch (error) {
        // The segment at fault is out of the lanes' sight now, so this ends.
        if (!hasCode(error, 'outbox/unreadable')) throw error;
      }
    }
  }

  /** Blocks in memory within the limits, at least one, that still wait, not for their time, and are not on their way: `beyond`. */
  async unwritten(
    lane: Lane,
    blocks: readonly NumberedBlock[],
    limits: BatchLimits,
    beyond?: OutboxBatch,
  ): Promise<OutboxBatch | undefined> {
    const { state, boots, quarantined } = this.#deps;
    const notNow = new SequenceRanges([...(beyond?.ranges ?? []), ...quarantined.list()]);
    const parts: Part[] = [];
    let [count, bytes] = [0, 0];
    for (const { info, entries: columns } of blocks) {
      const { firstSequence, lastSequence } = info;
      if (notNow.coversWith(state.acknowledged, firstSequence, lastSequence) || !canGiveOut(boots, info)) continue;
      const entries = this.#waitingOf(freezeEntries(boots, info, columns));
      if (entries.length === 0) continue;
      const size = entries.jsonBytes();
      if (parts.length > 0 && (count + entries.length > limits.maxEntries || bytes + size > limits.maxBytes)) break;
      [count, bytes] = [count + entries.length, bytes + size];
      parts.push({ entries, ranges: this.#waitingIn([firstSequence, lastSequence]) });
    }
    if (parts.length === 0) return undefined;
    await this.#keepTimes();
    return {
      lane,
      entries: EntryColumns.joined(parts.map(({ entries }) => entries)),
      ranges: parts.flatMap(({ ranges }) => ranges),
      bytes,
    };
  }

  async #next(lane: Lane, limits: BatchLimits, beyond: OutboxBatch | undefined): Promise<OutboxBatch | undefined> {
    for (;;) {
      const placed = await this.#deps.lanes.select(lane, limits.maxEntries, beyond?.ranges);
      if (placed.length === 0) return undefined;
      // By bytes, too, what the lane would give first stays.
      const newestFirst = lane !== 'alarm' && this.#deps.settings.order === 'newest-first';
      const { parts, bytes } = await this.#read(placed, limits.maxBytes, newestFirst);
      await this.#keepTimes();
      if (parts.length === 0) continue;
      if (newestFirst) parts.reverse();
      return {
        lane,
        entries: EntryColumns.joined(parts.map(({ entries }) => entries)),
        ranges: parts.flatMap(({ ranges }) => ranges),
        bytes,
      };
    }
  }

  async #read(
    placed: readonly PlacedBlock[],
    maxBytes: number,
    newestFirst: boolean,
  ): Promise<{ parts: Part[]; bytes: number }> {
    const { shelf, state, boots, quarantined } = this.#deps;
    const { acknowledged } = state;
    const read = await shelf.read(placed);
    const parts: Part[] = [];
    let bytes = 0;
    for (let step = 0; step < placed.length; step += 1) {
      const at = newestFirst ? placed.length - 1 - step : step;
      const block = placed[at] as PlacedBlock;
      const { firstSequence, lastSequence } = block.info;
      const columns = read[at];
      if (columns === undefined) {
        loseBlock(state, block.info);
        continue;
      }
      const all = freezeEntries(boots, block.info, columns);
      const isPartial =
        acknowledged.touches(firstSequence, lastSequence) || quarantined.touches(firstSequence, lastSequence);
      const whole: SequenceRange = [firstSequence, lastSequence];
      const entries = isPartial ? this.#waitingOf(all) : all;
      if (entries.length === 0) {
        // Nothing waits but what is in quarantine; the gaps alone would make it look as if something did, again and again.
        state.settleGaps(quarantined.without([whole]));
        continue;
      }
      const size = entries.jsonBytes();
      if (parts.length > 0 && bytes + size > maxBytes) break;
      bytes += size;
      parts.push({ entries, ranges: isPartial ? this.#waitingIn(whole) : [whole] });
    }
    return { parts, bytes };
  }

  #waitingOf(all: EntryColumns): EntryColumns {
    const { state, quarantined } = this.#deps;
    return all.where(
      (row) => !state.acknowledged.has(all.sequences[row] as number) && !quarantined.has(all.sequences[row] as number),
    );
  }

  /** An acknowledgement must not reach what is in quarantine, nor what was delivered before and is put back to be sent again meanwhile. */
  #waitingIn(whole: SequenceRange): readonly SequenceRange[] {
    return this.#deps.state.acknowledged.without(this.#deps.quarantined.without([whole]));
  }

  /** Frozen offsets must survive a power cut, or a retry would carry other times. A disk that takes nothing, or hangs, holds up no delivery. */
  async #keepTimes(): Promise<void> {
    const { boots, clock, log } = this.#deps;
    if (!boots.dirty) return;
    const saved = boots.save().then(
      () => {
        this.#timesFault = undefined;
      },
      (error: unknown) => {
        if (this.#timesFault !== messageOf(error)) log.warn({ err: error }, 'boot times cannot be written');
        this.#timesFault = messageOf(error);
      },
    );
    await endedWithin(clock, SAVE_WITHIN_MS, saved);
  }
}
