/** Users of the REST API: login, and who may call what (platform/wire-facts.md, "The people's side"). */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../host/clock.ts';
import { isJsonObject, type JsonObject } from '../../values/json.ts';
import { errorReply, jsonReply, payloadFaultsAs, type Reply } from './http-reply.ts';
import type { Call, Handler, Routes } from './http-service.ts';
import type { PlatformSettings } from './local-platform-options.ts';
import { readDocument } from './payload.ts';

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
    const signed = [{ alg: 'HS256', typ: 'JWT' }, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    return `${signed}.${this.#signature(signed)}`;
  }

  /** Returns the holder of a token; undefined when it is forged, broken, or past its end. */
  holder(token: string): TokenHolder | undefined {
    const at = token.lastIndexOf('.');
    const signed = token.slice(0, Math.max(0, at));
    const [given, expected] = [token.slice(at + 1), this.#signature(signed)].map((text) => Buffer.from(text)) as [
      Buffer,
      Buffer,
    ];
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    // Written by `issue`, as its signature proves.
    const { sub, authority, exp, scopes } = JSON.parse(
      Buffer.from(signed.split('.')[1] ?? '', 'base64url').toString('utf8'),
    );
    if (exp * 1000 <= this.#clock.wallMs()) return undefined;
    return { username: sub, authority, kind: scopes.includes('REFRESH_TOKEN') ? 'refresh' : 'access' };
  }

  #signature(signed: string): string {
    return createHmac('sha256', this.#secret).update(signed).digest('base64url');
  }
}

export interface User {
  readonly username: string;
  readonly password: string;
  readonly authority: Authority;
}

/** The stock server's. */
const REFRESH_LIFETIME_MS = 604_800_000;

export type UserHandler = (call: Call, user: User) => ReturnType<Handler>;

export class People {
  readonly #settings: Pick<PlatformSettings, 'clock' | 'users' | 'tokenLifetimeMs'>;
  readonly #issuer: TokenIssuer;

  constructor(settings: Pick<PlatformSettings, 'clock' | 'users' | 'tokenLifetimeMs'>) {
    this.#settings = settings;
    this.#issuer = new TokenIssuer(settings.clock);
  }

  get routes(): Routes {
    return {
      'POST /api/auth/login': (call) => this.#login(call),
      'POST /api/auth/token': (call) => this.#renew(call),
      'GET /api/auth/user': this.users((_call, { username, authority }) => jsonReply({ name: username, authority })),
    };
  }

  /** The user whose access token this is. */
  userOf(token: string | undefined): User | undefined {
    return this.#holder(token, 'access');
  }

  /** A handler for everybody who is logged in. */
  users(handler: UserHandler, authority?: Authority): Handler {
    const { clock } = this.#settings;
    return (call) => {
      const header = call.headers['x-authorization'] ?? call.headers.authorization;
      const token = (Array.isArray(header) ? header[0] : header)?.replace(/^Bearer /i, '');
      const user = this.userOf(token);
      if (user === undefined)
        return errorReply(401, token === undefined ? 'Authentication failed' : 'Token has expired', clock, 11);
      if (authority !== undefined && user.authority !== authority)
        return errorReply(403, "You don't have permission to perform this operation!", clock, 20);
      return payloadFaultsAs(
        ({ message }) => errorReply(400, message, clock),
        () => handler(call, user),
      );
    };
  }

  admins(handler: UserHandler): Handler {
    return this.users(handler, 'TENANT_ADMIN');
  }

  #login(call: Call): Reply {
    const { username, password } = documentOf(call);
    const user = this.#settings.users.find(
      (candidate) => candidate.username === username && candidate.password === password,
    );
    return user === undefined
      ? errorReply(401, 'Invalid username or password', this.#settings.clock)
      : this.#tokens(user);
  }

  #renew(call: Call): Reply {
    const { refreshToken } = documentOf(call);
    const user = this.#holder(refreshToken, 'refresh');
    return user === undefined ? errorReply(401, 'Token has expired', this.#settings.clock, 11) : this.#tokens(user);
  }

  #holder(token: unknown, kind: 'access' | 'refresh'): User | undefined {
    const holder = typeof token === 'string' ? this.#issuer.holder(token) : undefined;
    return holder?.kind === kind
      ? this.#settings.users.find(({ username }) => username === holder.username)
      : undefined;
  }

  #tokens({ username, authority }: User): Reply {
    return jsonReply({
      token: this.#issuer.issue({ username, authority, kind: 'access' }, this.#settings.tokenLifetimeMs),
      refreshToken: this.#issuer.issue({ username, authority, kind: 'refresh' }, REFRESH_LIFETIME_MS),
    });
  }
}

/** The body as an object; empty for anything else. */
function documentOf(call: Call): JsonObject {
  try {
    const document = readDocument(call.body, 'application/json');
    return isJsonObject(document) ? document : {};
  } catch {
    return {};
  }
}
