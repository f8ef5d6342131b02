/** What the columns of a report are to an audit: which one is the time, which the device, and which belong to which key. */
import type { JsonValue } from '../host/json.ts';
import { AnalyticsError } from './analytics-error.ts';

export interface ColumnWords {
  readonly timeColumn?: string;
  readonly deviceColumn?: string;
  /** Label by key, where they differ. */
  readonly labels?: Readonly<Record<string, string>>;
}

export interface ReportColumns {
  readonly time: string;
  /** Absent when the view is of one device. */
  readonly device?: string;
  /** Label by key. */
  readonly keys: ReadonlyMap<string, string>;
}

/** In order of likeness; a label may have a suffix, as in "Date RAW". */
const TIME_LABEL = /^(ts|timestamp|date|time|datetime)\b/i;
const DEVICE_LABEL = /^(device|device name|entity|entity name)$/i;

/**
 * Finds the columns by their labels: a key's column is called after it, with or without a unit behind ("temperature, °C").
 * @throws AnalyticsError `analytics/settings` (stop) when there is no time, or no key at all.
 */
export function findColumns(columnLabels: readonly string[], keys: ReadonlySet<string>, words: ColumnWords): ReportColumns {
  const time = words.timeColumn ?? columnLabels.find((label) => TIME_LABEL.test(label) && !keys.has(label));
  if (time === undefined || !columnLabels.includes(time)) {
    throw new AnalyticsError(
      'settings',
      `the view has no column of times${time === undefined ? '' : ` called ${time}`}; it has ${listed(columnLabels)}. Name it with --time-column`,
    );
  }
  const device = words.deviceColumn ?? columnLabels.find((label) => DEVICE_LABEL.test(label) && !keys.has(label));
  const found = new Map<string, string>();
  for (const key of keys) {
    const label = words.labels?.[key] ?? columnLabels.find((one) => one === key) ?? columnLabels.find((one) => isNamedAfter(one, key));
    if (label !== undefined && columnLabels.includes(label)) found.set(key, label);
  }
  if (keys.size > 0 && found.size === 0) {
    throw new AnalyticsError(
      'settings',
      `the view shows none of this device's keys; it has ${listed(columnLabels)}. Name columns with --column key=label`,
    );
  }
  return { time, keys: found, ...(device === undefined ? {} : { device }) };
}

/** A time cell: a number or a string of epoch ms, or an ISO time; undefined for anything else. */
export function timeOf(cell: JsonValue | undefined): number | undefined {
  if (typeof cell === 'number') return Number.isSafeInteger(cell) ? cell : undefined;
  if (typeof cell !== 'string') return undefined;
  const ms = /^\d+$/.test(cell) ? Number(cell) : Date.parse(cell);
  return Number.isNaN(ms) ? undefined : ms;
}

function isNamedAfter(label: string, key: string): boolean {
  const rest = label.startsWith(key) ? label.slice(key.length) : undefined;
  return rest !== undefined && /^\s*(,|\(|\[|RAW$)/.test(rest);
}

function listed(labels: readonly string[]): string {
  return labels.map((label) => JSON.stringify(label)).join(', ');
}
