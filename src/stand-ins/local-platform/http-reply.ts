/** Replies of a route, how they are written, and the faults that the real server finds with a request. */

import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Clock } from '../../host/clock.ts';
import { type JsonValue, stringifyJson } from '../../values/json.ts';
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
export async function writeReply(
  response: ServerResponse,
  { status, body = '', contentType, headers, whenDone }: Reply,
): Promise<void> {
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

export type JavaNumber = 'int' | 'long' | 'java.lang.Integer';

const BITS: Readonly<Record<JavaNumber, number>> = { int: 32, 'java.lang.Integer': 32, long: 64 };

/** Something wrong with a payload; each part of the API answers it in its own way, and without a word where it is `silent`. */
export class PayloadFault extends Error {
  readonly silent: boolean;

  constructor(message: string, { silent = false }: { readonly silent?: boolean } = {}) {
    super(message);
    this.silent = silent;
  }
}

/** A request that no route serves: mostly found before the token is looked at. */
export class RequestFault extends Error {
  readonly #status: number;
  readonly #errorCode: number | undefined;

  /** @param errorCode makes it a fault that the REST API words, whose members have another order. */
  constructor(message: string, status = 400, errorCode?: number) {
    super(message);
    this.#status = status;
    this.#errorCode = errorCode;
  }

  reply(clock: Clock): Reply {
    const status = this.#status;
    if (this.#errorCode !== undefined) return errorReply(status, this.message, clock, this.#errorCode);
    return jsonReply({ message: this.message, errorCode: 31, status, timestamp: clock.wallMs() }, status);
  }
}

/** @throws RequestFault (409) when somebody else has changed the item since it was read. */
export function checkVersion(given: JsonValue | undefined, held: number): void {
  if (typeof given === 'number' && given !== held)
    throw new RequestFault('The entity was already changed by someone else', 409, 35);
}

export function missingBody(): RequestFault {
  return new RequestFault('Required request body is missing');
}

/** @throws RequestFault for an item that is not there. */
export function existing<T>(item: T | undefined): T {
  if (item === undefined) throw new RequestFault("Requested item wasn't found!", 404, 32);
  return item;
}

/** The answer of `work`; where its payload is at fault, the answer of `reply`. */
export async function payloadFaultsAs<T>(reply: (fault: PayloadFault) => T, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof PayloadFault) return reply(error);
    throw error;
  }
}

/**
 * A whole number of a path or query, blanks apart; an empty one is 0. A `+` that is not escaped is a blank there.
 * @throws RequestFault for what is none, or past the type's bits.
 */
export function wholeNumberOf(text: string | null | undefined, name: string, type: JavaNumber): number {
  const digits = text?.replace(/\s/g, '') ?? '';
  if (digits === '') return 0;
  const number = /^[+-]?\d+$/.test(digits) ? BigInt(digits.replace('+', '')) : undefined;
  if (number !== undefined && BigInt.asIntN(BITS[type], number) === number) return Number(number);
  throw new RequestFault(
    `Method parameter '${name}': Failed to convert value of type 'java.lang.String' to required type '${type}'; For input string: "${text}"`,
  );
}

/** @throws RequestFault when it is not given. */
export function requiredText(query: URLSearchParams, name: string): string {
  const text = query.get(name);
  if (text === null)
    throw new RequestFault(`Required request parameter '${name}' for method parameter type String is not present`);
  return text;
}
