/** REST: time series and attributes as people, dashboards and tests read and set them. */
import type { JsonObject, JsonValue } from '../../values/json.ts';
import { isScope, SCOPES, type Scope } from './attribute-store.ts';
import type { PlatformDevice } from './device-registry.ts';
import {
  errorReply,
  jsonReply,
  OK,
  PayloadFault,
  payloadFaultsAs,
  type Reply,
  textReply,
  wholeNumberOf,
} from './http-reply.ts';
import type { Answer, Call, Handler, Routes } from './http-service.ts';
import type { LocalPlatform } from './local-platform.ts';
import { readSetAttributes } from './payload.ts';
import type { PlatformState } from './platform-state.ts';
import { plainForm, strictForm } from './stored-value.ts';
import type { Point } from './telemetry-store.ts';
import { AGGREGATIONS, aggregate } from './telemetry-store.ts';

const DEFAULT_LIMIT = 100;
/** More intervals than this the real server refuses too. */
const MAX_INTERVALS = 700_000;

export function restTelemetryRoutes({ people, settings, state }: LocalPlatform): Routes {
  const of = (handler: (device: PlatformDevice, call: Call) => Answer | Promise<Answer>): Handler =>
    people.users((call) => {
      const device = state.registry.devices.byId(call.params.id ?? '');
      return device === undefined ? textReply(404, "Device with requested id wasn't found!") : handler(device, call);
    });
  const set = of((device, call) => {
    const scope = scopeOf(call);
    return payloadFaultsAs(
      ({ message }) => errorReply(500, message, settings.clock, 2),
      () => {
        const values = readSetAttributes(call.body);
        if (Object.keys(values).length === 0) return textReply(400, 'No attributes data found in request body!');
        state.setAttributes(device.id, scope, values);
        return OK;
      },
    );
  });
  const remove = of((device, call) => {
    const keys = listOf(call, 'keys') ?? [];
    if (keys.length === 0) return textReply(400, 'Empty keys: []');
    state.removeAttributes(device.id, scopeOf(call), keys);
    return OK;
  });
  const readAll = of((device, call) => {
    const scopes = call.params.scope === undefined ? SCOPES : [scopeOf(call)];
    const keys = listOf(call, 'keys');
    const found = scopes.flatMap((scope) => state.attributes.read(device.id, scope, keys));
    return jsonReply(found.map(({ key, value, lastUpdateTs }) => ({ key, value: strictForm(value), lastUpdateTs })));
  });
  return {
    'GET /api/plugins/telemetry/DEVICE/:id/values/timeseries': of((device, call) => readSeries(state, device, call)),
    'GET /api/plugins/telemetry/DEVICE/:id/keys/timeseries': of((device) =>
      jsonReply([...state.telemetry.keys(device.id)]),
    ),
    'GET /api/plugins/telemetry/DEVICE/:id/values/attributes/:scope': readAll,
    'GET /api/plugins/telemetry/DEVICE/:id/values/attributes': readAll,
    'POST /api/plugins/telemetry/DEVICE/:id/attributes/:scope': set,
    'POST /api/plugins/telemetry/:id/:scope': set,
    'DELETE /api/plugins/telemetry/DEVICE/:id/:scope': remove,
    'DELETE /api/plugins/telemetry/:id/:scope': remove,
  };
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
      const latest = state.telemetry.series(device.id, key).latest();
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
  const limit = numberOf(query, 'limit', 'int') ?? DEFAULT_LIMIT;
  const orderBy = query.get('orderBy') === 'ASC' ? 'ASC' : 'DESC';
  const intervalMs = numberOf(query, 'interval') ?? 0;
  if (aggregation === 'NONE') return state.telemetry.series(device.id, key).read({ startTs, endTs, limit, orderBy });
  const interval = intervalMs > 0 ? intervalMs : Math.max(1, endTs - startTs);
  if ((endTs - startTs) / interval > MAX_INTERVALS)
    throw new PayloadFault('Incorrect TsKvQuery. Number of intervals is to high');
  return aggregate(state.telemetry.series(device.id, key).scan(startTs, endTs), aggregation, {
    startTs,
    endTs,
    intervalMs: interval,
  });
}

function pointJson({ ts, value }: Point, strict: boolean): JsonObject {
  return { ts, value: strict ? strictForm(value) : plainForm(value) };
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

function numberOf(query: URLSearchParams, name: string, type: 'long' | 'int' = 'long'): number | undefined {
  const text = query.get(name);
  return text === null || text.trim() === '' ? undefined : wholeNumberOf(text, name, type);
}
