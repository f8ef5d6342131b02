/**
 * Entries in quarantine, out of the lanes' sight: those that failed alone, until it is known whether others pass. This is kept in memory only. In
 * their segments they are undelivered like any other, so that a restart puts them back into their lanes, and age and bound take them
 * with the rest.
 */
import type { BatchReader } from './batch-reader.ts';
import type { DeliveryParts } from './delivery-parts.ts';
import type { LaneReading } from './lane-reading.ts';
import type { OutboxBatch } from './outbox-batch.ts';

interface QuarantineDeps extends Pick<DeliveryParts, 'quarantined' | 'state'> {
  readonly batches: BatchReader;
  readonly reading: Pick<LaneReading, 'inTime'>;
}

export class QuarantinedEntries {
  readonly #deps: QuarantineDeps;
  /** The entry that was read last when nobody waited for it any more. */
  #late: { readonly sequence: number; readonly batch: Awaited<ReturnType<BatchReader['only']>> } | undefined;

  constructor(deps: QuarantineDeps) {
    this.#deps = deps;
  }

  /** No lane gives this entry until it is put back. */
  add(sequence: number): void {
    this.#deps.quarantined.add(sequence, sequence);
  }

  /** Ends its quarantine: if it was not acknowledged meanwhile it waits in its lane again. */
  putBack(sequence: number): void {
    this.#deps.quarantined.remove(sequence, sequence);
  }

  /**
   * One entry to be sent by itself; undefined when it has been delivered, dropped or damaged. Else it is to be asked for again:
   * `unreadable` while its segment is left alone after a fault, `not-now` when the disk does not answer in time, for this one or any other.
   */
  async peek(sequence: number): Promise<OutboxBatch | 'unreadable' | 'not-now' | undefined> {
    const { batches, reading, state } = this.#deps;
    const late = this.#late;
    if (late?.sequence === sequence) {
      this.#late = undefined;
      return state.acknowledged.has(sequence) ? undefined : late.batch;
    }
    return reading.inTime(
      () => batches.only(sequence),
      (batch) => {
        this.#late = { sequence, batch };
      },
    );
  }
}
