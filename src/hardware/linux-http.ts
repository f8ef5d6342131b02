/** Requests to HTTP devices, by Node's own client: its modules are loaded with the first. */
import type { IncomingMessage } from 'node:http';
import { messageOf, retryable, systemCode } from '../errors/agent-error.ts';
import { given } from '../host/given.ts';
import { withinDeadline } from './deadline.ts';
import type { HttpAnswer, HttpPort, HttpRequest } from './http-port.ts';

/** Words for what a connection ends with, by the system's code. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refuses the connection',
  EHOSTUNREACH: 'cannot be reached',
  ENETUNREACH: 'cannot be reached: no network',
  ENOTFOUND: 'has no address (name?)',
  EAI_AGAIN: 'has no address now (name server?)',
  ECONNRESET: 'hung up',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'has a certificate of its own: give it as caFile',
  SELF_SIGNED_CERT_IN_CHAIN: 'has a certificate of an unknown authority: give that as caFile',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'has a certificate of an unknown authority: give that as caFile',
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another name: give that as serverName',
  CERT_HAS_EXPIRED: 'has a certificate that has expired',
  EPROTO: 'does not speak TLS (http instead of https?)',
};

export class LinuxHttp implements HttpPort {
  readonly #closing = new AbortController();

  async request(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    const { host } = new URL(request.url);
    const ended = AbortSignal.any([signal, this.#closing.signal]);
    return await withinDeadline(exchange(request, host, ended), `waiting for ${host}`, ended);
  }

  async close(): Promise<void> {
    this.#closing.abort();
  }
}

/** A connection that is kept may be closed by the device just as it is asked again: each request makes its own. */
async function exchange(
  { url, method, headers, body, tls, maxBytes }: HttpRequest,
  host: string,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const { request: send } = url.startsWith('https:') ? await import('node:https') : await import('node:http');
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  const options = {
    ...{ agent: false, method, signal, headers: { ...headers, ...length, connection: 'close' } },
    ...{ ...given({ ca: tls.ca, servername: tls.serverName }), rejectUnauthorized: !tls.insecure },
  };
  return await new Promise<HttpAnswer>((resolve, reject) => {
    const sent = send(url, options, (answer) => readAnswer(answer, host, maxBytes).then(resolve, reject));
    sent.on('error', (cause) => reject(noAnswer(host, cause)));
    sent.end(body);
  });
}

async function readAnswer(answer: IncomingMessage, host: string, maxBytes: number): Promise<HttpAnswer> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const piece of answer as AsyncIterable<Uint8Array>) {
      length += piece.length;
      if (length > maxBytes)
        throw retryable('hardware/http-too-long', `${host} answers with more than ${maxBytes} bytes`);
      pieces.push(piece);
    }
  } catch (cause) {
    throw length > maxBytes ? cause : noAnswer(host, cause);
  }
  const headers = Object.entries(answer.headersDistinct).map(
    ([name, values = []]) => [name, values.join(', ')] as const,
  );
  return { status: answer.statusCode ?? 0, headers: Object.fromEntries(headers), body: Buffer.concat(pieces) };
}

function noAnswer(host: string, cause: unknown): Error {
  const words = WORDS[systemCode(cause) ?? ''] ?? `gives no answer: ${systemCode(cause) ?? messageOf(cause)}`;
  return retryable('hardware/http-no-answer', `${host} ${words}`, cause);
}
