/** Sensor: gives readings when asked, or by itself when something happens. */

import type { AgentError } from '../../errors/agent-error.ts';
import type { EpochMs } from '../../host/clock.ts';
import type { JsonValue } from '../../values/json.ts';
import type { Keeping } from '../../values/kept.ts';

/** One value in its physical unit, as the chip's driver knows it. */
export interface Reading {
  /** The driver's own key (`temperature`), before any rename by report rules. */
  readonly key: string;
  readonly value: JsonValue;
  /** As the source wrote it, where the value is no text. */
  readonly text?: string;
  /** UCUM-like unit: `°C`, `hPa`, `%`, `V`. */
  readonly unit?: string;
  /** Only when the source itself knows the time. */
  readonly takenAtMs?: EpochMs;
  /** A sum or count of less than a whole window, or of one that lacks a reading: no limit is for it. */
  readonly isPart?: boolean;
  /** It is of unknown age, as a retained message is: nothing is held against it. */
  readonly isOld?: boolean;
  /** Time of its measurement, ms since boot, when the source stamps its events itself. */
  readonly monotonicMs?: number;
}

/** A value that a read could not give, though it gave others. */
export interface Refusal {
  readonly key: string;
  readonly fault: AgentError;
}

/** Resolves when what is reported of the readings is durable or at the platform; returns nothing when none of it is reported now. */
export type ReadingsListener = Keeping<readonly Reading[]>;

export interface Sensor {
  /** The name in the configuration. */
  readonly name: string;
  /**
   * Its readings come by subscription only; `read` then tells whether it is still alive, and its result is what came last. What still stands is
   * to be told once in a period: in a silence of the platform no local rule holds an actuator on anything older.
   */
  readonly speaksByItself?: boolean;
  /** Reads once. @throws AgentError `sensors/...` (retry) when the sensor does not answer or answers nonsense. */
  read(signal: AbortSignal): Promise<readonly Reading[]>;
  /** Returns the values that the last read could not give beside its readings. */
  refused?(): readonly Refusal[];
  /**
   * Sensors with events of their own (edges, lines that arrive) call back as they happen; the returned function ends it. The listener returns a
   * promise where the readings are kept later.
   */
  subscribe?(listener: ReadingsListener): () => void;
  /** Calls back when the next read will fail, and this one did not: it is made at once. The returned function ends it. */
  onTrouble?(listener: () => void): () => void;
  /** Idempotent. */
  close(): Promise<void>;
}

/** A reading with its sensor and its time: what the sampler gives to the report rules. */
export interface Sample extends Reading {
  readonly sensor: string;
  readonly bootId: string;
  /** Time of its measurement, ms since boot. */
  readonly monotonicMs: number;
}
