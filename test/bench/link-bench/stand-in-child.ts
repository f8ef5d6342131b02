/** The stand-in of the platform in a process of its own: HTTP/2 or HTTP/1.1 with TLS 1.3, answers with the headers of a stock server. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { listen } from './counting-proxy.ts';
import type { StandInOptions } from './stand-in.ts';

const HEADERS = {
  vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
  'x-content-type-options': 'nosniff',
  'x-xss-protection': '0',
  'cache-control': 'no-cache, no-store, max-age=0, must-revalidate',
  pragma: 'no-cache',
  expires: '0',
};

const options: StandInOptions = JSON.parse(process.argv[2] ?? '{}');
const { isHttp1, pollMs, requestsPerConnection = Number.POSITIVE_INFINITY, fileBytes = 0, key, cert } = options;
const file = Buffer.alloc(fileBytes, 1);
const asked = new WeakMap<ServerHttp2Session, number>();
let standing = 0;

const answer = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
): void => {
  const end = (status: number, body?: Buffer): void => {
    response.statusCode = status;
    for (const [name, value] of Object.entries({ ...HEADERS, 'content-length': String(body?.length ?? 0) }))
      response.setHeader(name, value);
    if (body === undefined) response.end();
    else (response as ServerResponse).end(body);
  };
  request.on('error', () => {});
  if (request.method === 'POST') request.resume().on('end', () => end(200));
  else if (request.url?.includes('/firmware') === true) end(200, file);
  else if (request.url?.includes('timeout=') !== true) end(200, Buffer.from('{}'));
  else {
    standing += 1;
    process.send?.({ standing });
    if (pollMs !== undefined) setTimeout(() => end(408), pollMs);
  }
};
const server = isHttp1
  ? createHttpsServer({ key, cert, keepAliveTimeout: 75_000 }, answer)
  : createSecureServer({ key, cert, settings: { maxConcurrentStreams: 100 } }, answer);
server.on('session', (session: ServerHttp2Session) => {
  session.on('error', () => {});
  session.on('stream', () => {
    const count = (asked.get(session) ?? 0) + 1;
    asked.set(session, count);
    if (count === requestsPerConnection) session.close();
  });
});
process.once('disconnect', () => process.exit());
process.send?.({ port: await listen(server) });
