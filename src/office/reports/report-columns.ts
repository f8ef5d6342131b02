/** Columns of a report as an audit reads them: which one is the time, which the device, and which belong to which key. */

import { AnalyticsError } from '../../errors/analytics-error.ts';
import type { JsonValue } from '../../values/json.ts';

export interface ColumnWords {
  readonly timeColumn?: string;
  readonly deviceColumn?: string;
  /** Label by key, where they differ. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** Where the values of a key are: in a column of its own, in rows of its own, or added up in rows of its own. */
export type ValueColumns =
  | { readonly form: 'column-per-key'; readonly labels: ReadonlyMap<string, string> }
  | { readonly form: 'row-per-key'; readonly key: string; readonly value: string }
  | {
      readonly form: 'hour-per-key';
      readonly key: string;
      readonly count: string;
      readonly sum?: string;
      readonly first?: string;
      readonly last?: string;
    };

export interface ReportColumns {
  readonly time: string;
  /** Absent when the view is of one device. */
  readonly device?: string;
  readonly values: ValueColumns;
}

/** A label may have a suffix, as in "Date RAW". */
const TIME_LABEL = /^(ts|timestamp|date|time|datetime|hour)\b/i;
const DEVICE_LABEL = /^(device|device name|entity|entity name)$/i;
const KEY_LABEL = /^(key|telemetry key)$/i;

/**
 * Finds the columns by their labels. A view with a column "Key" has its values in "Value", or added up by the hour in "Count", "Sum",
 * "First" and "Last"; any other has a column for each key, called after it, with or without a unit behind ("temperature, °C").
 * @throws AnalyticsError `analytics/settings` (stop) when there is no time, or no key at all.
 */
export function findColumns(
  columnLabels: readonly string[],
  keys: ReadonlySet<string>,
  words: ColumnWords,
): ReportColumns {
  const named = (pattern: RegExp): string | undefined =>
    columnLabels.find((label) => pattern.test(label) && !keys.has(label));
  const time = words.timeColumn ?? named(TIME_LABEL);
  if (time === undefined || !columnLabels.includes(time)) {
    const called = time === undefined ? '' : ` called ${time}`;
    throw fault(`the view has no column of times${called}; it has ${listed(columnLabels)}. Name it with --time-column`);
  }
  const device = words.deviceColumn ?? named(DEVICE_LABEL);
  const key = named(KEY_LABEL);
  const values = key === undefined ? columnPerKey(columnLabels, keys, words) : rowPerKey(columnLabels, key, named);
  return {
    time,
    values,
    device,
  };
}

/** True when a view of these columns can show the key. */
export function shows({ values }: ReportColumns, key: string): boolean {
  return values.form !== 'column-per-key' || values.labels.has(key);
}

/** A time cell: a number or a string of epoch ms, or an ISO time; undefined for anything else. */
export function timeOf(cell: JsonValue | undefined): number | undefined {
  if (typeof cell === 'number') return Number.isSafeInteger(cell) ? cell : undefined;
  if (typeof cell !== 'string') return undefined;
  const ms = /^\d+$/.test(cell) ? Number(cell) : Date.parse(cell);
  return Number.isNaN(ms) ? undefined : ms;
}

function rowPerKey(
  columnLabels: readonly string[],
  key: string,
  named: (pattern: RegExp) => string | undefined,
): ValueColumns {
  const value = named(/^value$/i);
  if (value !== undefined) return { form: 'row-per-key', key, value };
  const count = named(/^count$/i);
  if (count === undefined)
    throw fault(`the view has keys but neither a Value nor a Count; it has ${listed(columnLabels)}`);
  return {
    form: 'hour-per-key',
    key,
    count,
    sum: named(/^sum$/i),
    first: named(/^first$/i),
    last: named(/^last$/i),
  };
}

function columnPerKey(columnLabels: readonly string[], keys: ReadonlySet<string>, words: ColumnWords): ValueColumns {
  const labels = new Map<string, string>();
  for (const key of keys) {
    const label =
      words.labels?.[key] ??
      columnLabels.find((one) => one === key) ??
      columnLabels.find((one) => isNamedAfter(one, key));
    if (label !== undefined && columnLabels.includes(label)) labels.set(key, label);
  }
  if (keys.size > 0 && labels.size === 0)
    throw fault(
      `the view shows none of this device's keys; it has ${listed(columnLabels)}. Name columns with --column key=label`,
    );
  return { form: 'column-per-key', labels };
}

function isNamedAfter(label: string, key: string): boolean {
  const rest = label.startsWith(key) ? label.slice(key.length) : undefined;
  return rest !== undefined && /^\s*(,|\(|\[|RAW$)/.test(rest);
}

function fault(message: string): AnalyticsError {
  return new AnalyticsError('settings', message);
}

function listed(labels: readonly string[]): string {
  return labels.map((label) => JSON.stringify(label)).join(', ');
}
