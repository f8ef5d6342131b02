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
import type { Clock } from '../host/clock.ts';
import { errorReply, type Reply, writeReply } from './http-reply.ts';

/** One request, its body read and within the route's limit. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The request itself, for routes with `streamed`, whose body is not read before. */
  readonly request: IncomingMessage;
  /** Aborts when the client is gone. */
  readonly gone: AbortSignal;
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
}

/** What happens to a request before its route sees it; undefined lets it pass. */
export type Interference = (method: string, path: string, response: ServerResponse) => Promise<Reply | 'unanswered' | 'taken' | undefined>;

export interface HttpServiceOptions {
  readonly routes: readonly Route[];
  readonly interfere: Interference;
  readonly clock: Clock;
  readonly host: string;
  readonly port: number;
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
  #port: number;
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
    if (this.#servers.length > 0) return;
    const listener: RequestListener = (request, response) => {
      void this.#serve(request, response);
    };
    const { tls, host } = this.#options;
    const plain = createServer({ keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 }, listener);
    this.#servers = [plain];
    this.#port = await open(plain, this.#port, host);
    if (tls === undefined) return;
    const secure = createTlsServer({ key: tls.key, cert: tls.cert, keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 }, listener);
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

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    request.on('error', () => {});
    response.on('error', () => {});
    try {
      const reply = await this.#answer(request, response, gone.signal);
      if (reply === 'taken') return;
      await writeReply(response, reply === 'unanswered' ? await this.#cut(gone.signal) : reply);
    } catch (error) {
      await writeReply(response, { status: 500, body: error instanceof Error ? error.message : String(error), contentType: 'text/plain' });
    }
  }

  async #answer(request: IncomingMessage, response: ServerResponse, gone: AbortSignal): Promise<Reply | 'unanswered' | 'taken'> {
    const method = request.method ?? 'GET';
    const url = new URL(request.url ?? '/', 'http://local');
    const found = this.#match(method, url.pathname);
    if (found === undefined) return errorReply(404, 'No such path', this.#options.clock);
    if (found === 'malformed') return errorReply(400, 'Malformed path', this.#options.clock);
    const { route, params } = found;
    const body = route.streamed === true ? Buffer.alloc(0) : await readBody(request, route.bodyLimit ?? BODY_LIMIT);
    if (body === undefined) {
      // The rest is not read: the connection cannot be used again.
      return { status: 413, body: '"Payload size exceeds the limit"', contentType: 'application/json', headers: { connection: 'close' } };
    }
    const interference = await this.#options.interfere(method, url.pathname, response);
    if (interference !== undefined) return interference;
    return await route.handler({
      method,
      path: url.pathname,
      params,
      query: url.searchParams,
      headers: request.headers,
      body,
      request,
      gone,
    });
  }

  #match(method: string, path: string): { readonly route: Route; readonly params: Record<string, string> } | 'malformed' | undefined {
    const segments = path.split('/').slice(1);
    for (const route of this.#routes) {
      if (route.method !== method || route.segments.length !== segments.length) continue;
      if (!route.segments.every((segment, index) => segment.startsWith(':') || segment === segments[index])) continue;
      const params: Record<string, string> = {};
      try {
        for (const [index, segment] of route.segments.entries())
          if (segment.startsWith(':')) params[segment.slice(1)] = decodeURIComponent(segments[index] ?? '');
      } catch {
        return 'malformed';
      }
      return { route, params };
    }
    return undefined;
  }

  async #cut(gone: AbortSignal): Promise<Reply> {
    await this.#options.clock.sleep(this.#options.asyncLimitMs, gone);
    return { status: 503 };
  }
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

async function readBody(request: IncomingMessage, limit: number): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > limit) return undefined;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).byteLength;
    if (bytes > limit) return undefined;
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}
