/** Counts the bytes of HTTP that really passed its sockets, and ends those that bring bytes without end. */
import type { Socket } from 'node:net';
import { buildConnector } from 'undici';
import type { Clock } from '../host/clock.ts';
import type { Traffic } from './connections.ts';
import { ASK_SILENT_AFTER_MS, type WireCount } from './wire-count.ts';

export interface CountedSocketsDeps {
  readonly wire: Pick<WireCount, 'watch' | 'failed' | 'handshake' | 'share'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly connectTimeoutMs: number;
}

export class CountedSockets {
  readonly #deps: CountedSocketsDeps;
  readonly #tcp: buildConnector.connector;
  readonly #sockets = new Set<Socket>();
  #sentBefore = 0;
  #receivedBefore = 0;

  constructor(deps: CountedSocketsDeps) {
    this.#deps = deps;
    // Questions go out once a second without an answer; ten of them end the connection, 41 s after the last word.
    this.#tcp = buildConnector({ timeout: deps.connectTimeoutMs, keepAliveInitialDelay: ASK_SILENT_AFTER_MS });
  }

  get traffic(): Traffic {
    let sentBytes = this.#sentBefore;
    let receivedBytes = this.#receivedBefore;
    for (const socket of this.#sockets) {
      sentBytes += socket.bytesWritten;
      receivedBytes += socket.bytesRead;
    }
    return { sentBytes, receivedBytes };
  }

  /** Counts the HTTP on what `connect` opens. A tunnelled socket passes here twice, as the tunnel and as TLS inside it; only the outer one is counted. */
  counting(connect: buildConnector.connector): buildConnector.connector {
    return (options, callback) =>
      connect(options, (...result) => {
        // Undefined, not null, when connecting failed.
        const socket: Socket | null | undefined = result[1];
        if (socket && options.httpSocket === undefined && !isInside(socket, this.#sockets)) this.#count(socket);
        callback(...result);
      });
  }

  /** Has `secure` speak TLS over a connection that is counted from its first byte; what is asked for without TLS is that connection itself. */
  overTcp(secure: buildConnector.connector): buildConnector.connector {
    return (options, callback) => {
      if (options.httpSocket !== undefined) return this.#shake(secure, options, callback);
      if (options.protocol !== 'https:') return this.#open(options, callback);
      const { hostname, port } = options;
      this.#open({ hostname, protocol: 'http:', port: port === '' ? '443' : port }, (...[fault, socket]) => {
        if (socket === null || socket === undefined) return callback(fault as Error, null);
        try {
          this.#shake(secure, { ...options, httpSocket: socket }, callback);
        } catch (error) {
          socket.destroy();
          callback(error as Error, null);
        }
      });
    };
  }

  #shake(secure: buildConnector.connector, options: buildConnector.Options, callback: buildConnector.Callback): void {
    const { wire } = this.#deps;
    wire.handshake();
    secure(options, (...result) => {
      if ((result[1] as { readonly alpnProtocol?: unknown } | null | undefined)?.alpnProtocol === 'h2') wire.share();
      callback(...result);
    });
  }

  #open(options: buildConnector.Options, callback: buildConnector.Callback): void {
    const { clock, wire } = this.#deps;
    const beganMs = clock.monotonicMs();
    this.#tcp(options, (...result) => {
      const [fault, socket] = result;
      if (socket) wire.watch(socket);
      // A name that is not found leaves nothing to connect to.
      else if ((fault as NodeJS.ErrnoException).syscall !== 'getaddrinfo') wire.failed(clock.monotonicMs() - beganMs);
      callback(...result);
    });
  }

  #count(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#sentBefore += socket.bytesWritten;
      this.#receivedBefore += socket.bytesRead;
    });
  }
}

/** Bounds the answers on what `connect` opens: a socket of HTTP/1.1 is ended that brings more without having been asked anything new. */
export function bounding(connect: buildConnector.connector, limitBytes: number): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...result) => {
      if (result[1]) boundAnswer(result[1], limitBytes);
      callback(...result);
    });
}

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
