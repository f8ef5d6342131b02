/** HTTP to the analytics service and to the platform it gets its tokens from: one POST of JSON, its answer not read yet. No URL in any error. */
import { Agent, type Dispatcher, ProxyAgent } from 'undici';
import { AnalyticsError } from '../../errors/analytics-error.ts';
import { readBody } from '../../platform/http-exchange.ts';
import { networkError, safeText } from '../../platform/platform-error.ts';
import { trusting } from '../../platform/trusted-authorities.ts';
import { type JsonObject, stringifyJson } from '../../values/json.ts';

export interface AnalyticsHttpSettings {
  /** PEM of authorities to trust beside the public ones. */
  readonly ca?: string | Buffer;
  /** The way there, which may have a password of its own. */
  readonly proxy?: string;
  /** For a whole login, the whole text of a fault, or a report until its first row and from rows to rows, ms. */
  readonly requestTimeoutMs: number;
}

/** Its body is to be read to its end, or destroyed. */
export type AnalyticsAnswer = Dispatcher.ResponseData;

/** Texts of faults, and answers of the login. */
const MAX_TEXT_BYTES = 64 * 1024;
const CONNECT_TIMEOUT_MS = 10_000;

export class AnalyticsHttp {
  readonly #dispatcher: Dispatcher;

  /** Connects at the first call. */
  constructor(settings: AnalyticsHttpSettings) {
    const { ca, proxy, requestTimeoutMs } = settings;
    const connect = { timeout: CONNECT_TIMEOUT_MS, ...trusting(ca) };
    const timeouts = { headersTimeout: requestTimeoutMs, bodyTimeout: requestTimeoutMs };
    this.#dispatcher =
      proxy === undefined
        ? new Agent({ connect, ...timeouts })
        : new ProxyAgent({ uri: proxy, requestTls: connect, proxyTls: trusting(ca), ...timeouts });
  }

  /** @throws AnalyticsError `analytics/unreachable` (retry) when there is no answer, `analytics/settings` (stop) for an address that is none. */
  async post(
    url: string,
    body: JsonObject,
    options: { readonly headers?: Readonly<Record<string, string>>; readonly secrets: readonly string[] },
    signal: AbortSignal,
  ): Promise<AnalyticsAnswer> {
    const { origin, pathname, search } = parsed(url);
    try {
      return await this.#dispatcher.request({
        origin,
        path: `${pathname}${search}`,
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json', ...options.headers },
        body: stringifyJson(body),
        signal,
      });
    } catch (error) {
      throw unreachable(error, options.secrets);
    }
  }

  /** Ends every connection. Idempotent. */
  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }
}

/** A fault of the network in words, without address. */
export function unreachable(error: unknown, secrets: readonly string[]): AnalyticsError {
  if (error instanceof AnalyticsError) return error;
  const fault = networkError(error, secrets);
  const isAbort = error instanceof Error && error.name === 'AbortError';
  const message = isAbort
    ? 'the request was ended before its answer was complete'
    : fault.message.replaceAll('the platform', 'the analytics service');
  return new AnalyticsError('unreachable', message, fault.cause);
}

/** The beginning of an answer, as text; the rest is thrown away. */
export async function textOf(answer: AnalyticsAnswer, secrets: readonly string[]): Promise<string> {
  try {
    return Buffer.from((await readBody(answer.body, MAX_TEXT_BYTES)).body).toString('utf8');
  } catch (error) {
    throw unreachable(error, secrets);
  }
}

/** Returns what a service said about a fault, fit for people: cut, without addresses and secrets. */
export function faultText(text: string, secrets: readonly string[]): string {
  const safe = safeText(text, secrets);
  return safe === '' ? '' : `: ${safe}`;
}

function parsed(url: string): URL {
  try {
    return new URL(url);
  } catch {
    throw new AnalyticsError('settings', 'the address of the analytics service is none');
  }
}
