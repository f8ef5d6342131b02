/** The platform's own page, for people: files alone. Everything it shows and does goes through the REST API that the real platform has too. */
import { PAGE_HEADERS, PageFiles } from '../../host/page-files.ts';
import { jsonReply, type Reply } from '../http-reply.ts';
import type { Call, Route } from '../http-service.ts';

export interface PageRoutesDeps {
  /** Where the analytics side answers. */
  readonly analyticsPath: string;
}

export function pageRoutes({ analyticsPath }: PageRoutesDeps): readonly Route[] {
  const files = new PageFiles('platform');
  const sendPageFile = (call: Call): Promise<Reply> => pageFile(files, call);
  return [
    { method: 'GET', path: '/', handler: sendPageFile },
    { method: 'GET', path: '/page/settings', handler: () => jsonReply({ analyticsPath }) },
    { method: 'GET', path: '/page/:folder/:file', handler: sendPageFile },
  ];
}

async function pageFile(files: PageFiles, { path, headers }: Call): Promise<Reply> {
  const file = await files.read(path, headers['accept-encoding']?.toString());
  if (file === undefined) return { status: 404, body: 'nothing is here\n', contentType: 'text/plain' };
  const { etag, contentType, bytes, encoding } = file;
  const common = { ...PAGE_HEADERS, etag, 'cache-control': 'no-cache', vary: 'accept-encoding' };
  if (headers['if-none-match'] === etag) return { status: 304, headers: common };
  return { status: 200, body: bytes, contentType, headers: encoding === undefined ? common : { ...common, 'content-encoding': encoding } };
}
