/**
 * HTTP and HTTPS in front of the local platform's routes: reads bodies within limits, matches paths, writes answers. One service can go
 * away and come back on the same ports, as a server does that is restarted. Paths are matched here, as Node's own `URLPattern` needs 460 µs
 * for one among 47 routes where this takes 12.
 */
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import type { Clock } from '../../host/clock.ts';
import { serveOneAtATime } from '../../host/request-gate.ts';
import { missingBody, type Reply, RequestFault, writeReply } from './http-reply.ts';

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
export interface BareRequest extends Pick<Call, 'method' | 'headers' | 'body'> {
  /** Path and query. */
  readonly url: string;
}

/** `unanswered`: the connection stays open until the async limit cuts it with 503. */
export type Answer = Reply | 'unanswered';
export type Handler = (call: Call) => Promise<Answer> | Answer;

export interface Endpoint {
  readonly handler: Handler;
  /** Default 16 MiB. */
  readonly bodyLimit?: number;
  readonly streamed?: boolean;
  /** Without a body it is 400, whoever asks. */
  readonly needsBody?: boolean;
}

/** By method and path, as `GET /api/device/:id`; `:name` takes one segment. */
export type Routes = Readonly<Record<string, Handler | Endpoint>>;

/** A request whose body has arrived, before its route sees it. */
export interface Arrived {
  readonly method: string;
  readonly path: string;
  readonly bodyBytes: number;
}

/** Acts on a request before its route sees it; undefined lets it pass. */
export type Interference = (request: Arrived, response: ServerResponse) => Promise<Answer | 'taken' | undefined>;

export interface HttpServiceOptions {
  readonly routes: Routes;
  readonly interfere: Interference;
  readonly clock: Clock;
  readonly host: string;
  /** `none`: it does not listen. */
  readonly port: number | 'none';
  readonly tls: { readonly port: number; readonly key: string; readonly cert: string } | undefined;
  /** The server's limit for any request that waits; the stock server has 30 s. */
  readonly asyncLimitMs: number;
}

const BODY_LIMIT = 16 * 1024 * 1024;
/** Longer than any client keeps a connection, so that it is the client who closes. */
const KEEP_ALIVE_MS = 65_000;

export class HttpService {
  readonly #options: HttpServiceOptions;
  readonly #routes: readonly (Endpoint & { readonly method: string; readonly segments: readonly string[] })[];
  #servers: Server[] = [];
  #port: number | 'none';
  #tlsPort: number | undefined;

  constructor(options: HttpServiceOptions) {
    this.#options = options;
    this.#routes = Object.entries(options.routes).map(([name, endpoint]) => {
      const [method = '', path = ''] = name.split(' ');
      return {
        method,
        segments: path.split('/'),
        ...(typeof endpoint === 'function' ? { handler: endpoint } : endpoint),
      };
    });
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
    const { tls } = this.#options;
    const timeouts = { keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: 0 };
    this.#port = await this.#open(createServer(timeouts), this.#port);
    if (tls !== undefined)
      this.#tlsPort = await this.#open(
        createTlsServer({ ...timeouts, key: tls.key, cert: tls.cert }),
        this.#tlsPort ?? 0,
      );
  }

  /** Stops listening and cuts every connection. Idempotent. */
  async close(): Promise<void> {
    const closed = this.#servers.splice(0).map((server) => {
      const end = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return end;
    });
    await Promise.all(closed);
  }

  /** Answers a request that came over no connection, as a world in one process sends them. */
  async answer(request: BareRequest, gone: AbortSignal): Promise<Reply> {
    const { method, url, headers, body } = request;
    const read = async (limit: number): Promise<Buffer | undefined> => (body.byteLength > limit ? undefined : body);
    const reply = await this.#handle(
      { method, headers, request: Readable.from([body]), gone },
      url,
      read,
      async () => undefined,
    );
    return await this.#cutAtLimit(reply as Answer, gone);
  }

  async #open(server: Server, port: number): Promise<number> {
    serveOneAtATime(server, (request, response) => void this.#serve(request, response));
    this.#servers.push(server);
    await once(server.listen(port, this.#options.host), 'listening');
    return (server.address() as AddressInfo).port;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    request.on('error', () => {});
    response.on('error', () => {});
    const { method = 'GET', url = '/', headers } = request;
    const reply = await this.#handle(
      { method, headers, request, gone: gone.signal },
      url,
      (limit) => readBody(request, limit),
      (arrived) => this.#options.interfere(arrived, response),
    );
    if (reply !== 'taken') await writeReply(response, await this.#cutAtLimit(reply, gone.signal));
  }

  async #handle(
    head: Pick<Call, 'method' | 'headers' | 'request' | 'gone'>,
    address: string,
    read: (limit: number) => Promise<Buffer | undefined>,
    interfere: (arrived: Arrived) => ReturnType<Interference>,
  ): Promise<Answer | 'taken'> {
    try {
      const { endpoint, params, url } = this.#find(head.method, address);
      const { handler, bodyLimit = BODY_LIMIT, streamed = false, needsBody = false } = endpoint;
      const body = streamed ? Buffer.alloc(0) : await read(bodyLimit);
      if (body === undefined) return tooLarge(bodyLimit);
      if (needsBody && body.length === 0) throw missingBody();
      const { pathname: path, searchParams: query } = url;
      const arrived = { method: head.method, path, bodyBytes: body.byteLength };
      return (await interfere(arrived)) ?? (await handler({ ...head, path, params, query, body }));
    } catch (error) {
      if (error instanceof RequestFault) return error.reply(this.#options.clock);
      return { status: 500, body: error instanceof Error ? error.message : String(error), contentType: 'text/plain' };
    }
  }

  /** @throws RequestFault when there is no such route. */
  #find(
    method: string,
    address: string,
  ): { readonly endpoint: Endpoint; readonly params: Record<string, string>; readonly url: URL } {
    const url = URL.parse(address, 'http://local');
    if (url === null) throw malformedPath();
    const segments = url.pathname.split('/');
    const here = this.#routes.filter(
      (route) =>
        route.segments.length === segments.length &&
        route.segments.every((segment, index) => segment.startsWith(':') || segment === segments[index]),
    );
    if (here.length === 0) throw new RequestFault('No such path', 404, 31);
    const endpoint = here.find((candidate) => candidate.method === method);
    if (endpoint === undefined) throw new RequestFault(`Request method '${method}' is not supported`, 405);
    const params: Record<string, string> = {};
    try {
      for (const [index, segment] of endpoint.segments.entries())
        if (segment.startsWith(':')) params[segment.slice(1)] = decodeURIComponent(segments[index] ?? '');
    } catch {
      throw malformedPath();
    }
    return { endpoint, params, url };
  }

  async #cutAtLimit(answer: Answer, gone: AbortSignal): Promise<Reply> {
    if (answer !== 'unanswered') return answer;
    await this.#options.clock.sleep(this.#options.asyncLimitMs, gone);
    return { status: 503 };
  }
}

/** Undefined when the body is longer than `limit` bytes; the rest is not read then. */
async function readBody(request: IncomingMessage, limit: number): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > limit) return undefined;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > limit) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The rest of the body is not read: the connection cannot be used again. */
function tooLarge(limit: number): Reply {
  return { status: 413, body: `"Payload size exceeds the limit of ${limit} bytes"`, headers: { connection: 'close' } };
}

function malformedPath(): RequestFault {
  return new RequestFault('Malformed path', 400, 31);
}

function hostInUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
