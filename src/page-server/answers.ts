/** How the status page's server writes an answer, and reads the little that it is sent. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PageFile } from '../host/page-files.ts';
import { type JsonValue, stringifyJson } from '../values/json.ts';

export function sendText(
  response: ServerResponse,
  status: number,
  text: string,
  contentType = 'text/plain; charset=utf-8',
): void {
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  });
  response.end(text);
}

export function sendJson(response: ServerResponse, value: JsonValue, status = 200): void {
  sendText(response, status, stringifyJson(value), 'application/json');
}

/** A page's file; a browser that has it already is told so. */
export function sendFile(request: IncomingMessage, response: ServerResponse, file: PageFile): void {
  response.setHeader('etag', file.etag);
  response.setHeader('cache-control', 'no-cache');
  response.setHeader('vary', 'accept-encoding');
  if (request.headers['if-none-match'] === file.etag) {
    response.writeHead(304).end();
    return;
  }
  const { bytes, encoding } = file;
  if (encoding !== undefined) response.setHeader('content-encoding', encoding);
  response.writeHead(200, { 'content-type': file.contentType, 'content-length': bytes.length });
  response.end(request.method === 'HEAD' ? undefined : bytes);
}

/** The body as text; undefined past the limit, and from a peer that left in the middle. */
export async function readText(request: IncomingMessage, maxBytes: number): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request) {
      bytes += (chunk as Buffer).length;
      if (bytes > maxBytes) return undefined;
      chunks.push(chunk as Buffer);
    }
  } catch {
    return undefined;
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** One cookie of a request. */
export function cookieOf(request: IncomingMessage, name: string): string | undefined {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='));
  return pairs.find(([key]) => key === name)?.[1];
}
