/**
 * Runs a saved view over the telemetry there is, one row at a time:
 *
 *   devices → (keys) → points in range → grouped by hour or day, or not → rows
 */
import type { JsonObject, JsonValue } from '../host/json.ts';
import type { ReportAggregation, SavedView, ViewField, ViewFilters } from './analytics-views.ts';
import type { PlatformDevice } from './device-registry.ts';
import type { PlatformState } from './platform-state.ts';
import type { Point } from './telemetry-store.ts';
import { summarise } from './telemetry-store.ts';

export interface ReportRange {
  readonly startTs: number;
  readonly endTs: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Rows of a view by device, key and time; a range or filter given here stands for the view's own. */
export function* reportRows(view: SavedView, range: ReportRange, filters: ViewFilters, state: PlatformState): Generator<JsonObject> {
  const allows = allowed(view, filters);
  const perKey = view.fields.some(({ source }) => source === 'key');
  for (const device of state.registry.devices.all) {
    if (!allows('device', device.name)) continue;
    const keys = state.telemetry.keys(device.id).filter((key) => allows('key', key));
    if (perKey) {
      for (const key of keys) yield* rowsOf(view, range, device, key, [key], state);
    } else {
      const wanted = new Set(view.fields.flatMap((field) => (field.source === 'value' && field.key !== undefined ? [field.key] : [])));
      const found = keys.filter((key) => wanted.has(key));
      if (found.length > 0) yield* rowsOf(view, range, device, undefined, found, state);
    }
  }
}

export function columnLabels(view: SavedView): readonly string[] {
  return view.fields.map(({ label }) => label);
}

/** The rows of one device, or of one key of it. */
function* rowsOf(
  view: SavedView,
  range: ReportRange,
  device: PlatformDevice,
  rowKey: string | undefined,
  keys: readonly string[],
  state: PlatformState,
): Generator<JsonObject> {
  const grouped = view.fields.some((field) => field.source === 'value' && field.aggregation !== 'NONE');
  const time = view.fields.find((field) => field.source === 'time');
  const bucketMs = time?.groupBy === 'day' ? DAY_MS : time?.groupBy === 'hour' ? HOUR_MS : undefined;
  const row = (ts: number, valueFor: (key: string, aggregation: ReportAggregation) => JsonValue): JsonObject =>
    Object.fromEntries(view.fields.map((field) => [field.label, cell(field, device, rowKey, ts, valueFor)]));
  const scan = (key: string): Iterable<Point> => state.telemetry.series(device.id, key).scan(range.startTs, range.endTs);

  if (!grouped && bucketMs === undefined) {
    const [only] = keys;
    if (keys.length === 1 && only !== undefined) {
      for (const { ts, value } of scan(only)) yield row(ts, (key) => (key === only ? value : null));
      return;
    }
    const instants = new Set<number>();
    for (const key of keys) for (const { ts } of scan(key)) instants.add(ts);
    for (const ts of Float64Array.from(instants).sort()) yield row(ts, (key) => state.telemetry.series(device.id, key).at(ts) ?? null);
    return;
  }
  const bucketOf = ({ ts }: Point): number => (bucketMs === undefined ? range.startTs : Math.floor(ts / bucketMs) * bucketMs);
  const byKey = new Map(keys.map((key) => [key, Map.groupBy(scan(key), bucketOf)]));
  const buckets = new Set([...byKey.values()].flatMap((points) => [...points.keys()]));
  for (const bucket of Float64Array.from(buckets).sort())
    yield row(bucket, (key, aggregation) => summary(byKey.get(key)?.get(bucket) ?? [], aggregation));
}

function cell(
  field: ViewField,
  device: PlatformDevice,
  rowKey: string | undefined,
  ts: number,
  valueFor: (key: string, aggregation: ReportAggregation) => JsonValue,
): JsonValue {
  switch (field.source) {
    case 'device':
      return device.name;
    case 'key':
      return rowKey ?? null;
    case 'time':
      return String(ts);
    case 'value':
      return valueFor(field.key ?? rowKey ?? '', field.aggregation);
  }
}

/** NONE in a grouped row is the last value, as a table has room for one. */
function summary(points: readonly Point[], aggregation: ReportAggregation): JsonValue {
  switch (aggregation) {
    case 'FIRST':
      return points[0]?.value ?? null;
    case 'NONE':
    case 'LAST':
      return points.at(-1)?.value ?? null;
    default:
      return summarise(points, aggregation) ?? null;
  }
}

/** Returns a test for whether the filters let a device's name or a key through. */
function allowed(view: SavedView, filters: ViewFilters): (source: 'device' | 'key', name: string) => boolean {
  const lists = (source: 'device' | 'key'): readonly (readonly JsonValue[])[] => {
    const names = [source, ...view.fields.flatMap((field) => (field.source === source ? [field.label] : []))];
    return Object.entries(filters).flatMap(([filter, values]) => (names.includes(filter) && values.length > 0 ? [values] : []));
  };
  const known = { device: lists('device'), key: lists('key') };
  return (source, name) => known[source].every((values) => values.some((value) => String(value) === name));
}
