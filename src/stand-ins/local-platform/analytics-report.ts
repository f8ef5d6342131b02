/** Saved table views of the analytics service (which fields make a row, over which time, with which filters), run over the telemetry there is, row by row. */
import { isJsonObject, type JsonObject, type JsonValue } from '../../values/json.ts';
import type { PlatformDevice } from './device-registry.ts';
import { PayloadFault } from './http-reply.ts';
import type { PlatformState } from './platform-state.ts';
import { type Point, summarise } from './telemetry-store.ts';

const REPORT_AGGREGATIONS = ['NONE', 'MIN', 'MAX', 'AVG', 'SUM', 'COUNT', 'FIRST', 'LAST'] as const;
export type ReportAggregation = (typeof REPORT_AGGREGATIONS)[number];

/** A column. */
export type ViewField =
  | { readonly label: string; readonly source: 'device' }
  /** The telemetry key's name; with it a report has one row per key. */
  | { readonly label: string; readonly source: 'key' }
  /** UTC ms, as a string; of the hour or the day when grouped. */
  | { readonly label: string; readonly source: 'time'; readonly groupBy?: 'hour' | 'day' }
  /** Value of `key`, or of the row's own key when there is a field of source `key`. */
  | {
      readonly label: string;
      readonly source: 'value';
      readonly key?: string;
      readonly aggregation: ReportAggregation;
    };

export type ViewFilters = Readonly<Record<string, readonly JsonValue[]>>;

export interface SavedView {
  /** UUID. */
  readonly id: string;
  readonly name: string;
  readonly fields: readonly ViewField[];
  /** UTC epoch ms, start inclusive, end exclusive; from the first to the last point where absent. */
  readonly rangeStartTs?: number;
  readonly rangeEndTs?: number;
  /** By label of a device or key field, or by `device` and `key`; an empty list filters nothing. */
  readonly filters: ViewFilters;
}

const DEVICE_AND_KEY: readonly ViewField[] = [
  { label: 'Device', source: 'device' },
  { label: 'Key', source: 'key' },
];

/** There from the start, under ids that scripts can rely on: every point, and every key's hours. */
export const BUILT_IN_VIEWS: readonly SavedView[] = [
  {
    id: '7e57ab1e-0000-4000-8000-000000000001',
    name: 'All telemetry',
    filters: {},
    fields: [
      ...DEVICE_AND_KEY,
      { label: 'Time', source: 'time' },
      { label: 'Value', source: 'value', aggregation: 'NONE' },
    ],
  },
  {
    id: '7e57ab1e-0000-4000-8000-000000000002',
    name: 'Telemetry by hour',
    filters: {},
    fields: [
      ...DEVICE_AND_KEY,
      { label: 'Hour', source: 'time', groupBy: 'hour' },
      { label: 'Count', source: 'value', aggregation: 'COUNT' },
      { label: 'Sum', source: 'value', aggregation: 'SUM' },
      { label: 'First', source: 'value', aggregation: 'FIRST' },
      { label: 'Last', source: 'value', aggregation: 'LAST' },
    ],
  },
];

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A view out of JSON. @throws PayloadFault that names what is wrong. */
export function readView(json: JsonObject): SavedView {
  const { id, name, fields, rangeStartTs, rangeEndTs } = json;
  if (typeof id !== 'string' || !UUID.test(id)) throw new PayloadFault('the id of a view is a UUID');
  if (!Array.isArray(fields) || fields.length === 0) throw new PayloadFault('a view has at least one field');
  const read = fields.map(readField);
  if (new Set(read.map(({ label }) => label)).size !== read.length)
    throw new PayloadFault('two fields of a view have one label');
  const perKey = read.some(({ source }) => source === 'key');
  if (!perKey && read.some((field) => field.source === 'value' && field.key === undefined))
    throw new PayloadFault('a value needs a key, unless there is a field of source key');
  return {
    id,
    name: typeof name === 'string' ? name : id,
    ...(isBlank(rangeStartTs) ? {} : { rangeStartTs: readMs(rangeStartTs) }),
    ...(isBlank(rangeEndTs) ? {} : { rangeEndTs: readMs(rangeEndTs) }),
    filters: readFilters(json.filters),
    fields: read,
  };
}

/** Filters out of JSON: lists of values by name. @throws PayloadFault for anything else. */
export function readFilters(json: JsonValue | undefined): ViewFilters {
  if (isBlank(json)) return {};
  if (!isJsonObject(json)) throw new PayloadFault('filters are an object');
  return Object.fromEntries(
    Object.entries(json).map(([name, values]) => {
      if (!Array.isArray(values)) throw new PayloadFault(`the filter ${name} is no array of values`);
      return [name, values];
    }),
  );
}

/** A time in ms, as a number or in a string. @throws PayloadFault for anything else. */
export function readMs(json: JsonValue | undefined): number {
  const ms =
    typeof json === 'number' ? json : typeof json === 'string' && /^-?\d+$/.test(json) ? Number(json) : Number.NaN;
  if (!Number.isSafeInteger(ms)) throw new PayloadFault('a range is given in milliseconds');
  return ms;
}

/** Absent, null or an empty string: what the contract calls blank. */
export function isBlank(json: JsonValue | undefined): boolean {
  return json === undefined || json === null || json === '';
}

function readField(json: JsonValue): ViewField {
  if (!isJsonObject(json) || typeof json.label !== 'string' || json.label === '')
    throw new PayloadFault('a field has a label');
  const { label, source, groupBy, key } = json;
  switch (source) {
    case 'device':
    case 'key':
      return { label, source };
    case 'time':
      if (groupBy !== undefined && groupBy !== 'hour' && groupBy !== 'day')
        throw new PayloadFault('time is grouped by hour or day');
      return { label, source, ...(groupBy === undefined ? {} : { groupBy }) };
    case 'value': {
      const aggregation = REPORT_AGGREGATIONS.find((known) => known === (json.aggregation ?? 'NONE'));
      if (aggregation === undefined)
        throw new PayloadFault(`an aggregation is one of ${REPORT_AGGREGATIONS.join(', ')}`);
      return { label, source, aggregation, ...(typeof key === 'string' ? { key } : {}) };
    }
    default:
      throw new PayloadFault('the source of a field is device, key, time or value');
  }
}

export interface ReportRange {
  readonly startTs: number;
  readonly endTs: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Rows of a view by device, key and time; a range or filter given here stands for the view's own. */
export function* reportRows(
  view: SavedView,
  range: ReportRange,
  filters: ViewFilters,
  state: PlatformState,
): Generator<JsonObject> {
  const allows = allowed(view, filters);
  const perKey = view.fields.some(({ source }) => source === 'key');
  for (const device of state.registry.devices.all) {
    if (!allows('device', device.name)) continue;
    const keys = state.telemetry.keys(device.id).filter((key) => allows('key', key));
    if (perKey) {
      for (const key of keys) yield* rowsOf(view, range, device, key, [key], state);
    } else {
      const wanted = new Set(
        view.fields.flatMap((field) => (field.source === 'value' && field.key !== undefined ? [field.key] : [])),
      );
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
  const scan = (key: string): Iterable<Point> =>
    state.telemetry.series(device.id, key).scan(range.startTs, range.endTs);

  if (!grouped && bucketMs === undefined) {
    const [only] = keys;
    if (keys.length === 1 && only !== undefined) {
      for (const { ts, value } of scan(only)) yield row(ts, (key) => (key === only ? value : null));
      return;
    }
    const instants = new Set<number>();
    for (const key of keys) for (const { ts } of scan(key)) instants.add(ts);
    for (const ts of Float64Array.from(instants).sort())
      yield row(ts, (key) => state.telemetry.series(device.id, key).at(ts) ?? null);
    return;
  }
  const bucketOf = ({ ts }: Point): number =>
    bucketMs === undefined ? range.startTs : Math.floor(ts / bucketMs) * bucketMs;
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
    return Object.entries(filters).flatMap(([filter, values]) =>
      names.includes(filter) && values.length > 0 ? [values] : [],
    );
  };
  const known = { device: lists('device'), key: lists('key') };
  return (source, name) => known[source].every((values) => values.some((value) => String(value) === name));
}
