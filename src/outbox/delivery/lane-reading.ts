/**
 * Reads the next batch of a lane, and waits for the disk only for a limited time. A read that hangs holds up every other read: the caller then gets
 * nothing, and the batch when it asks again. What the disk does not have yet comes from memory, and so do the newest alarms that it has: alarms of
 * memory go first, all else of it behind what the disk has of the present.
 */
import { endedWithin } from '../../host/bounded-wait.ts';
import { type FramedBlock, type NumberedBlock, unpackBlock } from '../format/block-frame.ts';
import type { EntryClass } from '../format/telemetry-entry.ts';
import type { BatchReader } from './batch-reader.ts';
import type { DeliveryParts } from './delivery-parts.ts';
import type { Lanes } from './lanes.ts';
import type { BatchLimits, Lane, OutboxBatch } from './outbox-batch.ts';

export interface LaneReadingDeps extends Pick<DeliveryParts, 'clock' | 'reading' | 'state'> {
  readonly lanes: Lanes;
  readonly batches: BatchReader;
  /** Blocks of a class that the disk does not have, and that may leave. */
  readonly unwritten: (kind: EntryClass) => readonly NumberedBlock[];
  /** Told when a read that nobody waited for any more has ended. */
  readonly onLate: () => void;
}

/** Longer than what a read may itself wait for a disk that does not write. */
const READ_WITHIN_MS = 3_000;
/** Alarms that the disk took are kept in memory, too, until they arrived: the newest, up to so many blocks and bytes. */
const MAX_BLOCKS = 64;
const MAX_BYTES = 256 * 1024;

export class LaneReading {
  readonly #deps: LaneReadingDeps;
  #hanging = 0;
  /** By lane, what was read too late; undefined: nothing was found. Kept for each lane, so that a slow one does not hold up the others again. */
  readonly #late = new Map<Lane, OutboxBatch | undefined>();
  #alarms: readonly FramedBlock[] = [];

  constructor(deps: LaneReadingDeps) {
    this.#deps = deps;
  }

  /** Blocks became durable. */
  committed(blocks: readonly FramedBlock[]): void {
    const { acknowledged } = this.#deps.state;
    const alarms = [...this.#alarms, ...blocks].filter(
      ({ info }) => info.alarm && !acknowledged.covers(info.firstSequence, info.lastSequence),
    );
    // That nothing was there says nothing of what has come.
    if (blocks.some(({ info }) => info.alarm) && this.#late.get('alarm') === undefined) this.#late.delete('alarm');
    let bytes = 0;
    const newest = alarms.toReversed().findIndex((block, at) => {
      bytes += block.bytes.length;
      return at >= MAX_BLOCKS || bytes > MAX_BYTES;
    });
    this.#alarms = newest === -1 ? alarms : alarms.slice(alarms.length - newest);
  }

  /** True while a look takes longer than anybody waited for. */
  get isStillLooking(): boolean {
    return this.#hanging > 0;
  }

  /** As `Outbox.peek`; undefined, too, while the disk does not answer. */
  async peek(lane: Lane, limits: BatchLimits, beyond?: OutboxBatch): Promise<OutboxBatch | undefined> {
    if (lane === 'backlog') return this.#fromDisk(lane, limits, beyond);
    if (lane === 'alarm') return (await this.#fromMemory(lane, limits, beyond)) ?? this.#fromDisk(lane, limits, beyond);
    // Entries of the present on the disk are older. Behind those in memory they would wait for ever: between two uploads something always came.
    try {
      return (await this.#fromDisk(lane, limits, beyond)) ?? (await this.#fromMemory(lane, limits, beyond));
    } catch (error) {
      const present = await this.#fromMemory(lane, limits, beyond);
      if (present === undefined) throw error;
      return present;
    }
  }

  async #fromMemory(
    lane: 'alarm' | 'live',
    limits: BatchLimits,
    beyond: OutboxBatch | undefined,
  ): Promise<OutboxBatch | undefined> {
    return await this.#deps.batches.unwritten(lane, await this.#unwrittenIn(lane), limits, beyond);
  }

  async #fromDisk(lane: Lane, limits: BatchLimits, beyond: OutboxBatch | undefined): Promise<OutboxBatch | undefined> {
    const { batches, lanes } = this.#deps;
    if (!lanes.mayHold(lane)) return undefined;
    const late = this.#late.get(lane);
    const wasLate = this.#late.delete(lane);
    if (wasLate && (late === undefined || this.#isWaiting(late))) return late;
    // It would only stand behind the one that hangs.
    const batch = this.#hanging > 0 ? undefined : await this.#inTime(lane, () => batches.next(lane, limits, beyond));
    return batch === undefined && lane === 'alarm' && this.#hanging > 0
      ? batches.unwritten(lane, this.#alarms.map(unpacked), limits, beyond)
      : batch;
  }

  /** None of the present while history must go before it. */
  async #unwrittenIn(lane: 'alarm' | 'live'): Promise<readonly NumberedBlock[]> {
    const { lanes, unwritten } = this.#deps;
    if (lane === 'alarm') return unwritten(lane);
    const blocks = unwritten('regular');
    return blocks.length > 0 && lanes.inOrder && (await this.#isBacklogFirst()) ? [] : blocks;
  }

  /** False, too, while the disk does not answer, or cannot be read. */
  async #isBacklogFirst(): Promise<boolean> {
    const { clock, reading, lanes } = this.#deps;
    const asked = reading.run(() => lanes.hasBacklog()).catch(() => false);
    return (await endedWithin(clock, READ_WITHIN_MS, asked)) && (await asked);
  }

  /** The outcome of a read in its turn; undefined when it takes too long. */
  async #inTime(lane: Lane, read: () => Promise<OutboxBatch | undefined>): Promise<OutboxBatch | undefined> {
    const { clock, reading, onLate } = this.#deps;
    const work = reading.run(read);
    if (await endedWithin(clock, READ_WITHIN_MS, work)) return work;
    this.#hanging += 1;
    const end = (late?: OutboxBatch): void => {
      this.#hanging -= 1;
      this.#late.set(lane, late);
      onLate();
    };
    // A fault that comes late is met again.
    work.then(end, () => end());
    return undefined;
  }

  #isWaiting({ ranges }: OutboxBatch): boolean {
    return ranges.some(([first, last]) => !this.#deps.state.acknowledged.covers(first, last));
  }
}

function unpacked({ bytes, info }: FramedBlock): NumberedBlock {
  return { info, entries: unpackBlock(bytes, 0, info) };
}
