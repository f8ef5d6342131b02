/** The platform's own page, for people: files alone. Everything it shows and does goes through the REST API that the real platform has too. */
import { PAGE_HEADERS, PageFiles } from '../../host/page-files.ts';
import { jsonReply, type Reply } from './http-reply.ts';
import type { Call, Routes } from './http-service.ts';
import type { LocalPlatform } from './local-platform.ts';

export function pageRoutes({ settings }: LocalPlatform): Routes {
  const files = new PageFiles('platform');
  const sendPageFile = (call: Call): Promise<Reply> => pageFile(files, call);
  return {
    'GET /': sendPageFile,
    'GET /page/settings': () => jsonReply({ analyticsPath: settings.analytics.basePath }),
    'GET /page/:folder/:file': sendPageFile,
  };
}

async function pageFile(files: PageFiles, { path, headers }: Call): Promise<Reply> {
  const file = await files.read(path, headers['accept-encoding']?.toString());
  if (file === undefined) return { status: 404, body: 'nothing is here\n', contentType: 'text/plain' };
  const { etag, contentType, bytes, encoding } = file;
  const common = { ...PAGE_HEADERS, etag, 'cache-control': 'no-cache', vary: 'accept-encoding' };
  if (headers['if-none-match'] === etag) return { status: 304, headers: common };
  return {
    status: 200,
    body: bytes,
    contentType,
    headers: encoding === undefined ? common : { ...common, 'content-encoding': encoding },
  };
}
