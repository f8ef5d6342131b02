/**
 * The login at the platform that the analytics service trusts. The token lives in memory only; it is renewed before it ends, by the
 * refresh token if there is one, and many callers at once share one login.
 */

import { AnalyticsError } from '../../errors/analytics-error.ts';
import type { Clock } from '../../host/clock.ts';
import { SharedWork } from '../../host/shared-work.ts';
import { isJsonObject, type JsonValue, parseJson } from '../../values/json.ts';
import { type AnalyticsHttp, type AnalyticsHttpSettings, faultText, textOf, unreachable } from './analytics-http.ts';
import { ExchangeDeadline } from './exchange-deadline.ts';

export interface AnalyticsSessionDeps extends Pick<AnalyticsHttpSettings, 'proxy' | 'requestTimeoutMs'> {
  readonly http: AnalyticsHttp;
  readonly clock: Clock;
  /** The platform's address. */
  readonly authUrl: string;
  readonly user: string;
  readonly password: string;
}

interface Tokens {
  readonly token: string;
  readonly refreshToken?: string;
  /** Monotonic ms at which another one is wanted. */
  readonly renewAtMs: number;
}

/** Before its end, so that a report under way does not outlive its token. */
const RENEW_BEFORE_MS = 60_000;
/** A stock token lives 9000 s; one that does not say is renewed this often. */
const UNKNOWN_LIFETIME_MS = 900_000;

export class AnalyticsSession {
  readonly #deps: AnalyticsSessionDeps;
  readonly #renewal = new SharedWork((signal) => this.#obtain(signal));
  #tokens: Tokens | undefined;

  constructor(deps: AnalyticsSessionDeps) {
    this.#deps = deps;
  }

  /** Everything that no text may show. */
  get secrets(): readonly string[] {
    const { token, refreshToken } = this.#tokens ?? {};
    return [this.#deps.password, this.#deps.proxy, token, refreshToken].filter((secret) => secret !== undefined);
  }

  /**
   * A token that is good for a while.
   * @throws AnalyticsError `analytics/login-refused` (hold), `analytics/unreachable` (retry), `analytics/bad-answer` (drop).
   */
  async token(signal: AbortSignal): Promise<string> {
    const held = this.#tokens;
    if (held !== undefined && this.#deps.clock.monotonicMs() < held.renewAtMs) return held.token;
    try {
      return (await this.#renewal.join(signal)).token;
    } catch (error) {
      throw unreachable(error, this.secrets);
    }
  }

  /** The service refused this token: the next one is made again, by password. */
  forget(token: string): void {
    if (this.#tokens?.token === token) this.#tokens = undefined;
  }

  async #obtain(signal: AbortSignal): Promise<Tokens> {
    const { user, password } = this.#deps;
    const refreshToken = this.#tokens?.refreshToken;
    const refreshed =
      refreshToken === undefined
        ? undefined
        : await this.#ask('/api/auth/token', { refreshToken }, signal).catch(() => undefined);
    this.#tokens = refreshed ?? (await this.#ask('/api/auth/login', { username: user, password }, signal));
    return this.#tokens;
  }

  async #ask(path: string, body: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Tokens> {
    const { http, authUrl, clock, requestTimeoutMs } = this.#deps;
    const deadline = new ExchangeDeadline(clock, requestTimeoutMs, signal);
    try {
      const answer = await http.post(
        `${authUrl.replace(/\/+$/, '')}${path}`,
        body,
        { secrets: this.secrets },
        deadline.signal,
      );
      return this.#tokensOf(answer.statusCode, await textOf(answer, this.secrets));
    } finally {
      deadline.end();
    }
  }

  #tokensOf(status: number, text: string): Tokens {
    const said = faultText(text, this.secrets);
    if (status === 401)
      throw new AnalyticsError('login-refused', `the login was refused: user name or password is wrong${said}`);
    if (status < 200 || status >= 300)
      throw new AnalyticsError(
        status >= 500 || status === 429 ? 'unreachable' : 'refused',
        `the login was answered ${status}${said}`,
      );
    const json = jsonOf(text);
    const { token, refreshToken } = isJsonObject(json) ? json : {};
    if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))
      throw new AnalyticsError(
        'bad-answer',
        'the login was answered without a token: is this the address of the platform?',
      );
    return { token, renewAtMs: this.#renewAtMs(token), ...(typeof refreshToken === 'string' ? { refreshToken } : {}) };
  }

  /** By the token's own account of its life: its times are the server's, and only their difference is used. */
  #renewAtMs(token: string): number {
    const lifetimeMs = lifetimeOf(token) ?? UNKNOWN_LIFETIME_MS;
    return this.#deps.clock.monotonicMs() + Math.max(lifetimeMs - RENEW_BEFORE_MS, lifetimeMs / 2);
  }
}

/** `exp` − `iat` of a JSON web token (RFC 7519), ms; undefined for anything else. */
function lifetimeOf(token: string): number | undefined {
  const claims = jsonOf(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
  if (!isJsonObject(claims) || typeof claims.exp !== 'number' || typeof claims.iat !== 'number') return undefined;
  const lifetimeMs = (claims.exp - claims.iat) * 1_000;
  return lifetimeMs > 0 ? lifetimeMs : undefined;
}

function jsonOf(text: string): JsonValue | undefined {
  try {
    return parseJson(text, { depth: 8 });
  } catch {
    return undefined;
  }
}
