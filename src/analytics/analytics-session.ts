/**
 * The login at the platform that the analytics service trusts. The token lives in memory only; it is renewed before it ends, by the
 * refresh token if there is one, and many callers at once share one login.
 */
import type { Clock } from '../host/clock.ts';
import { isJsonObject, parseJson } from '../host/json.ts';
import { AnalyticsError } from './analytics-error.ts';
import { type AnalyticsHttp, faultText, textOf, unreachable } from './analytics-http.ts';
import { ExchangeDeadline } from './exchange-deadline.ts';

export interface AnalyticsSessionDeps {
  readonly http: AnalyticsHttp;
  readonly clock: Clock;
  /** The platform's address. */
  readonly authUrl: string;
  readonly user: string;
  readonly password: string;
  /** The way there, which may have a password of its own. */
  readonly proxy?: string;
  /** For a whole login, ms. */
  readonly requestTimeoutMs: number;
  /** Told every token before it is used. */
  readonly hide: (secret: string) => void;
}

interface Tokens {
  readonly token: string;
  readonly refreshToken?: string;
  /** Monotonic ms at which another one is wanted. */
  readonly renewAtMs: number;
}

/** A login that many callers may wait for; it ends when the last of them has left. */
interface Renewal {
  readonly tokens: Promise<Tokens>;
  readonly nobodyWaits: AbortController;
  callers: number;
}

/** Before its end, so that a report under way does not outlive its token. */
const RENEW_BEFORE_MS = 60_000;
/** A stock token lives 9000 s; one that does not say is renewed this often. */
const UNKNOWN_LIFETIME_MS = 900_000;

export class AnalyticsSession {
  readonly #deps: AnalyticsSessionDeps;
  #tokens: Tokens | undefined;
  #renewal: Renewal | undefined;

  constructor(deps: AnalyticsSessionDeps) {
    this.#deps = deps;
    deps.hide(deps.password);
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
    return (await this.#renew(signal)).token;
  }

  /** The service refused this token: the next one is made anew, by password. */
  forget(token: string): void {
    if (this.#tokens?.token === token) this.#tokens = undefined;
  }

  async #renew(signal: AbortSignal): Promise<Tokens> {
    this.#renewal ??= this.#begin();
    const renewal = this.#renewal;
    renewal.callers += 1;
    try {
      return await this.#untilEnded(renewal.tokens, signal);
    } finally {
      renewal.callers -= 1;
      if (renewal.callers === 0) {
        if (this.#renewal === renewal) this.#renewal = undefined;
        renewal.nobodyWaits.abort();
      }
    }
  }

  #begin(): Renewal {
    const nobodyWaits = new AbortController();
    return { tokens: this.#obtain(nobodyWaits.signal), nobodyWaits, callers: 0 };
  }

  /** Waits no longer than one caller wants to. */
  #untilEnded(tokens: Promise<Tokens>, signal: AbortSignal): Promise<Tokens> {
    return new Promise((resolve, reject) => {
      const leave = (): void => reject(unreachable(signal.reason, this.secrets));
      if (signal.aborted) leave();
      signal.addEventListener('abort', leave, { once: true });
      void tokens.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
    });
  }

  async #obtain(signal: AbortSignal): Promise<Tokens> {
    const { user, password } = this.#deps;
    const refreshToken = this.#tokens?.refreshToken;
    const refreshed =
      refreshToken === undefined ? undefined : await this.#ask('/api/auth/token', { refreshToken }, signal).catch(() => undefined);
    this.#tokens = refreshed ?? (await this.#ask('/api/auth/login', { username: user, password }, signal));
    return this.#tokens;
  }

  async #ask(path: string, body: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Tokens> {
    const { hide } = this.#deps;
    const { status, text } = await this.#exchange(path, body, signal);
    if (status === 401) {
      throw new AnalyticsError('login-refused', `the login was refused: user name or password is wrong${faultText(text, this.secrets)}`, {
        status,
      });
    }
    if (status < 200 || status >= 300) {
      throw new AnalyticsError(
        status >= 500 || status === 429 ? 'unreachable' : 'refused',
        `the login was answered ${status}${faultText(text, this.secrets)}`,
        {
          status,
        },
      );
    }
    const { token, refreshToken } = tokensIn(text);
    for (const secret of [token, refreshToken]) if (secret !== undefined) hide(secret);
    return { token, ...(refreshToken === undefined ? {} : { refreshToken }), renewAtMs: this.#renewAtMs(token) };
  }

  async #exchange(
    path: string,
    body: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<{ readonly status: number; readonly text: string }> {
    const { http, authUrl, clock, requestTimeoutMs } = this.#deps;
    const deadline = new ExchangeDeadline(clock, requestTimeoutMs, signal);
    try {
      const answer = await http.post(`${authUrl.replace(/\/+$/, '')}${path}`, body, { secrets: this.secrets }, deadline.signal);
      return { status: answer.status, text: await textOf(answer, this.secrets) };
    } finally {
      deadline.end();
    }
  }

  /** By the token's own account of its life: its times are the server's, and only their difference is used. */
  #renewAtMs(token: string): number {
    const lifetimeMs = lifetimeOf(token) ?? UNKNOWN_LIFETIME_MS;
    return this.#deps.clock.monotonicMs() + Math.max(lifetimeMs - RENEW_BEFORE_MS, lifetimeMs / 2);
  }
}

function tokensIn(text: string): { readonly token: string; readonly refreshToken?: string } {
  const json = jsonOf(text);
  const token = isJsonObject(json) ? json.token : undefined;
  if (!isJsonObject(json) || typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))
    throw new AnalyticsError('bad-answer', 'the login was answered without a token: is this the address of the platform?');
  return { token, ...(typeof json.refreshToken === 'string' ? { refreshToken: json.refreshToken } : {}) };
}

/** `exp` − `iat` of a JSON web token (RFC 7519), ms; undefined for anything else. */
function lifetimeOf(token: string): number | undefined {
  const claims = jsonOf(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
  if (!isJsonObject(claims) || typeof claims.exp !== 'number' || typeof claims.iat !== 'number') return undefined;
  const lifetimeMs = (claims.exp - claims.iat) * 1_000;
  return lifetimeMs > 0 ? lifetimeMs : undefined;
}

function jsonOf(text: string): unknown {
  try {
    return parseJson(text, { depth: 8 });
  } catch {
    return undefined;
  }
}
