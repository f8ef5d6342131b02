/**
 * One request and its answer, bounded in time and size whatever the server does: a deadline for the whole, which only an answer that keeps
 * arriving puts off, a limit on the body, no redirect followed. Every fault comes out as a PlatformError without address and token.
 */
import type { Clock } from '../host/clock.ts';
import type { Answer } from './answer-or-portal.ts';
import type { Lane, PlatformConnections } from './connections.ts';
import type { LaneAnswer } from './lane-request.ts';
import { earnedMs } from './line-speed.ts';
import { networkError, PlatformError } from './platform-error.ts';

export interface ExchangeDeps {
  readonly connections: PlatformConnections;
  readonly clock: Clock;
  /** Returns the secrets that no error may show; called at each fault, because the token can change. */
  readonly secrets: () => readonly string[];
}

export interface Exchange {
  readonly lane: Lane;
  readonly method: 'GET' | 'POST';
  /** Below the platform's address, with the query. */
  readonly path: string;
  readonly body?: string | Uint8Array;
  /** Content type of the body, which the answer is asked to have, too. */
  readonly contentType: string;
  /** Headers beside those, and in their place. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For everything, from the connection to the last byte of the answer; a long answer earns itself more, up to five minutes. */
  readonly deadlineMs: number;
  /** The answer's body is cut after this many bytes. */
  readonly limitBytes: number;
}

/** A streamed answer; `release` ends the deadline and, when the body was not read to its end, the connection. */
export interface OpenAnswer {
  readonly response: LaneAnswer;
  readonly release: () => void;
  /** So much of the answer has come: its end may be later. */
  readonly arrived: (bytes: number) => void;
  /** Ends the deadline: whoever reads the body watches it from now on. */
  readonly watched: () => void;
}

/** The parser's own time limits lie above the deadline: they only matter should an abort ever get lost. */
const PARSER_MARGIN_MS = 5_000;
/** Length of a request's or an answer's headers, about. */
const HEAD_BYTES = 200;
/** However steadily an answer comes. */
const MAX_EARNED_MS = 5 * 60 * 1000;

/** Sends a request and reads its whole answer. @throws PlatformError `platform/busy` (retry) or `platform/aborted` (retry). */
export async function exchange(request: Exchange, deps: ExchangeDeps, signal: AbortSignal): Promise<Answer> {
  const { response, release, arrived } = await openExchange(request, deps, signal);
  try {
    const { body, cut } = await readBody(response.body, request.limitBytes, arrived);
    return answerOf(response, body, cut);
  } catch (error) {
    throw faultOf(error, deps, signal);
  } finally {
    release();
  }
}

/** Sends a request and returns as soon as the answer's headers are there. @throws PlatformError as `exchange`. */
export async function openExchange(request: Exchange, deps: ExchangeDeps, signal: AbortSignal): Promise<OpenAnswer> {
  if (signal.aborted) throw aborted();
  const controller = new AbortController();
  const abort = (): void => controller.abort(aborted());
  signal.addEventListener('abort', abort, { once: true });
  const { clock } = deps;
  const untilMs = clock.monotonicMs() + request.deadlineMs;
  let earned = 0;
  let cancelDeadline = (): void => {};
  const watch = (ms: number): void => {
    cancelDeadline = clock.after(ms, () => {
      const leftMs = untilMs + Math.min(earned, MAX_EARNED_MS) - clock.monotonicMs();
      if (leftMs > 0) watch(leftMs);
      else
        controller.abort(
          new PlatformError('busy', `no answer from the platform within ${Math.round(request.deadlineMs)} ms`, {
            cut: true,
            networkCode: 'ETIMEDOUT',
          }),
        );
    });
  };
  const arrived = (bytes: number): void => {
    earned += earnedMs(bytes);
  };
  watch(request.deadlineMs);
  let isNoted = false;
  const note = (): void => {
    if (!isNoted) deps.connections.noteExchange?.(request.lane, { bytes: bytesOf(request, response) });
    isNoted = true;
  };
  let response: LaneAnswer | undefined;
  const release = (): void => {
    cancelDeadline();
    note();
    signal.removeEventListener('abort', abort);
    if (response !== undefined && !response.body.readableEnded) response.body.on('error', () => {}).destroy();
  };
  try {
    deps.connections.noteBegin?.(request.lane);
    response = await deps.connections.lane(request.lane).request({
      origin: deps.connections.origin,
      path: `${deps.connections.prefix}${request.path}`,
      method: request.method,
      headers: {
        accept: request.contentType,
        ...(request.body === undefined ? {} : { 'content-type': request.contentType }),
        ...request.headers,
      },
      body: request.body ?? null,
      headersTimeout: request.deadlineMs + PARSER_MARGIN_MS,
      bodyTimeout: request.deadlineMs + PARSER_MARGIN_MS,
      signal: controller.signal,
    });
    return { response, release, arrived, watched: () => cancelDeadline() };
  } catch (error) {
    release();
    throw faultOf(controller.signal.aborted ? controller.signal.reason : error, deps, signal);
  }
}

/** About what passed: the share of this exchange in what its sockets carry. */
function bytesOf({ path, body = '' }: Exchange, response: LaneAnswer | undefined): number {
  const answered = response === undefined ? 0 : HEAD_BYTES + (lengthIn(response.headers['content-length']) ?? 0);
  return HEAD_BYTES + path.length + Buffer.byteLength(body) + answered;
}

/** An answer's status and headers, with as much of its body as was read. */
export function answerOf(response: LaneAnswer, body: Uint8Array, cut: boolean): Answer {
  return {
    status: response.statusCode,
    contentType: (header(response, 'content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '',
    retryAfter: header(response, 'retry-after'),
    date: header(response, 'date'),
    location: header(response, 'location'),
    body,
    cut,
  };
}

/** At most `limitBytes` of a body; the rest is not waited for. */
export async function readBody(
  stream: AsyncIterable<unknown>,
  limitBytes: number,
  arrived: (bytes: number) => void = () => {},
): Promise<{ readonly body: Uint8Array; readonly cut: boolean }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    const buffer = chunk as Buffer;
    bytes += buffer.byteLength;
    arrived(buffer.byteLength);
    chunks.push(buffer);
    if (bytes > limitBytes) return { body: Buffer.concat(chunks).subarray(0, limitBytes), cut: true };
  }
  return { body: chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks), cut: false };
}

/** Anything thrown on the way as a PlatformError. */
export function faultOf(error: unknown, deps: ExchangeDeps, signal: AbortSignal): PlatformError {
  if (signal.aborted) return aborted();
  return error instanceof PlatformError ? error : networkError(error, deps.secrets());
}

/** One header's value; the first when a server repeats it. */
export function header(response: LaneAnswer, name: string): string | undefined {
  const value = response.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** Returns the length of a body as the server states it; undefined when it does not, or not in digits. */
export function lengthIn(contentLength: string | readonly string[] | undefined): number | undefined {
  return typeof contentLength === 'string' && /^\d+$/.test(contentLength) ? Number(contentLength) : undefined;
}

function aborted(): PlatformError {
  return new PlatformError('aborted', 'the call was ended by the agent');
}
