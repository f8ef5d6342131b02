/**
 * Sockets of TLS to the platform, direct or through a proxy's tunnel. The last session is kept for the next handshake, which costs a quarter of
 * the first one's bytes then; undici's own memory of sessions is emptied by each collection of garbage.
 */
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { buildConnector, Client } from 'undici';
import { trusting } from './trusted-authorities.ts';

export interface SecureSocketSettings {
  readonly ca?: string | Buffer;
  readonly clientCertificate?: string | Buffer;
  readonly clientKey?: string | Buffer;
  readonly connectTimeoutMs: number;
  /** Leaves out the key of the post-quantum exchange, which is half of a handshake that goes on from another. */
  readonly shortHandshake?: boolean;
}

/** Speaks TLS over a connection that stands (`httpSocket`), for either HTTP or for HTTP/1.1 alone. */
export type OpenSecure = (offersHttp2: boolean) => buildConnector.connector;

const SHORT_CURVES = 'X25519:P-256:P-384';

export function secureSockets({
  ca,
  clientCertificate,
  clientKey,
  connectTimeoutMs,
  shortHandshake = false,
}: SecureSocketSettings): OpenSecure {
  const own = { cert: clientCertificate, key: clientKey };
  let authorities: ReturnType<typeof trusting> | undefined;
  let session: Buffer | undefined;
  return (offersHttp2) => (options, callback) => {
    authorities ??= trusting(ca);
    const connect = buildConnector({
      ...authorities,
      ...own,
      timeout: connectTimeoutMs,
      keepAlive: false,
      allowH2: offersHttp2,
      preferH2: offersHttp2,
      session,
      ecdhCurve: shortHandshake ? SHORT_CURVES : undefined,
    });
    connect(options, (...result) => {
      const socket = result[1];
      // A server that does not want the session any more may say no more than that it ends the handshake.
      if (!socket) session = undefined;
      // TLS 1.2 has it now, 1.3 sends it later, and only to those whose certificates were accepted.
      if (socket instanceof TLSSocket) {
        session = socket.getProtocol() === 'TLSv1.3' ? session : socket.getSession();
        socket.on('session', (next: Buffer) => {
          session = next;
        });
      }
      callback(...result);
    });
  };
}

/** Through a proxy's tunnel (CONNECT), as undici's own agent for proxies opens one. */
export function throughTunnel(
  proxy: URL,
  toProxy: buildConnector.connector,
  withinMs: number,
  secure: buildConnector.connector,
) {
  return (options: buildConnector.Options, callback: buildConnector.Callback): void => {
    // The name in the handshake is the proxy's own, not that of the header `host`.
    const connect: buildConnector.connector = (ofProxy, opened) => toProxy({ ...ofProxy, servername: '' }, opened);
    const client = new Client(proxy.origin, { connect, headersTimeout: withinMs });
    const path = options.port === '' ? `${options.host}:443` : String(options.host);
    const opened = async (): Promise<Socket> => {
      const { statusCode, socket } = await client.connect({
        path,
        headers: { host: String(options.host), ...loginOf(proxy) },
      });
      if (statusCode === 200) return socket as Socket;
      socket.on('error', () => {}).destroy();
      throw new Error(`Proxy response (${statusCode}) !== 200 when HTTP Tunneling`);
    };
    opened()
      .finally(() => client.close())
      .then((httpSocket) => secure({ ...options, httpSocket }, callback))
      .catch((error: Error) => callback(error, null));
  };
}

function loginOf({ username, password }: URL): Record<string, string> {
  const proxyConnection = { 'proxy-connection': 'keep-alive' };
  if (username === '') return proxyConnection;
  const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  return { ...proxyConnection, 'proxy-authorization': `Basic ${login}` };
}
