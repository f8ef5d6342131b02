/** Tokens of people and tests: JWT with HMAC-SHA-256 (RFC 7519, RFC 7515), which is all that this platform's own login needs. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../host/clock.ts';
import { isJsonObject, type JsonObject, parseJson, stringifyJson } from '../host/json.ts';

export type Authority = 'TENANT_ADMIN' | 'CUSTOMER_USER';

export interface TokenHolder {
  readonly username: string;
  readonly authority: Authority;
  readonly kind: 'access' | 'refresh';
}

export class TokenIssuer {
  readonly #clock: Clock;
  readonly #secret = randomBytes(64);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  issue(holder: TokenHolder, lifetimeMs: number): string {
    const nowS = Math.floor(this.#clock.wallMs() / 1000);
    const claims: JsonObject = {
      sub: holder.username,
      scopes: [holder.kind === 'refresh' ? 'REFRESH_TOKEN' : holder.authority],
      authority: holder.authority,
      iss: 'turnstone-local-platform',
      iat: nowS,
      exp: nowS + lifetimeMs / 1000,
      jti: randomBytes(8).toString('hex'),
    };
    const signed = `${base64({ alg: 'HS256', typ: 'JWT' })}.${base64(claims)}`;
    return `${signed}.${this.#signature(signed).toString('base64url')}`;
  }

  /** Who holds a token; undefined when it is forged, broken, or past its end. */
  holder(token: string): TokenHolder | undefined {
    const [head, body, signature, more] = token.split('.');
    if (head === undefined || body === undefined || signature === undefined || more !== undefined) return undefined;
    const expected = this.#signature(`${head}.${body}`);
    const given = Buffer.from(signature, 'base64url');
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    const claims = parseJson(Buffer.from(body, 'base64url').toString('utf8'));
    if (!isJsonObject(claims)) return undefined;
    const { sub, authority, exp, scopes } = claims;
    if (typeof sub !== 'string' || typeof exp !== 'number' || exp * 1000 <= this.#clock.wallMs()) return undefined;
    if (authority !== 'TENANT_ADMIN' && authority !== 'CUSTOMER_USER') return undefined;
    const refresh = Array.isArray(scopes) && scopes.includes('REFRESH_TOKEN');
    return { username: sub, authority, kind: refresh ? 'refresh' : 'access' };
  }

  #signature(signed: string): Buffer {
    return createHmac('sha256', this.#secret).update(signed).digest();
  }
}

function base64(value: JsonObject): string {
  return Buffer.from(stringifyJson(value)).toString('base64url');
}
