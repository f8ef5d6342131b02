/** The seam between sampling and delivery: one value of one key at one time. */
import type { EpochMs } from '../../host/clock.ts';
import type { JsonValue } from '../../values/json.ts';

/** `alarm` entries are committed at once and sent first; `regular` ones wait for their block. */
export type EntryClass = 'alarm' | 'regular';

/** string, boolean, double (number), long (bigint, or a whole number up to 2^53), or JSON (object or array). */
export type TelemetryValue = JsonValue;

export interface TelemetryEntry {
  /** Which platform device it belongs to: `self`, today. */
  readonly device: string;
  readonly key: string;
  readonly value: TelemetryValue;
  /** The boot in which it was measured. */
  readonly bootId: string;
  /** Time of its measurement, in ms since that boot. */
  readonly monotonicMs: number;
  /** Only when the source itself knows the time (a GPS, a logger with its own clock). */
  readonly takenAtMs?: EpochMs;
  /** It was given out with `takenAtMs` before, and goes out with it again, even though the timestamp is in use: by itself. */
  readonly isAgain?: boolean;
  readonly class: EntryClass;
}
