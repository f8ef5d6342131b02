/** Replies of a route, and how they are written: a text or bytes at once, or pieces as fast as the client takes them. */
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Clock } from '../host/clock.ts';
import { type JsonValue, stringifyJson } from '../host/json.ts';
import { escapeAstral } from './stored-value.ts';

export interface Reply {
  readonly status: number;
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array>;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Called once the answer is written, or cannot be. */
  readonly whenDone?: () => void;
}

export const OK: Reply = { status: 200 };

export function jsonReply(value: JsonValue, status = 200): Reply {
  return { status, body: escapeAstral(stringifyJson(value)), contentType: 'application/json' };
}

/** A bare text, as some faults of the REST API are. */
export function textReply(status: number, body: string): Reply {
  return { status, body, contentType: 'text/plain' };
}

/** A fault as the platform's REST API words it. */
export function errorReply(status: number, message: string, clock: Clock, errorCode = status === 401 ? 10 : 31): Reply {
  return jsonReply({ status, message, errorCode, timestamp: clock.wallMs() }, status);
}

/** Writes an answer, unless the client is gone. Never rejects. */
export async function writeReply(response: ServerResponse, { status, body = '', contentType, headers, whenDone }: Reply): Promise<void> {
  try {
    if (response.destroyed || response.headersSent) return;
    const isWhole = typeof body === 'string' || body instanceof Uint8Array;
    response.writeHead(status, {
      ...headers,
      ...(contentType === undefined ? {} : { 'content-type': contentType }),
      ...(isWhole ? { 'content-length': Buffer.byteLength(body) } : {}),
    });
    if (isWhole) response.end(body);
    else await pipeline(body, response);
  } catch {
    response.destroy();
  } finally {
    whenDone?.();
  }
}
