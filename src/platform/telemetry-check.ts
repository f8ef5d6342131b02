/** Looks through telemetry for what the server would lose or misread, before anything is sent; remembers good keys, which come again and again. */
import type { JsonValue } from '../host/json.ts';
import type { TelemetryRecord } from './device-api.ts';
import { keyFault, valueFault } from './wire-values.ts';

/** A device has some hundred keys; whoever makes keys up as they go must not fill the memory. */
const MOST_KNOWN_KEYS = 4096;

export class TelemetryCheck {
  readonly #goodKeys = new Set<string>();

  /** The first fault in words; undefined when all of it can be sent. */
  fault(records: readonly TelemetryRecord[]): string | undefined {
    for (const { ts, values } of records) {
      if (ts !== undefined && !(Number.isSafeInteger(ts) && ts >= 0)) return `ts ${ts} is no UTC epoch in ms`;
      if (ts === undefined && Object.hasOwn(values, 'ts'))
        return 'a record without time has a key "ts", which the server takes for its time';
      for (const key of Object.keys(values)) {
        const fault = this.#keyFault(key) ?? valueFault(values[key] as JsonValue);
        if (fault !== undefined) return `key ${JSON.stringify(key.slice(0, 80))}: ${fault}`;
      }
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
