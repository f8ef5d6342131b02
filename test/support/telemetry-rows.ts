/** Telemetry as tests like to write it, one record per instant, to and from the rows that the agent sends. */

import type { TelemetryRows } from '../../src/platform/device-api.ts';
import type { JsonValue } from '../../src/values/json.ts';

export interface TelemetryRecord {
  readonly ts: number;
  readonly values: Readonly<Record<string, JsonValue>>;
}

/** All records with a time, or one without. */
export function rowsOf(
  ...records: readonly (TelemetryRecord | { readonly values: TelemetryRecord['values'] })[]
): TelemetryRows {
  const cells = records.flatMap((record) =>
    Object.entries(record.values).map(([key, value]) => ({ key, value, ts: 'ts' in record ? record.ts : undefined })),
  );
  const ts = cells.map((cell) => cell.ts).filter((each) => each !== undefined);
  const timed = ts.length === cells.length && cells.length > 0;
  return { keys: cells.map(({ key }) => key), values: cells.map(({ value }) => value), ...(timed ? { ts } : {}) };
}

/** One record per instant. */
export function recordsOf({ keys, values, ts }: TelemetryRows): TelemetryRecord[] {
  const records = new Map<number, Record<string, JsonValue>>();
  keys.forEach((key, row) => {
    const at = ts?.[row] ?? Number.NaN;
    const own = records.get(at) ?? {};
    own[key] = values[row] as JsonValue;
    records.set(at, own);
  });
  return [...records].map(([at, own]) => ({ ts: at, values: own }));
}
