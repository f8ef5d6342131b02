/** A platform over HTTP/2 that a test has in its hand: who has connected, what was asked on which connection, and what is answered. */
import { once } from 'node:events';
import {
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { makeCertificate } from '../../src/host/self-signed-certificate.ts';

const DAY_MS = 86_400_000;
const nowMs = Date.now();
export const PEER_CERTIFICATE = makeCertificate({
  names: ['127.0.0.1'],
  fromMs: nowMs - DAY_MS,
  untilMs: nowMs + DAY_MS,
});

export interface Http2Asked {
  readonly stream: ServerHttp2Stream;
  readonly path: string;
  readonly session: ServerHttp2Session;
}

export interface Http2Peer {
  readonly url: string;
  readonly port: number;
  readonly server: Http2SecureServer;
  readonly sessions: ServerHttp2Session[];
  readonly sockets: TLSSocket[];
  /** For each socket, true when its session was one of before. */
  readonly resumed: boolean[];
  readonly asked: Http2Asked[];
  /** Of `asked`, those that are long polls. */
  readonly polls: () => Http2Asked[];
  readonly close: () => void;
}

/** Answers a POST when it has come, and nothing to a GET, unless told otherwise. */
export async function http2Peer(
  options: Partial<SecureServerOptions> & { readonly port?: number } = {},
  answer: (asked: Http2Asked, headers: IncomingHttpHeaders) => void = answerPosts,
): Promise<Http2Peer> {
  const server = createSecureServer({ ...PEER_CERTIFICATE, ...options });
  const sessions: ServerHttp2Session[] = [];
  const sockets: TLSSocket[] = [];
  const resumed: boolean[] = [];
  const asked: Http2Asked[] = [];
  server.on('secureConnection', (socket: TLSSocket) => {
    sockets.push(socket.on('error', () => {}));
    resumed.push(socket.isSessionReused());
  });
  server.on('session', (session) => sessions.push(session.on('error', () => {})));
  server.on('sessionError', () => {});
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    const one = { stream, path: String(headers[':path']), session: stream.session as ServerHttp2Session };
    asked.push(one);
    answer(one, headers);
  });
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}`,
    port,
    server,
    sessions,
    sockets,
    resumed,
    asked,
    polls: () => asked.filter(({ path }) => path.includes('timeout=')),
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

export function answerPosts({ stream, path }: Http2Asked): void {
  if (path.includes('timeout=')) return;
  stream.resume().on('end', () => stream.respond({ ':status': 200 }, { endStream: true }));
}
