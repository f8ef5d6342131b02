/** The analytics service: `buildReport`, and where people save and list views. */
import { randomUUID } from 'node:crypto';
import { isJsonObject, type JsonObject, jsonOf, stringifyJson } from '../../values/json.ts';
import {
  columnLabels,
  isBlank,
  type ReportRange,
  readFilters,
  readMs,
  readView,
  reportRows,
  type SavedView,
  type ViewFilters,
} from './analytics-report.ts';
import type { KeptTable } from './device-registry.ts';
import { errorReply, jsonReply, PayloadFault, payloadFaultsAs } from './http-reply.ts';
import type { Answer, Call, Routes } from './http-service.ts';
import type { LocalPlatform } from './local-platform.ts';
import { objectIn, readDocument } from './payload.ts';

interface ReportRequest {
  readonly view: SavedView;
  readonly range: ReportRange;
  readonly filters: ViewFilters;
}

/** Rows that are written at once. */
const ROWS_PER_CHUNK = 500;

export function analyticsRoutes(platform: LocalPlatform): Routes {
  const { people, settings, state } = platform;
  const { basePath } = settings.analytics;
  return {
    [`POST ${basePath}/publicApi/buildReport`]: (call) =>
      payloadFaultsAs(
        ({ message }) => errorReply(400, message, settings.clock),
        () => buildReport(platform, call),
      ),
    [`GET ${basePath}/views`]: people.users(() => jsonReply(jsonOf(state.views.all))),
    [`POST ${basePath}/views`]: people.admins((call) => {
      const view = readView({ id: randomUUID(), ...objectIn(call) });
      state.views.put(view);
      return jsonReply(jsonOf(view));
    }),
  };
}

async function buildReport({ people, reportPool, settings, state }: LocalPlatform, call: Call): Promise<Answer> {
  const { clock } = settings;
  const header = call.headers.jwt;
  const jwt = call.query.get('jwt') ?? (Array.isArray(header) ? header[0] : header);
  if (people.userOf(jwt) === undefined) return errorReply(403, 'JWT is not valid or expired', clock, 11);
  if (call.headers['content-type']?.split(';')[0]?.trim().toLowerCase() !== 'application/json')
    return errorReply(415, 'Unsupported media type: set Content-Type to application/json', clock, 2);
  const request = readRequest(readDocument(call.body, 'application/json') as JsonObject, state.views);
  if (request === undefined) return errorReply(404, 'No such view', clock, 32);
  const release = await reportPool.enter(call.gone);
  if (release === undefined) return errorReply(429, 'Too many requests', clock, 33);
  if (settings.analytics.delayMs > 0) await clock.sleep(settings.analytics.delayMs, call.gone);
  const { view, range, filters } = request;
  const rows = reportRows(view, range, filters, state);
  return { status: 200, contentType: 'application/json', body: reportText(view, rows), whenDone: release };
}

/** Returns the report to run; undefined when there is no such view. A blank end of the range is the view's, and filters replace its own by name. */
function readRequest(body: JsonObject, views: KeptTable<SavedView>): ReportRequest | undefined {
  if (!isJsonObject(body) || typeof body.viewConfigId !== 'string') throw new PayloadFault('viewConfigId is required');
  const view = views.byId(body.viewConfigId.toLowerCase());
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
  let count = 0;
  for (const row of rows) {
    text += `${count === 0 ? '' : ','}${stringifyJson(row)}`;
    count += 1;
    if (count % ROWS_PER_CHUNK !== 0) continue;
    yield Buffer.from(text);
    text = '';
  }
  yield Buffer.from(`${text}]}`);
}
