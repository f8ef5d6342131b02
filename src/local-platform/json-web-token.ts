/**
 * Tokens of people and tests: JWT with HMAC-SHA-256 (RFC 7519, RFC 7515), which is all that this platform's own login needs. Made here, as
 * `jose` signs on the thread pool, for which a simulated world does not wait, and libraries that do not are 5 to 15 packages.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../host/clock.ts';

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

  issue({ username, authority, kind }: TokenHolder, lifetimeMs: number): string {
    const nowS = Math.floor(this.#clock.wallMs() / 1000);
    const claims = {
      sub: username,
      scopes: [kind === 'refresh' ? 'REFRESH_TOKEN' : authority],
      authority,
      iss: 'turnstone-local-platform',
      iat: nowS,
      exp: nowS + lifetimeMs / 1000,
      jti: randomBytes(8).toString('hex'),
    };
    const signed = [{ alg: 'HS256', typ: 'JWT' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
    return `${signed}.${this.#signature(signed)}`;
  }

  /** Returns the holder of a token; undefined when it is forged, broken, or past its end. */
  holder(token: string): TokenHolder | undefined {
    const at = token.lastIndexOf('.');
    const signed = token.slice(0, Math.max(0, at));
    const [given, expected] = [token.slice(at + 1), this.#signature(signed)].map((text) => Buffer.from(text)) as [Buffer, Buffer];
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    // Written by `issue`, as its signature proves.
    const { sub, authority, exp, scopes } = JSON.parse(Buffer.from(signed.split('.')[1] ?? '', 'base64url').toString('utf8'));
    if (exp * 1000 <= this.#clock.wallMs()) return undefined;
    return { username: sub, authority, kind: scopes.includes('REFRESH_TOKEN') ? 'refresh' : 'access' };
  }

  #signature(signed: string): string {
    return createHmac('sha256', this.#secret).update(signed).digest('base64url');
  }
}
