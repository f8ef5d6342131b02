/** Looks through telemetry for what the server would lose or misread, before anything is sent; remembers good keys, which come again and again. */
import type { JsonValue } from '../host/json.ts';
import type { TelemetryRows } from './device-api.ts';
import { keyFault, valueFault } from './wire-values.ts';

/** A device has some hundred keys; whoever makes keys up as they go must not fill the memory. */
const MOST_KNOWN_KEYS = 4096;

function isInstant(at: number): boolean {
  return at >= 0 && at <= Number.MAX_SAFE_INTEGER && Math.floor(at) === at;
}

export class TelemetryCheck {
  readonly #goodKeys = new Set<string>();

  /** The first fault in words; undefined when all of it can be sent. */
  fault({ keys, values, ts }: TelemetryRows): string | undefined {
    if (ts === undefined && keys.includes('ts')) return 'a record without time has a key "ts", which the server takes for its time';
    for (let row = 0; row < keys.length; row += 1) {
      if (ts !== undefined && !isInstant(ts[row] as number)) return `ts ${ts[row]} is no UTC epoch in ms`;
      const key = keys[row] as string;
      const value = values[row] as JsonValue;
      // Nearly all are plain numbers, and those need no look at what else a value could be.
      const isPlain = typeof value === 'number' && value - value === 0;
      const fault = this.#keyFault(key) ?? (isPlain ? undefined : valueFault(value));
      if (fault !== undefined) return `key ${JSON.stringify(key.slice(0, 80))}: ${fault}`;
    }
    return undefined;
  }

  #keyFault(key: string): string | undefined {
    if (this.#goodKeys.has(key)) return undefined;
    const fault = keyFault(key);
    if (fault !== undefined) return fault;
    if (this.#goodKeys.size >= MOST_KNOWN_KEYS) this.#goodKeys.clear();
    this.#goodKeys.add(key);
    return undefined;
  }
}
