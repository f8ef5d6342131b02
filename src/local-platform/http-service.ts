/**
 * HTTP and HTTPS in front of the local platform's routes: reads bodies within limits, matches paths, writes answers. One service can go
 * away and come back on the same ports, as a server does that is restarted.
 */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import type { Clock } from '../host/clock.ts';
import { serveOneAtATime } from '../host/request-gate.ts';
import { errorReply, type Reply, writeReply } from './http-reply.ts';
import { readBody } from './request-body.ts';
import { missingBody, RequestFault, requestFaultReply } from './request-faults.ts';

/** One request, its body read and within the route's limit. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The request itself, for routes with `streamed`, whose body is not read before. */
  readonly request: Readable;
  /** Aborts when the client is gone. */
  readonly gone: AbortSignal;
}

/** A request that came over no connection. */
export interface BareRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

interface Found {
  readonly route: Route;
  readonly params: Record<string, string>;
  readonly url: URL;
}

/** `unanswered`: the connection stays open until the async limit cuts it with 503. */
export type Handler = (call: Call) => Promise<Reply | 'unanswered'> | Reply | 'unanswered';

export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Segments; `:name` takes one segment. */
  readonly path: string;
  readonly handler: Handler;
  /** Default 16 MiB. */
  readonly bodyLimit?: number;
  readonly streamed?: boolean;
  /** Without a body it is 400, whoever asks. */
  readonly needsBody?: boolean;
}

/** What happens to a request before its route sees it; undefined lets it pass. */
export type Interference = (method: string, path: string, response: ServerResponse) => Promise<Reply | 'unanswered' | 'taken' | undefined>;

export interface HttpServiceOptions {
  readonly routes: readonly Route[];
  readonly interfere: Interference;
  readonly clock: Clock;
  readonly host: string;
  /** `none`: it does not listen. */
  readonly port: number | 'none';
  readonly tls?: { readonly port: number; readonly key: string; readonly cert: string };
  /** The server's limit for any request that waits; the stock server has 30 s. */
  readonly asyncLimitMs: number;
}

const BODY_LIMIT = 16 * 1024 * 1024;
/** Longer than any client keeps a connection, so that it is the client who closes. */
const KEEP_ALIVE_MS = 65_000;

export class HttpService {
  readonly #options: HttpServiceOptions;
  readonly #routes: readonly (Route & { readonly segments: readonly string[] })[];
  #servers: Server[] = [];
  #port: number | 'none';
  #tlsPort: number | undefined;

  constructor(options: HttpServiceOptions) {
    this.#options = options;
    this.#routes = options.routes.map((route) => ({ ...route, segments: route.path.split('/').slice(1) }));
    this.#port = options.port;
    this.#tlsPort = options.tls?.port;
  }

  get url(): string {
    return `http://${hostInUrl(this.#options.host)}:${this.#port}`;
  }

  get tlsUrl(): string | undefined {
    return this.#tlsPort === undefined ? undefined : `https://${hostInUrl(this.#options.host)}:${this.#tlsPort}`;
  }

  /** Listens; a second time on the ports of the first. Does nothing while it listens. */
  async listen(): Promise<void> {
    if (this.#servers.length > 0 || this.#port === 'none') return;
    const listener: RequestListener = (request, response) => {
      void this.#serve(request, response);
    };
    const { tls, host } = this.#options;
    const plain = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 });
    serveOneAtATime(plain, listener);
    this.#servers = [plain];
    this.#port = await open(plain, this.#port, host);
    if (tls === undefined) return;
    const secure = createTlsServer({ key: tls.key, cert: tls.cert, keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 });
    serveOneAtATime(secure, listener);
    this.#servers.push(secure as Server);
    this.#tlsPort = await open(secure as Server, this.#tlsPort ?? 0, host);
  }

  /** Stops listening and cuts every connection. Idempotent. */
  async close(): Promise<void> {
    const servers = this.#servers;
    this.#servers = [];
    await Promise.all(
      servers.map((server) => {
        const closed = new Promise<void>((resolve) => server.close(() => resolve()));
        server.closeAllConnections();
        return closed;
      }),
    );
  }

  /** Answers a request that came over no connection, as a world in one process sends them. */
  async answer(request: BareRequest, gone: AbortSignal): Promise<Reply> {
    const reply = await this.#orFault(async () => {
      const found = this.#find(request.method, request.url);
      if ('status' in found) return found;
      const { route, params, url } = found;
      const { method, headers, body } = request;
      const limit = route.bodyLimit ?? BODY_LIMIT;
      if (route.streamed !== true && body.byteLength > limit) return tooLarge(limit);
      expectBody(route, body);
      const { pathname: path, searchParams: query } = url;
      return await route.handler({ method, path, params, query, headers, body, request: Readable.from([body]), gone });
    });
    return reply === 'unanswered' ? await this.#cut(gone) : reply;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    request.on('error', () => {});
    response.on('error', () => {});
    const reply = await this.#orFault(() => this.#answer(request, response, gone.signal));
    if (reply === 'taken') return;
    await writeReply(response, reply === 'unanswered' ? await this.#cut(gone.signal) : reply);
  }

  async #orFault<T>(work: () => Promise<T>): Promise<T | Reply> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof RequestFault) return requestFaultReply(error, this.#options.clock);
      return { status: 500, body: error instanceof Error ? error.message : String(error), contentType: 'text/plain' };
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse, gone: AbortSignal): Promise<Reply | 'unanswered' | 'taken'> {
    const method = request.method ?? 'GET';
    const found = this.#find(method, request.url ?? '/');
    if ('status' in found) return found;
    const { route, params, url } = found;
    const limit = route.bodyLimit ?? BODY_LIMIT;
    const body = route.streamed === true ? Buffer.alloc(0) : await readBody(request, limit);
    if (body === undefined) return tooLarge(limit);
    expectBody(route, body);
    const interference = await this.#options.interfere(method, url.pathname, response);
    if (interference !== undefined) return interference;
    const { pathname: path, searchParams: query } = url;
    return await route.handler({ method, path, params, query, headers: request.headers, body, request, gone });
  }

  /** The route of a request, or the answer when there is none. */
  #find(method: string, address: string): Found | Reply {
    const url = URL.parse(address, 'http://local');
    if (url === null) return errorReply(400, 'Malformed path', this.#options.clock);
    const found = this.#match(method, url.pathname);
    if (found === undefined) return errorReply(404, 'No such path', this.#options.clock);
    if (found === 'malformed') return errorReply(400, 'Malformed path', this.#options.clock);
    if (found === 'other-method') throw new RequestFault(`Request method '${method}' is not supported`, 405);
    return { ...found, url };
  }

  #match(
    method: string,
    path: string,
  ): { readonly route: Route; readonly params: Record<string, string> } | 'malformed' | 'other-method' | undefined {
    const segments = path.split('/').slice(1);
    const here = this.#routes.filter(
      (route) =>
        route.segments.length === segments.length &&
        route.segments.every((segment, index) => segment.startsWith(':') || segment === segments[index]),
    );
    const route = here.find((candidate) => candidate.method === method);
    if (route === undefined) return here.length === 0 ? undefined : 'other-method';
    const params: Record<string, string> = {};
    try {
      for (const [index, segment] of route.segments.entries())
        if (segment.startsWith(':')) params[segment.slice(1)] = decodeURIComponent(segments[index] ?? '');
    } catch {
      return 'malformed';
    }
    return { route, params };
  }

  async #cut(gone: AbortSignal): Promise<Reply> {
    await this.#options.clock.sleep(this.#options.asyncLimitMs, gone);
    return { status: 503 };
  }
}

/** The rest of the body is not read: the connection cannot be used again. */
function tooLarge(limit: number): Reply {
  return { status: 413, body: `"Payload size exceeds the limit of ${limit} bytes"`, headers: { connection: 'close' } };
}

function expectBody({ streamed, needsBody }: Route, body: Buffer): void {
  if (streamed !== true && needsBody === true && body.length === 0) throw missingBody();
}

function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

async function open(server: Server, port: number, host: string): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
}
