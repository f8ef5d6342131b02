/** From the blocks that a lane selected to a batch: reads and unpacks them, gives their entries times for good, and stays within the limits. */
import { hasCode } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { BootTimes } from './boot-times.ts';
import type { DeliveryState } from './delivery-state.ts';
import { freezeEntries } from './entry-resolver.ts';
import type { Lanes } from './lanes.ts';
import { type BatchLimits, EntryColumns, jsonBytesOf, type Lane, type OutboxBatch } from './outbox-batch.ts';
import type { PlacedBlock, SegmentShelf } from './segment-shelf.ts';

/** Alarms do not wait longer for a disk that hangs. */
const SAVE_WITHIN_MS = 2_000;

export interface BatchReaderDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly lanes: Lanes;
  readonly shelf: SegmentShelf;
  readonly state: DeliveryState;
  readonly boots: BootTimes;
  readonly order: 'newest-first' | 'oldest-first';
}

interface Part {
  readonly entries: EntryColumns;
  readonly range: readonly [first: number, last: number];
}

export class BatchReader {
  readonly #deps: BatchReaderDeps;

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

  async #next(lane: Lane, limits: BatchLimits, beyond: OutboxBatch | undefined): Promise<OutboxBatch | undefined> {
    for (;;) {
      const placed = await this.#deps.lanes.select(lane, limits.maxEntries, beyond?.ranges);
      if (placed.length === 0) return undefined;
      // By bytes, too, what the lane would give first stays.
      const newestFirst = lane !== 'alarm' && this.#deps.order === 'newest-first';
      const { parts, bytes } = await this.#read(placed, limits.maxBytes, newestFirst);
      await this.#keepTimes();
      if (parts.length === 0) continue;
      parts.sort((a, b) => a.range[0] - b.range[0]);
      return { lane, entries: EntryColumns.joined(parts.map(({ entries }) => entries)), ranges: parts.map(({ range }) => range), bytes };
    }
  }

  async #read(placed: readonly PlacedBlock[], maxBytes: number, newestFirst: boolean): Promise<{ parts: Part[]; bytes: number }> {
    const { shelf, state, boots } = this.#deps;
    const read = await shelf.read(placed);
    const parts: Part[] = [];
    let bytes = 0;
    for (let step = 0; step < placed.length; step += 1) {
      const at = newestFirst ? placed.length - 1 - step : step;
      const block = placed[at] as PlacedBlock;
      const { firstSequence, lastSequence, count } = block.info;
      const columns = read[at];
      if (columns === undefined) {
        state.acknowledged.add(firstSequence, lastSequence);
        state.count('damaged', count);
        continue;
      }
      const all = freezeEntries(boots, block, columns);
      const isPartial = state.acknowledged.touches(firstSequence, lastSequence);
      const entries = isPartial ? all.where((row) => !state.acknowledged.has(all.sequences[row] as number)) : all;
      const size = jsonBytesOf(entries);
      if (parts.length > 0 && bytes + size > maxBytes) break;
      bytes += size;
      parts.push({ entries, range: [firstSequence, lastSequence] });
    }
    return { parts, bytes };
  }

  /**
   * Offsets that this batch froze must survive a power cut, or a retry would carry other times. On a disk that takes nothing, or hangs,
   * delivery still goes on.
   */
  async #keepTimes(): Promise<void> {
    const { boots, clock, log } = this.#deps;
    if (!boots.dirty) return;
    const saved = boots.save().catch((error: unknown) => log.warn({ err: error }, 'boot times cannot be written'));
    const waiting = new AbortController();
    await Promise.race([saved, clock.sleep(SAVE_WITHIN_MS, waiting.signal)]);
    waiting.abort();
  }
}
