/**
 * The connections to the platform's one host: plain or TLS, direct or through a proxy, each lane with sockets of its own, so that a poll
 * or a download never stands in front of an upload. Counts the bytes of HTTP that really passed its sockets.
 */
import type { Socket } from 'node:net';
import { buildConnector, type Dispatcher, Pool, ProxyAgent } from 'undici';
import { getOrInsert } from '../host/get-or-insert.ts';
import { given } from '../host/given.ts';
import { PlatformError, safeText } from './platform-error.ts';
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
  /** Sockets of lanes that have another number of them than is usual. */
  readonly sockets?: Partial<Record<Lane, number>>;
}

/** One socket each, but `calls`, where a reply must not wait for another call that hangs. */
export type Lane = 'upload' | 'calls' | 'attribute-poll' | 'rpc-poll' | 'download';

/** How the platform is reached; the agent's only way out to it. */
export interface PlatformConnections {
  /** Scheme, host and port. */
  readonly origin: string;
  /** The path prefix of the address, without a slash at its end. */
  readonly prefix: string;
  /** Host of the proxy before the platform, without its login. */
  readonly proxyHost?: string;
  /** Returns the dispatcher of a lane's requests; made on first use. */
  lane(lane: Lane): Pick<Dispatcher, 'request'>;
  readonly traffic: Traffic;
  /** Notes an exchange of a lane that is over, for the count by lanes. */
  readonly noteExchange?: (lane: Lane, exchange: ExchangeBytes) => void;
  /** Secrets that no text for people may hold, nor any part of them. */
  readonly secrets: readonly string[];
  /** Ends every connection at once; calls under way fail. Idempotent. */
  close(): Promise<void>;
}

/** Opens nothing yet. @throws PlatformError `platform/settings` (stop) for an address that is none. */
export type Connect = (settings: ConnectionSettings) => PlatformConnections;

/** Over this machine's network. */
export const connectOverNetwork: Connect = (settings) => new Connections(settings);

/** HTTP bytes (headers and bodies, without TLS's framing) over all lanes since start. */
export interface Traffic {
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** What the network carried for each lane, both directions, with TLS and TCP/IP; absent where nobody counts it. */
  readonly lanes?: LaneBytes;
}

const CONNECT_TIMEOUT_MS = 10_000;

/** Longer than an upload interval of half a minute, shorter than the 60 s after which stock servers and routers drop an idle connection. */
const KEEP_ALIVE_MS = 50_000;

/**
 * A connection that is silent for so long is asked by TCP whether it stands, once a second from then on; ten questions without an answer end it,
 * 35 s after the last word. A question and its answer are 104 bytes over IPv4: 11 MB a month for a connection that is always silent.
 */
const ASK_SILENT_AFTER_MS = 25_000;

/** Sockets of the `calls` lane, opened as they are needed: a reply, attributes out, attributes in. */
const CALL_SOCKETS = 3;

/**
 * Bytes between two requests of a socket: the largest answer that is read (4 MiB), in small pieces. Anything but a body
 * (extensions of chunks, 1xx answers without end) passes the parser without being counted there, and costs a core.
 */
const MAX_RECEIVED = 16 * 1024 * 1024;

/** Headers of an honest server are a few hundred bytes. */
const MAX_HEADERS = 16 * 1024;

class Connections implements PlatformConnections {
  readonly origin: string;
  readonly prefix: string;
  readonly proxyHost?: string;
  readonly #settings: ConnectionSettings;
  readonly #lanes = new Map<Lane, Dispatcher>();
  readonly #sockets = new Set<Socket>();
  readonly #wire = new WireCount();
  #sentBefore = 0;
  #receivedBefore = 0;

  constructor(settings: ConnectionSettings) {
    const url = parseAddress(settings.url, 'the platform address');
    if (settings.proxy !== undefined) this.proxyHost = parseAddress(settings.proxy, 'the proxy address').host;
    this.origin = url.origin;
    this.prefix = url.pathname.replace(/\/+$/, '');
    this.#settings = settings;
  }

  lane(lane: Lane): Dispatcher {
    // A file may be as large as its offer says; its own deadline and hours end it.
    const limitBytes = lane === 'download' ? Number.POSITIVE_INFINITY : MAX_RECEIVED;
    const sockets = this.#settings.sockets?.[lane] ?? (lane === 'calls' ? CALL_SOCKETS : 1);
    return getOrInsert(this.#lanes, lane, () => this.#open(sockets, limitBytes));
  }

  get traffic(): Traffic {
    let sentBytes = this.#sentBefore;
    let receivedBytes = this.#receivedBefore;
    for (const socket of this.#sockets) {
      sentBytes += socket.bytesWritten;
      receivedBytes += socket.bytesRead;
    }
    return { sentBytes, receivedBytes, lanes: this.#wire.lanes() };
  }

  readonly noteExchange = (lane: Lane, exchange: ExchangeBytes): void => this.#wire.note(lane, exchange);

  /** The proxy's address, with its password: secret-forms.ts knows what is secret in it. */
  get secrets(): readonly string[] {
    return this.#settings.proxy === undefined ? [] : [this.#settings.proxy];
  }

  async close(): Promise<void> {
    const lanes = [...this.#lanes.values()];
    this.#lanes.clear();
    await Promise.all(lanes.map((lane) => lane.destroy()));
  }

  #open(connections: number, limitBytes: number): Dispatcher {
    const { ca, clientCertificate, clientKey, proxy, connectTimeoutMs = CONNECT_TIMEOUT_MS } = this.#settings;
    const identity = { ...trusting(ca), ...given({ cert: clientCertificate, key: clientKey }) };
    const shared = { connections, pipelining: 1, keepAliveTimeout: KEEP_ALIVE_MS, maxHeaderSize: MAX_HEADERS, allowH2: false };
    try {
      if (proxy === undefined) {
        const connect = this.#watched(buildConnector({ ...identity, timeout: connectTimeoutMs, allowH2: false }), limitBytes);
        return new Pool(this.origin, { ...shared, connect });
      }
      return new ProxyAgent({
        ...shared,
        uri: proxy,
        connectTimeout: connectTimeoutMs,
        requestTls: { ...identity, allowH2: false },
        // The proxy may stand behind the same private authority as the platform, but gets no client certificate.
        proxyTls: { ...trusting(ca), allowH2: false },
        clientFactory: (origin, options) => new Pool(origin, this.#watchedOptions(options, limitBytes)),
        factory: (origin, options) => new Pool(origin, { ...shared, ...this.#watchedOptions(options, limitBytes) }),
      });
    } catch (cause) {
      const said = safeText(cause instanceof Error ? cause.message : '', this.secrets);
      throw new PlatformError('settings', `the connection settings cannot be used: ${said}`);
    }
  }

  #watchedOptions(options: object, limitBytes: number): Pool.Options {
    const connect =
      'connect' in options && typeof options.connect === 'function' ? (options.connect as buildConnector.connector) : undefined;
    return connect === undefined ? options : { ...options, connect: this.#watched(connect, limitBytes) };
  }

  /** A tunnelled socket passes here twice, as the tunnel and as TLS inside it; only the outer one is counted. */
  #watched(connect: buildConnector.connector, limitBytes: number): buildConnector.connector {
    return (options, callback) =>
      connect(options, (...result) => {
        // Undefined, not null, when connecting failed.
        const socket: Socket | null | undefined = result[1];
        if (socket && options.httpSocket === undefined && !isInside(socket, this.#sockets)) this.#count(socket);
        if (socket) boundAnswer(socket, limitBytes);
        if (socket) socket.setKeepAlive(true, ASK_SILENT_AFTER_MS);
        callback(...result);
      });
  }

  #count(socket: Socket): void {
    this.#sockets.add(socket);
    this.#wire.watch(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#sentBefore += socket.bytesWritten;
      this.#receivedBefore += socket.bytesRead;
    });
  }
}

/** Ends a socket that brings more than `limitBytes` without having been asked anything new. */
function boundAnswer(socket: Socket, limitBytes: number): void {
  let askedBytes = socket.bytesWritten;
  let sinceBytes = socket.bytesRead;
  socket.on('readable', () => {
    if (socket.bytesWritten !== askedBytes) {
      askedBytes = socket.bytesWritten;
      sinceBytes = socket.bytesRead;
    } else if (socket.bytesRead - sinceBytes > limitBytes) {
      socket.destroy(new Error('the answer does not end'));
    }
  });
}

/** True when a socket is counted already, or is TLS inside of one that is. */
function isInside(socket: Socket, counted: ReadonlySet<Socket>): boolean {
  if (counted.has(socket)) return true;
  const parent: unknown = (socket as { readonly _parent?: unknown })._parent;
  return parent !== undefined && parent !== null && counted.has(parent as Socket);
}

function parseAddress(text: string, what: string): URL {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    throw new PlatformError('settings', `${what} is no http:// or https:// address`);
  return url;
}
