/** Beginning of HTTP/2 on a socket: what the client allows the server, and the server's first word. */
import type { ClientHttp2Session, IncomingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock } from '../host/clock.ts';
import { http2 } from './http2-answer.ts';
import { brokenConnection } from './lane-request.ts';

export interface Http2SessionDeps {
  readonly origin: string;
  readonly clock: Pick<Clock, 'after'>;
  /** For the server's first word after the handshake. */
  readonly settingsWithinMs: number;
}

/** Headers of an honest server are a few hundred bytes. */
export const MAX_HEADERS = 16 * 1024;
/** Answers of status 1xx to one request. */
export const MAX_HINTS = 20;
/** PINGs of the server between two looks. */
export const MAX_PINGS = 100;
/** RFC 9113, 6.2. */
export const HEADERS_FRAME = 1;
/** Bytes of one answer under way: what stands in front of another answer on a slow line, one second of 1 Mbit/s. */
const STREAM_WINDOW = 128 * 1024;
/** Bytes of all answers under way: downloads that nobody reads leave room for the rest. */
const CONNECTION_WINDOW = 1024 * 1024;

/** Takes a socket on which HTTP/2 was agreed. @throws BrokenConnection when the server does not say what it allows. */
export async function openSession(socket: Socket, deps: Http2SessionDeps): Promise<ClientHttp2Session> {
  const session = http2().connect(deps.origin, {
    createConnection: () => socket,
    settings: { enablePush: false, initialWindowSize: STREAM_WINDOW, maxHeaderListSize: MAX_HEADERS },
  });
  // Streams tell their own faults; without a listener it would end the process.
  session.on('error', () => {});
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const refuse = (): void => reject(brokenConnection('the server has not begun to speak HTTP/2'));
  const cancel = deps.clock.after(deps.settingsWithinMs, refuse);
  session.once('remoteSettings', () => resolve()).once('close', refuse);
  try {
    await promise;
    session.setLocalWindowSize(CONNECTION_WINDOW);
    return session;
  } catch (error) {
    session.destroy();
    throw error;
  } finally {
    cancel();
  }
}

/** Returns the length of an answer's headers. */
export function headerBytes(headers: IncomingHttpHeaders): number {
  return Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + String(value).length, 0);
}
