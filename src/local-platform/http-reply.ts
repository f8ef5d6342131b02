/** What a route answers, and how it is written: a text or bytes at once, or pieces as fast as the client takes them. */
import type { ServerResponse } from 'node:http';
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

export function jsonReply(value: JsonValue, status = 200): Reply {
  return { status, body: escapeAstral(stringifyJson(value)), contentType: 'application/json' };
}

/** A bare text, as some of the REST side's faults are. */
export function textReply(status: number, body: string): Reply {
  return { status, body, contentType: 'text/plain' };
}

/** A fault as the platform's REST side words it. */
export function errorReply(status: number, message: string, clock: Clock, errorCode = status === 401 ? 10 : 31): Reply {
  return jsonReply({ status, message, errorCode, timestamp: clock.wallMs() }, status);
}

/** Writes an answer, unless the client is gone. Never rejects. */
export async function writeReply(response: ServerResponse, reply: Reply): Promise<void> {
  try {
    await writeBody(response, reply);
  } catch {
    response.destroy();
  } finally {
    reply.whenDone?.();
  }
}

async function writeBody(response: ServerResponse, reply: Reply): Promise<void> {
  if (response.destroyed || response.headersSent) return;
  const { status, body, contentType, headers } = reply;
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers ?? {})) response.setHeader(name, value);
  if (contentType !== undefined) response.setHeader('content-type', contentType);
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) {
    response.setHeader('content-length', body === undefined ? 0 : Buffer.byteLength(body));
    response.end(body);
    return;
  }
  try {
    for await (const chunk of body) {
      if (response.destroyed) return;
      if (!response.write(chunk)) await drained(response);
    }
    response.end();
  } catch {
    response.destroy();
  }
}

async function drained(response: ServerResponse): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
}
