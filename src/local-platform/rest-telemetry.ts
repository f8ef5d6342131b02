/** REST: time series and attributes as people, dashboards and tests read and set them (wire-facts.md, "The people's side"). */
import type { Clock } from '../host/clock.ts';
import type { JsonObject, JsonValue } from '../host/json.ts';
import { AGGREGATIONS, aggregate } from './aggregation.ts';
import { isScope, type Scope } from './attribute-store.ts';
import type { PlatformDevice } from './device-registry.ts';
import { errorReply, jsonReply, type Reply, textReply } from './http-reply.ts';
import type { Call, Handler, Route } from './http-service.ts';
import { readSetAttributes } from './payload.ts';
import { PayloadFault } from './payload-fault.ts';
import type { People } from './people.ts';
import type { PlatformState } from './platform-state.ts';
import { plainForm, type StoredValue, strictForm } from './stored-value.ts';
import type { Point } from './telemetry-store.ts';

export interface RestTelemetryDeps {
  readonly state: PlatformState;
  readonly people: People;
  readonly clock: Clock;
}

const PREFIX = '/api/plugins/telemetry';
const DEFAULT_LIMIT = 100;
/** More intervals than this the real server refuses too. */
const MAX_INTERVALS = 700_000;

export function restTelemetryRoutes(deps: RestTelemetryDeps): readonly Route[] {
  const { state, people, clock } = deps;
  const of = (handler: (device: PlatformDevice, call: Call) => Reply): Handler =>
    people.only((_user, call) => {
      const device = state.registry.byId(call.params.id ?? '');
      return device === undefined ? textReply(404, "Device with requested id wasn't found!") : handler(device, call);
    });
  const set = of((device, call) => {
    const scope = scopeOf(call);
    const given = setAttributesIn(call, clock);
    if ('status' in given) return given;
    if (Object.keys(given.values).length === 0) return textReply(400, 'No attributes data found in request body!');
    state.setAttributes(device.id, scope, given.values);
    return { status: 200 };
  });
  const remove = of((device, call) => {
    const keys = listOf(call, 'keys') ?? [];
    if (keys.length === 0) return textReply(400, 'Empty keys: []');
    state.removeAttributes(device.id, scopeOf(call), keys);
    return { status: 200 };
  });
  const readAll = of((device, call) => {
    const scopes: readonly Scope[] = call.params.scope === undefined ? ['CLIENT_SCOPE', 'SHARED_SCOPE', 'SERVER_SCOPE'] : [scopeOf(call)];
    const keys = listOf(call, 'keys');
    const found = scopes.flatMap((scope) => state.attributes.read(device.id, scope, keys));
    return jsonReply(found.map(({ key, value, lastUpdateTs }) => ({ key, value: strictForm(value), lastUpdateTs })));
  });
  return [
    { method: 'GET', path: `${PREFIX}/DEVICE/:id/values/timeseries`, handler: of((device, call) => readSeries(state, device, call)) },
    {
      method: 'GET',
      path: `${PREFIX}/DEVICE/:id/keys/timeseries`,
      handler: of((device) => jsonReply([...state.telemetry.keys(device.id)])),
    },
    { method: 'GET', path: `${PREFIX}/DEVICE/:id/values/attributes/:scope`, handler: readAll },
    { method: 'GET', path: `${PREFIX}/DEVICE/:id/values/attributes`, handler: readAll },
    { method: 'POST', path: `${PREFIX}/DEVICE/:id/attributes/:scope`, handler: set },
    { method: 'POST', path: `${PREFIX}/:id/:scope`, handler: set },
    { method: 'DELETE', path: `${PREFIX}/DEVICE/:id/:scope`, handler: remove },
    { method: 'DELETE', path: `${PREFIX}/:id/:scope`, handler: remove },
  ];
}

function readSeries(state: PlatformState, device: PlatformDevice, call: Call): Reply {
  const { query } = call;
  const strict = query.get('useStrictDataTypes') === 'true';
  const keys = listOf(call, 'keys') ?? state.telemetry.keys(device.id);
  const startTs = numberOf(query, 'startTs');
  const endTs = numberOf(query, 'endTs');
  const answer: Record<string, JsonValue> = {};
  for (const key of keys) {
    if (startTs === undefined || endTs === undefined) {
      const latest = state.telemetry.latest(device.id, key);
      // The real server answers an unknown key with one null value.
      answer[key] = latest === undefined ? [{ ts: 0, value: null }] : [pointJson(latest, strict)];
      continue;
    }
    const points = readRange(state, device, key, { startTs, endTs }, query);
    if (points.length > 0) answer[key] = points.map((point) => pointJson(point, strict));
  }
  return jsonReply(answer);
}

function readRange(
  state: PlatformState,
  device: PlatformDevice,
  key: string,
  { startTs, endTs }: { readonly startTs: number; readonly endTs: number },
  query: URLSearchParams,
): readonly Point[] {
  const aggregation = AGGREGATIONS.find((known) => known === (query.get('agg') ?? 'NONE'));
  if (aggregation === undefined) throw new PayloadFault('Unknown aggregation');
  const limit = numberOf(query, 'limit') ?? DEFAULT_LIMIT;
  const orderBy = query.get('orderBy') === 'ASC' ? 'ASC' : 'DESC';
  const intervalMs = numberOf(query, 'interval') ?? 0;
  if (aggregation === 'NONE') return state.telemetry.read(device.id, key, { startTs, endTs, limit, orderBy });
  const interval = intervalMs > 0 ? intervalMs : Math.max(1, endTs - startTs);
  if ((endTs - startTs) / interval > MAX_INTERVALS) throw new PayloadFault('Incorrect TsKvQuery. Number of intervals is to high');
  return aggregate(state.telemetry.scan(device.id, key, startTs, endTs), aggregation, { startTs, endTs, intervalMs: interval });
}

function pointJson({ ts, value }: Point, strict: boolean): JsonObject {
  return { ts, value: strict ? strictForm(value) : plainForm(value) };
}

/** What a person sets, or how the real server refuses it. */
function setAttributesIn(call: Call, clock: Clock): Reply | { readonly values: Readonly<Record<string, StoredValue>> } {
  try {
    return { values: readSetAttributes(call.body) };
  } catch (error) {
    if (error instanceof PayloadFault) return errorReply(500, error.message, clock, 2);
    throw error;
  }
}

function scopeOf(call: Call): Scope {
  const { scope } = call.params;
  if (!isScope(scope)) throw new PayloadFault(`Invalid scope: ${scope}`);
  return scope;
}

function listOf(call: Call, name: string): readonly string[] | undefined {
  const list = call.query.get(name);
  return list === null || list === '' ? undefined : list.split(',');
}

function numberOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  const number = Number(text);
  if (!Number.isFinite(number)) throw new PayloadFault(`Invalid ${name}`);
  return number;
}
