/** A request on a lane and its answer, whichever HTTP carries them. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';

export interface LaneRequest {
  /** Scheme, host and port. */
  readonly origin: string;
  /** With the query. */
  readonly path: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
  /** For HTTP/1.1's parser; the signal ends a request of either kind. */
  readonly headersTimeout: number;
  readonly bodyTimeout: number;
  readonly signal: AbortSignal;
}

export interface LaneAnswer {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readable;
}

/** Sends the requests of one lane. */
export interface LaneRequester {
  request(request: LaneRequest): Promise<LaneAnswer>;
}

/** Fault of a connection that stood, under the system's own code for it, so that it counts as one of HTTP/1.1 does. */
export interface BrokenConnection extends Error {
  readonly code: 'ECONNRESET';
  /** The server has not looked at the request, because it refused it or was going away: to send it again does nothing twice. */
  readonly unseen: 'refused' | 'leaving' | undefined;
}

export function brokenConnection(words: string, unseen?: BrokenConnection['unseen']): BrokenConnection {
  return Object.assign(new Error(words), { code: 'ECONNRESET' as const, unseen });
}
