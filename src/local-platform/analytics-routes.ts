/** The analytics side: `buildReport` (wire-facts.md, "Analytics"), and where people save and list views. */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../host/clock.ts';
import { isJsonObject, type JsonObject, stringifyJson } from '../host/json.ts';
import { columnLabels, type ReportRange, reportRows } from './analytics-report.ts';
import {
  type AnalyticsViews,
  isBlank,
  readFilters,
  readMs,
  readView,
  type SavedView,
  type ViewFilters,
  viewJson,
} from './analytics-views.ts';
import { objectIn } from './entities.ts';
import type { ExecutionPool } from './execution-pool.ts';
import { errorReply, jsonReply, type Reply } from './http-reply.ts';
import type { Call, Route } from './http-service.ts';
import { readDocument } from './payload.ts';
import { PayloadFault } from './payload-fault.ts';
import type { People } from './people.ts';
import type { PlatformState } from './platform-state.ts';

export interface AnalyticsRoutesDeps {
  readonly state: PlatformState;
  readonly people: People;
  readonly clock: Clock;
  readonly views: AnalyticsViews;
  readonly pool: ExecutionPool;
  /** `/apiAnalytics`; releases of the real service differ. */
  readonly basePath: string;
  /** How much longer each execution takes, for tests of the limits. */
  readonly delayMs: number;
}

/** Rows that are written at once. */
const ROWS_PER_CHUNK = 500;

export function analyticsRoutes(deps: AnalyticsRoutesDeps): readonly Route[] {
  const { people, views, basePath } = deps;
  return [
    { method: 'POST', path: `${basePath}/publicApi/buildReport`, handler: (call) => buildReport(deps, call) },
    { method: 'GET', path: `${basePath}/views`, handler: people.only(() => jsonReply(views.all.map(viewJson))) },
    {
      method: 'POST',
      path: `${basePath}/views`,
      handler: people.only((_user, call) => {
        const view = readView({ id: randomUUID(), ...objectIn(call) });
        views.save(view);
        return jsonReply(viewJson(view));
      }, 'TENANT_ADMIN'),
    },
  ];
}

async function buildReport(deps: AnalyticsRoutesDeps, call: Call): Promise<Reply> {
  const { people, clock, views, pool } = deps;
  const header = call.headers.jwt;
  const jwt = call.query.get('jwt') ?? (Array.isArray(header) ? header[0] : header);
  if (people.userOf(jwt) === undefined) return errorReply(403, 'JWT is not valid or expired', clock, 11);
  if (call.headers['content-type']?.split(';')[0]?.trim().toLowerCase() !== 'application/json')
    return errorReply(415, 'Unsupported media type: set Content-Type to application/json', clock, 2);
  let request: { readonly view: SavedView; readonly range: ReportRange; readonly filters: ViewFilters } | undefined;
  try {
    request = readRequest(readDocument(call.body, 'application/json') as JsonObject, views);
  } catch (error) {
    if (error instanceof PayloadFault) return errorReply(400, error.message, clock);
    throw error;
  }
  if (request === undefined) return errorReply(404, 'No such view', clock, 32);
  const leave = await pool.enter(call.gone);
  if (leave === undefined) return errorReply(429, 'Too many requests', clock, 33);
  if (deps.delayMs > 0) await clock.sleep(deps.delayMs, call.gone);
  const { view, range, filters } = request;
  const rows = reportRows(view, range, filters, deps.state);
  return { status: 200, contentType: 'application/json', body: reportText(view, rows), whenDone: leave };
}

/** What to run; undefined when there is no such view. A blank end of the range is the view's, and filters replace the view's name by name. */
function readRequest(
  body: JsonObject,
  views: AnalyticsViews,
): { readonly view: SavedView; readonly range: ReportRange; readonly filters: ViewFilters } | undefined {
  if (!isJsonObject(body) || typeof body.viewConfigId !== 'string') throw new PayloadFault('viewConfigId is required');
  const view = views.byId(body.viewConfigId);
  if (view === undefined) return undefined;
  const startTs = isBlank(body.rangeStartTs) ? view.rangeStartTs : readMs(body.rangeStartTs);
  const endTs = isBlank(body.rangeEndTs) ? view.rangeEndTs : readMs(body.rangeEndTs);
  return {
    view,
    range: { startTs: startTs ?? 0, endTs: endTs ?? Number.MAX_SAFE_INTEGER },
    filters: { ...view.filters, ...readFilters(body.filters) },
  };
}

/** The report as JSON text, in pieces, so that no report is ever whole in memory. */
async function* reportText(view: SavedView, rows: Iterable<JsonObject>): AsyncGenerator<Buffer> {
  let text = `{"columnLabels":${JSON.stringify(columnLabels(view))},"dataTable":[`;
  let inChunk = 0;
  let first = true;
  for (const row of rows) {
    text += `${first ? '' : ','}${stringifyJson(row)}`;
    first = false;
    inChunk += 1;
    if (inChunk < ROWS_PER_CHUNK) continue;
    yield Buffer.from(text);
    text = '';
    inChunk = 0;
  }
  yield Buffer.from(`${text}]}`);
}
