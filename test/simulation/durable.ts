/** Entries that the agent promised to keep. */
import type { TelemetryEntry } from '../../src/outbox/format/telemetry-entry.ts';

/** An entry of which the agent said that it is durable. */
export interface Durable {
  readonly entry: TelemetryEntry;
  /** When it was taken, and when it was said, in the world's time. */
  readonly takenAtMs: number;
  readonly toldAtMs: number;
}
