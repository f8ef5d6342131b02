/** What the outbox gives out: whole blocks, with the times that their entries will keep for good. */
import type { SequenceRange } from './sequence-ranges.ts';
import type { EntryClass, TelemetryValue } from './telemetry-entry.ts';

/** `alarm`: at once. `live`: what was committed just now. `backlog`: all else that was not delivered. */
export type Lane = 'alarm' | 'live' | 'backlog';

/** An entry as the platform is to see it. */
export interface ResolvedEntry {
  readonly sequence: number;
  readonly device: string;
  readonly key: string;
  readonly value: TelemetryValue;
  /** UTC epoch ms; the same at every try. */
  readonly ts: number;
  readonly class: EntryClass;
}

export interface OutboxBatch {
  readonly lane: Lane;
  /** Ascending by sequence. An entry whose time is a guess is followed by `<key>_timeUncertain`: true, of the same sequence and ts. */
  readonly entries: readonly ResolvedEntry[];
  /** What an acknowledgement of this batch covers: whole blocks. */
  readonly ranges: readonly SequenceRange[];
  /** Roughly what the entries take as JSON. */
  readonly bytes: number;
}

export interface BatchLimits {
  /** A block that is larger by itself is given out alone. */
  readonly maxEntries: number;
  readonly maxBytes: number;
}

/** Roughly what an entry adds to a JSON body: `"key":value,`. */
export function jsonBytesOf(entry: { readonly key: string; readonly value: TelemetryValue }): number {
  return entry.key.length + 4 + valueBytes(entry.value);
}

/** `{"ts":1780000000000,"values":{}},`: once for each instant. */
export const RECORD_BYTES = 34;

function valueBytes(value: TelemetryValue): number {
  switch (typeof value) {
    case 'number':
      return Number.isInteger(value) && Math.abs(value) < 1e6 ? 6 : 10;
    case 'string':
      return value.length + 2;
    case 'bigint':
      return 20;
    case 'boolean':
      return 5;
    default: {
      if (value === null) return 4;
      let bytes = 2;
      for (const [key, part] of Object.entries(value)) bytes += key.length + 4 + valueBytes(part as TelemetryValue);
      return bytes;
    }
  }
}
