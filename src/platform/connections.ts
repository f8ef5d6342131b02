/**
 * The connections to the platform's one host: plain or TLS, direct or through a proxy. Over HTTP/2, where the server offers it at the first handshake,
 * all lanes share one connection; over HTTP/1.1 each has sockets of its own. A poll or a download never stands in front of an upload.
 */
import type { Socket } from 'node:net';
import { buildConnector, type Dispatcher, Pool, ProxyAgent } from 'undici';
import type { Clock } from '../host/clock.ts';
import { getOrInsert } from '../values/get-or-insert.ts';
import { bounding, CountedSockets } from './counted-sockets.ts';
import { Http2Connections, OTHER_HTTP } from './http2-connections.ts';
import type { LaneAnswer, LaneRequest, LaneRequester } from './lane-request.ts';
import { PlatformError, safeText } from './platform-error.ts';
import { type OpenSecure, secureSockets, throughTunnel } from './secure-sockets.ts';
import { trusting } from './trusted-authorities.ts';
import { type ExchangeBytes, type LaneBytes, WireCount } from './wire-count.ts';

export interface ConnectionSettings {
  /** `http://` or `https://`, host, optional port and path prefix. */
  readonly url: string;
  /** PEM of authorities to trust beside the public ones. */
  readonly ca?: string | Buffer;
  /** PEM of the client certificate and its key. */
  readonly clientCertificate?: string | Buffer;
  readonly clientKey?: string | Buffer;
  /** `http://` or `https://` address of a proxy, with user and password if it wants them. */
  readonly proxy?: string;
  readonly connectTimeoutMs?: number;
  /** For links that are paid for by the byte: handshakes without a post-quantum key. */
  readonly shortHandshake?: boolean;
  /** Sockets of HTTP/1.1 of lanes that have another number of them than is usual. */
  readonly sockets?: Partial<Record<Lane, number>>;
}

/** Over HTTP/1.1 one socket each, but `calls`, where a reply must not wait for another call that hangs. */
export type Lane = 'upload' | 'calls' | 'attribute-poll' | 'rpc-poll' | 'download';

/** How the platform is reached; the agent's only way out to it. */
export interface PlatformConnections {
  /** Scheme, host and port. */
  readonly origin: string;
  /** The path prefix of the address, without a slash at its end. */
  readonly prefix: string;
  /** Host of the proxy before the platform, without its login. */
  readonly proxyHost?: string;
  /** Returns what sends a lane's requests; made on first use. */
  lane(lane: Lane): LaneRequester;
  readonly traffic: Traffic;
  /** Notes an exchange of a lane that begins, and one that is over, for the count by lanes. */
  readonly noteBegin?: (lane: Lane) => void;
  readonly noteExchange?: (lane: Lane, exchange: ExchangeBytes) => void;
  /** Secrets that no text for people may hold, nor any part of them. */
  readonly secrets: readonly string[];
  /** Ends every connection at once; calls under way fail. Idempotent. */
  close(): Promise<void>;
}

/** Opens nothing yet. @throws PlatformError `platform/settings` (stop) for an address that is none. */
export type Connect = (settings: ConnectionSettings) => PlatformConnections;

/** Over this machine's network, noticing by the given clock when the other end is silent. */
export function connectOverNetwork(clock: Pick<Clock, 'monotonicMs' | 'after'>): Connect {
  return (settings) => new Connections(settings, clock);
}

/** HTTP bytes (headers and bodies, without TLS's framing) over all lanes since start. */
export interface Traffic {
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** Bytes that the network carried for each lane, both directions, with TLS and TCP/IP; absent where nobody counts it. */
  readonly lanes?: LaneBytes;
}

const CONNECT_TIMEOUT_MS = 10_000;

/** Longer than an upload interval of half a minute, shorter than the 60 s after which stock servers and routers drop an idle connection. */
const KEEP_ALIVE_MS = 50_000;
/** Where a server of HTTP/1.1 says itself for how long it keeps an idle connection. */
const MAX_KEEP_ALIVE_MS = 10 * 60_000;

/** Sockets of the `calls` lane, opened as they are needed: a reply, attributes out, attributes in. */
const CALL_SOCKETS = 3;

/**
 * Bytes between two requests of a socket: the largest answer that is read (4 MiB), in small pieces. Anything but a body
 * (extensions of chunks, 1xx answers without end) passes the parser without being counted there, and costs a core.
 */
const MAX_RECEIVED = 16 * 1024 * 1024;

/** Headers of an honest server are a few hundred bytes. */
const MAX_HEADERS = 16 * 1024;

/** Origins, each with the proxy before it, whose servers chose HTTP/1.1: they are not asked again in this process's life. */
const withoutHttp2 = new Set<string>();
/** A process speaks to one or two. */
const MAX_REMEMBERED = 100;

class Connections implements PlatformConnections {
  readonly origin: string;
  readonly prefix: string;
  readonly proxyHost?: string;
  readonly #url: URL;
  readonly #settings: ConnectionSettings;
  readonly #timeoutMs: number;
  readonly #lanes = new Map<Lane, Dispatcher>();
  readonly #wire: WireCount;
  readonly #sockets: CountedSockets;
  readonly #clock: Pick<Clock, 'monotonicMs' | 'after'>;
  readonly #secure: OpenSecure;
  #http2: Http2Connections | undefined;
  /** On which HTTP/1.1 was chosen; the first lane that needs one takes it. */
  #spare: Socket | undefined;

  constructor(settings: ConnectionSettings, clock: Pick<Clock, 'monotonicMs' | 'after'>) {
    this.#url = parseAddress(settings.url, 'the platform address');
    if (settings.proxy !== undefined) this.proxyHost = parseAddress(settings.proxy, 'the proxy address').host;
    this.origin = this.#url.origin;
    this.prefix = this.#url.pathname.replace(/\/+$/, '');
    this.#settings = settings;
    this.#clock = clock;
    this.#timeoutMs = settings.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
    this.#wire = new WireCount(clock);
    this.#sockets = new CountedSockets({ wire: this.#wire, clock, connectTimeoutMs: this.#timeoutMs });
    const secure = secureSockets({ ...settings, connectTimeoutMs: this.#timeoutMs });
    this.#secure = (offersHttp2) => this.#sockets.overTcp(secure(offersHttp2));
  }

  lane(lane: Lane): LaneRequester {
    if (this.#url.protocol === 'http:' || withoutHttp2.has(this.#place)) return this.#pool(lane);
    return { request: (request) => this.#request(lane, request) };
  }

  get traffic(): Traffic {
    return { ...this.#sockets.traffic, lanes: this.#wire.lanes() };
  }

  readonly noteBegin = (lane: Lane): void => this.#wire.began(lane);
  readonly noteExchange = (lane: Lane, exchange: ExchangeBytes): void => this.#wire.note(lane, exchange);

  /** The proxy's address, with its password: secret-forms.ts knows what is secret in it. */
  get secrets(): readonly string[] {
    return this.#settings.proxy === undefined ? [] : [this.#settings.proxy];
  }

  async close(): Promise<void> {
    const lanes = [...this.#lanes.values()];
    this.#lanes.clear();
    this.#spare?.destroy();
    this.#http2?.end(new Error('the connections were closed'));
    await Promise.all(lanes.map((lane) => lane.destroy()));
  }

  get #place(): string {
    return `${this.origin} ${this.proxyHost ?? ''}`;
  }

  async #request(lane: Lane, request: LaneRequest): Promise<LaneAnswer> {
    this.#http2 ??= this.#openHttp2();
    try {
      return await this.#http2.request(request, lane === 'attribute-poll' || lane === 'rpc-poll');
    } catch (error) {
      if (error === OTHER_HTTP) return this.#pool(lane).request(request);
      throw error;
    }
  }

  #openHttp2(): Http2Connections {
    const connect = this.#connector();
    const { host, hostname, protocol, port } = this.#url;
    const options = { host, hostname: hostname.replace(/^\[|\]$/g, ''), protocol, port };
    return new Http2Connections({
      origin: this.origin,
      clock: this.#clock,
      settingsWithinMs: this.#timeoutMs,
      openSocket: () =>
        new Promise((resolve, reject) => {
          connect(options, (fault, socket) =>
            fault === null || fault === undefined ? resolve(socket as Socket) : reject(fault),
          );
        }),
      onOtherHttp: (socket) => {
        if (withoutHttp2.size >= MAX_REMEMBERED) withoutHttp2.clear();
        withoutHttp2.add(this.#place);
        this.#spare = socket.on('error', () => {});
      },
    });
  }

  /** Opens sockets that offer HTTP/2. */
  #connector(): buildConnector.connector {
    const { ca, proxy } = this.#settings;
    if (proxy === undefined) return this.#sockets.counting(this.#secure(true));
    const toProxy = this.#sockets.overTcp(
      buildConnector({ ...trusting(ca), timeout: this.#timeoutMs, keepAlive: false, allowH2: false }),
    );
    return throughTunnel(new URL(proxy), this.#sockets.counting(toProxy), this.#timeoutMs, this.#secure(true));
  }

  #pool(lane: Lane): Dispatcher {
    // A file may be as large as its offer says; its own deadline and hours end it.
    const limitBytes = lane === 'download' ? Number.POSITIVE_INFINITY : MAX_RECEIVED;
    const sockets = this.#settings.sockets?.[lane] ?? (lane === 'calls' ? CALL_SOCKETS : 1);
    return getOrInsert(this.#lanes, lane, () => this.#open(sockets, limitBytes));
  }

  #open(connections: number, limitBytes: number): Dispatcher {
    const { ca, clientCertificate, clientKey, proxy } = this.#settings;
    const shared = {
      connections,
      pipelining: 1,
      maxHeaderSize: MAX_HEADERS,
      allowH2: false,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: MAX_KEEP_ALIVE_MS,
    };
    const watched = (connect: buildConnector.connector) => bounding(this.#sockets.counting(connect), limitBytes);
    try {
      if (proxy === undefined)
        return new Pool(this.origin, { ...shared, connect: watched(this.#spareFirst(this.#secure(false))) });
      const overTcp = (connect: buildConnector.connector) => this.#sockets.overTcp(connect);
      const watchedOptions = (options: object, around: typeof overTcp): Pool.Options => {
        const connect = 'connect' in options && typeof options.connect === 'function' ? options.connect : undefined;
        return connect === undefined
          ? options
          : { ...options, connect: watched(around(connect as buildConnector.connector)) };
      };
      return new ProxyAgent({
        ...shared,
        uri: proxy,
        connectTimeout: this.#timeoutMs,
        requestTls: {
          ...trusting(ca),
          cert: clientCertificate,
          key: clientKey,
          keepAlive: false,
          allowH2: false,
        },
        // The proxy may stand behind the same private authority as the platform, but gets no client certificate.
        proxyTls: { ...trusting(ca), keepAlive: false, allowH2: false },
        clientFactory: (origin, options) => new Pool(origin, watchedOptions(options, overTcp)),
        // For plain HTTP it connects to the proxy, else through the tunnel.
        factory: (origin, options) => {
          const around =
            this.#url.protocol === 'http:' ? overTcp : (connect: buildConnector.connector) => this.#spareFirst(connect);
          return new Pool(origin, { ...shared, ...watchedOptions(options, around) });
        },
      });
    } catch (cause) {
      const said = safeText(cause instanceof Error ? cause.message : '', this.secrets);
      throw new PlatformError('settings', `the connection settings cannot be used: ${said}`);
    }
  }

  /** Takes the socket on which HTTP/1.1 was chosen in place of a new one. */
  #spareFirst(connect: buildConnector.connector): buildConnector.connector {
    return (options, callback) => {
      const spare = this.#spare;
      this.#spare = undefined;
      if (spare === undefined || spare.destroyed || !spare.writable) connect(options, callback);
      else queueMicrotask(() => callback(null, spare));
    };
  }
}

function parseAddress(text: string, what: string): URL {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new PlatformError('settings', `${what} is no http:// or https:// address`);
  return url;
}
