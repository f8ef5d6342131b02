/** The platform's own page, for people: files alone. Everything it shows and does goes through the REST API that the real platform has too. */
import { encoded, PAGE_HEADERS, readPageFile } from '../../host/page-files.ts';
import { jsonReply, type Reply } from '../http-reply.ts';
import type { Call, Route } from '../http-service.ts';

export interface PageRoutesDeps {
  /** Where the analytics side answers. */
  readonly analyticsPath: string;
}

export function pageRoutes({ analyticsPath }: PageRoutesDeps): readonly Route[] {
  return [
    { method: 'GET', path: '/', handler: sendPageFile },
    { method: 'GET', path: '/page/settings', handler: () => jsonReply({ analyticsPath }) },
    { method: 'GET', path: '/page/:folder/:file', handler: sendPageFile },
  ];
}

async function sendPageFile({ path, headers }: Call): Promise<Reply> {
  const file = await readPageFile('platform', path);
  if (file === undefined) return { status: 404, body: 'nothing is here\n', contentType: 'text/plain' };
  const { etag, contentType } = file;
  const common = { ...PAGE_HEADERS, etag, 'cache-control': 'no-cache', vary: 'accept-encoding' };
  if (headers['if-none-match'] === etag) return { status: 304, headers: common };
  const { bytes, encoding } = await encoded(file, String(headers['accept-encoding'] ?? ''));
  return { status: 200, body: bytes, contentType, headers: encoding === undefined ? common : { ...common, 'content-encoding': encoding } };
}
