/** Counts the bytes of HTTP that really passed its sockets, and ends those that bring bytes without end. */
import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import type { Traffic } from './connections.ts';
import { ASK_SILENT_AFTER_MS, type WireCount } from './wire-count.ts';

export class CountedSockets {
  readonly #wire: Pick<WireCount, 'watch'>;
  readonly #sockets = new Set<Socket>();
  #sentBefore = 0;
  #receivedBefore = 0;

  constructor(wire: Pick<WireCount, 'watch'>) {
    this.#wire = wire;
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

  /** Counts what `connect` opens. A tunnelled socket passes here twice, as the tunnel and as TLS inside it; only the outer one is counted. */
  counting(connect: buildConnector.connector): buildConnector.connector {
    return (options, callback) =>
      connect(options, (...result) => {
        // Undefined, not null, when connecting failed.
        const socket: Socket | null | undefined = result[1];
        if (socket && options.httpSocket === undefined && !isInside(socket, this.#sockets)) this.#count(socket);
        callback(...result);
      });
  }

  #count(socket: Socket): void {
    this.#sockets.add(socket);
    this.#wire.watch(socket);
    socket.setKeepAlive(true, ASK_SILENT_AFTER_MS);
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
