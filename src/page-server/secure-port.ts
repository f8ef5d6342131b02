/**
 * One port for TLS and for plain HTTP, told apart by the first byte of a connection: a TLS record of a handshake begins with 0x16, a request with
 * a letter. Both end in the same HTTP server; what is in clear it tells by `isEncrypted`. Until a connection has reached it, its time is bounded here.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { createServer as createTlsServer, TLSSocket } from 'node:tls';
import type { Clock } from '../host/clock.ts';
import type { SelfSignedCertificate } from '../host/self-signed-certificate.ts';

export interface SecurePortDeps {
  readonly clock: Pick<Clock, 'after'>;
  readonly certificate: SelfSignedCertificate;
}

export interface SecurePort {
  /** Ends the connections that have not reached the HTTP server. */
  close(): void;
}

const HANDSHAKE_BYTE = 0x16;
/** From the connection to the end of the handshake, however often a peer sends another byte: a small board needs a tenth of it. */
const HANDSHAKE_WITHIN_MS = 10_000;

/** Has the server speak TLS as well; its bound on connections holds for all. */
export function speakTlsToo(server: Server, { clock, certificate }: SecurePortDeps): SecurePort {
  const waiting = new Map<string, { readonly socket: Socket; readonly reached: () => void }>();
  const listeners = server.listeners('connection');
  const serve = (socket: Socket): void => {
    waiting.get(peerOf(socket))?.reached();
    for (const listener of listeners) listener.call(server, socket);
  };
  const tls = createTlsServer({
    ...certificate,
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: HANDSHAKE_WITHIN_MS,
  });
  tls.on('tlsClientError', (_error, socket) => socket.destroy());
  tls.on('secureConnection', serve);
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    const peer = peerOf(socket);
    const cancel = clock.after(HANDSHAKE_WITHIN_MS, () => socket.destroy());
    const reached = (): void => {
      cancel();
      waiting.delete(peer);
    };
    waiting.set(peer, { socket, reached });
    socket.on('error', () => {});
    socket.once('close', reached);
    socket.once('readable', () => {
      const first = socket.read(1) as Buffer | null;
      if (first === null) return void socket.destroy();
      socket.unshift(first);
      if (first[0] !== HANDSHAKE_BYTE) return serve(socket);
      // An HTTP server's sockets may be half open, which would keep a peer that left in the middle of its handshake.
      socket.allowHalfOpen = false;
      tls.emit('connection', socket);
    });
  });
  return {
    close: () => {
      for (const { socket } of waiting.values()) socket.destroy();
    },
  };
}

/** Both sockets of a TLS connection have the same. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** True for a request over TLS. */
export function isEncrypted({ socket }: Pick<IncomingMessage, 'socket'>): boolean {
  return socket instanceof TLSSocket;
}
