/**
 * Looks through telemetry for what the server would take with a 200 and then lose, before anything is sent: a key gets a name that is kept, a
 * row that cannot be sent at all is named with its reason.
 */
import type { JsonValue } from '../host/json.ts';
import type { TelemetryRows, UnsendableRow } from './device-api.ts';
import { SendableKeys, timeFault, valueFault } from './wire-values.ts';

export interface CheckedRows {
  /** With keys that the server keeps; the very same rows where all did. */
  readonly rows: TelemetryRows;
  /** How many rows have another key than before. */
  readonly renamed: number;
  readonly unsendable: readonly UnsendableRow[];
}

export class TelemetryCheck {
  readonly #keys = new SendableKeys();

  check(rows: TelemetryRows): CheckedRows {
    const { keys, values, ts } = rows;
    const unsendable: UnsendableRow[] = [];
    let names: string[] | undefined;
    let renamed = 0;
    for (let row = 0; row < keys.length; row += 1) {
      const key = keys[row] as string;
      const value = values[row] as JsonValue;
      // Nearly all are plain numbers, and those need no look at what else a value could be.
      const isPlain = typeof value === 'number' && value - value === 0;
      const reason = (isPlain ? undefined : valueFault(value)) ?? (ts === undefined ? timelessFault(key) : timeFault(ts[row] as number));
      if (reason !== undefined) unsendable.push({ row, reason });
      const name = this.#keys.of(key);
      if (name === key) continue;
      names ??= [...keys];
      names[row] = name;
      renamed += 1;
    }
    return { rows: names === undefined ? rows : { keys: names, values, ...(ts === undefined ? {} : { ts }) }, renamed, unsendable };
  }
}

function timelessFault(key: string): string | undefined {
  return key === 'ts' ? 'in a record without time the server takes "ts" for its time' : undefined;
}
