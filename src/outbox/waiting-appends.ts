/** Appends whose block is still open. While the disk takes nothing they are a ring: what is over the bound gives way, the oldest regular ones first. */
import { AgentError } from '../errors.ts';
import type { TelemetryEntry, TelemetryValue } from './telemetry-entry.ts';

export interface WaitingAppend {
  readonly entries: readonly TelemetryEntry[];
  /** Roughly what they take in memory. */
  readonly bytes: number;
  readonly alarm: boolean;
  readonly resolve: () => void;
  readonly reject: (error: AgentError) => void;
}

/** An entry in memory without its key and value: the object, its numbers, its place in arrays. */
const ENTRY_BYTES = 64;

export class WaitingAppends {
  #appends: WaitingAppend[] = [];
  #entries = 0;
  #bytes = 0;

  get entries(): number {
    return this.#entries;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Adds one; tells whether it holds an alarm. */
  add(entries: readonly TelemetryEntry[], resolve: () => void, reject: (error: AgentError) => void): boolean {
    let bytes = 0;
    let alarm = false;
    for (const entry of entries) {
      bytes += ENTRY_BYTES + entry.key.length + sizeOf(entry.value);
      alarm ||= entry.class === 'alarm';
    }
    this.#appends.push({ entries, bytes, alarm, resolve, reject });
    this.#entries += entries.length;
    this.#bytes += bytes;
    return alarm;
  }

  takeAll(): WaitingAppend[] {
    const appends = this.#appends;
    this.#appends = [];
    this.#entries = 0;
    this.#bytes = 0;
    return appends;
  }

  /** Refuses the oldest regular append, or the oldest alarm when nothing else is left, but never the last one; returns how many entries went. */
  dropOldest(): number {
    if (this.#appends.length <= 1) return 0;
    const regular = this.#appends.findIndex((append) => !append.alarm);
    const [append] = this.#appends.splice(Math.max(regular, 0), 1) as [WaitingAppend];
    this.#bytes -= append.bytes;
    this.#entries -= append.entries.length;
    append.reject(new AgentError('outbox/dropped', 'the disk does not take entries, and memory is full of them', { recovery: 'drop' }));
    return append.entries.length;
  }
}

function sizeOf(value: TelemetryValue): number {
  if (typeof value === 'string') return 16 + value.length;
  if (typeof value !== 'object' || value === null) return 8;
  let bytes = 32;
  for (const part of Object.values(value)) bytes += 24 + sizeOf(part as TelemetryValue);
  return bytes;
}
