/**
 * Messages that came and are not acknowledged yet. Each is acknowledged once it is kept and all before it are, as MQTT wants the order (MQTT 5.0,
 * section 4.6). What waits is bounded in count and bytes: beyond that the reader of the connection waits, and nothing is dropped. Messages of an
 * earlier connection stay in the order: when the broker repeats one, only its first copy may be kept.
 */

/** Messages that wait for their commit: a hundred a second for ten seconds. */
export const KEPT_BOUNDS: KeptBounds = { maxCount: 1_000, maxBytes: 4_000_000 };

export interface KeptBounds {
  readonly maxCount: number;
  readonly maxBytes: number;
}

interface Waiting {
  readonly bytes: number;
  readonly acknowledge: () => void;
  readonly fail: (error: unknown) => void;
  outcome: 'open' | 'kept' | 'failed';
  error?: unknown;
}

/** Size of a message, and what follows once it is kept or lost. */
export interface TakenMessage {
  readonly bytes: number;
  /** Called once, in its turn. */
  readonly acknowledge: () => void;
  /** Called in its turn instead, when it was not kept. */
  readonly fail: (error: unknown) => void;
}

export class KeptMessages {
  readonly #bounds: KeptBounds;
  readonly #waiting: Waiting[] = [];
  #bytes = 0;
  #onRoom: (() => void)[] = [];

  constructor(bounds: KeptBounds) {
    this.#bounds = bounds;
  }

  get hasRoom(): boolean {
    return this.#waiting.length < this.#bounds.maxCount && this.#bytes < this.#bounds.maxBytes;
  }

  /** @param kept resolves once the message is kept; undefined for a message that is kept already. */
  take({ bytes, acknowledge, fail }: TakenMessage, kept: Promise<unknown> | undefined): void {
    const waiting: Waiting = { bytes, acknowledge, fail, outcome: kept === undefined ? 'kept' : 'open' };
    this.#waiting.push(waiting);
    this.#bytes += bytes;
    kept?.then(
      () => {
        waiting.outcome = 'kept';
        this.#settle();
      },
      (error: unknown) => {
        waiting.outcome = 'failed';
        waiting.error = error;
        this.#settle();
      },
    );
    if (kept === undefined) this.#settle();
  }

  /** Calls back once there is room, at once where there is. */
  whenRoom(callback: () => void): void {
    if (this.hasRoom) callback();
    else this.#onRoom.push(callback);
  }

  #settle(): void {
    for (let first = this.#waiting[0]; first !== undefined && first.outcome !== 'open'; first = this.#waiting[0]) {
      this.#waiting.shift();
      this.#bytes -= first.bytes;
      if (first.outcome === 'kept') first.acknowledge();
      else first.fail(first.error);
    }
    if (!this.hasRoom) return;
    const callbacks = this.#onRoom;
    this.#onRoom = [];
    for (const callback of callbacks) callback();
  }
}
