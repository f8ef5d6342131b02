/** State of a sensor, for status, people and alarms. */
import type { Sample } from './kind/sensor.ts';

export interface SensorState {
  readonly name: string;
  readonly kind: string;
  /** `starting` until the first read has ended one way or the other. */
  readonly state: 'starting' | 'working' | 'failing';
  readonly periodMs: number;
  /** The newest reading of each key. */
  readonly readings: readonly Sample[];
  /** ms since boot of the newest reading. */
  readonly lastReadAtMs?: number;
  /** Why it fails. */
  readonly error?: { readonly code: string; readonly message: string };
  /** Values that the last read could not give beside its readings, and why. */
  readonly refused: readonly { readonly key: string; readonly code: string; readonly message: string }[];
  readonly reads: number;
  readonly failures: number;
  /** Times that passed without a read, because the one before had not ended, or the clock was set past them while they were waited for. */
  readonly missed: number;
}
