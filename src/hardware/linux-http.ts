/** Requests to HTTP devices, by Node's own client: its modules are loaded with the first. */
import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { messageOf, retryable, systemCode } from '../errors/agent-error.ts';
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

/** Content codings that are read. */
const CODINGS: ReadonlySet<string> = new Set(['gzip', 'x-gzip', 'deflate']);

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
  const { request: send } = process.getBuiltinModule(url.startsWith('https:') ? 'node:https' : 'node:http');
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
  const options = {
    agent: false,
    method,
    signal,
    headers: { ...headers, ...length, connection: 'close' },
    ca: tls.ca,
    servername: tls.serverName,
    rejectUnauthorized: !tls.insecure,
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
  const body = await decoded(Buffer.concat(pieces), answer.headers['content-encoding'], host, maxBytes);
  return { status: answer.statusCode ?? 0, headers: Object.fromEntries(headers), body };
}

/** Body without its content codings (RFC 9110, section 8.4), which some servers apply unasked. */
async function decoded(body: Buffer, codings: string | undefined, host: string, maxBytes: number): Promise<Buffer> {
  const applied = (codings ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity');
  // An answer without a body may name a coding all the same.
  if (applied.length === 0 || body.length === 0) return body;
  const [coding = '', another] = applied;
  if (another !== undefined || !CODINGS.has(coding))
    throw retryable(
      'hardware/http-coding',
      `${host} sends its answer as ${applied.join(', ')}, which is not read here`,
    );
  const { inflateRaw, unzip } = process.getBuiltinModule('node:zlib');
  // Servers call both zlib's format and the bare one "deflate": the first byte of zlib's says method 8.
  const isBare = coding === 'deflate' && ((body[0] ?? 0) & 0x0f) !== 8;
  try {
    return await promisify(isBare ? inflateRaw : unzip)(body, { maxOutputLength: maxBytes });
  } catch (cause) {
    if (systemCode(cause) === 'ERR_BUFFER_TOO_LARGE')
      throw retryable('hardware/http-too-long', `${host} answers with more than ${maxBytes} bytes`);
    throw retryable('hardware/http-coding', `${host} sends an answer that is not ${coding} as it says`, cause);
  }
}

function noAnswer(host: string, cause: unknown): Error {
  const words = WORDS[systemCode(cause) ?? ''] ?? `gives no answer: ${systemCode(cause) ?? messageOf(cause)}`;
  return retryable('hardware/http-no-answer', `${host} ${words}`, cause);
}
