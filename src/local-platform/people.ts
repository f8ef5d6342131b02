/** The people's side: users, login, and who may call the REST API (wire-facts.md, "The people's side"). */
import type { Clock } from '../host/clock.ts';
import { isJsonObject, type JsonObject } from '../host/json.ts';
import { errorReply, jsonReply, type Reply } from './http-reply.ts';
import type { Call, Handler, Route } from './http-service.ts';
import { type Authority, TokenIssuer } from './json-web-token.ts';
import { readDocument } from './payload.ts';
import { PayloadFault } from './payload-fault.ts';

export interface User {
  readonly username: string;
  readonly password: string;
  readonly authority: Authority;
}

/** The stock server's demo users. */
const DEFAULT_USERS: readonly User[] = [
  { username: 'tenant@thingsboard.org', password: 'tenant', authority: 'TENANT_ADMIN' },
  { username: 'customer@thingsboard.org', password: 'customer', authority: 'CUSTOMER_USER' },
];

/** The stock server's lifetimes. */
const ACCESS_MS = 9_000_000;
const REFRESH_MS = 604_800_000;

export type UserHandler = (user: User, call: Call) => ReturnType<Handler>;

export interface PeopleOptions {
  readonly clock: Clock;
  readonly users?: readonly User[];
  readonly tokenLifetimeMs?: number;
}

export class People {
  readonly #clock: Clock;
  readonly #users: readonly User[];
  readonly #lifetimeMs: number;
  readonly #issuer: TokenIssuer;

  constructor(options: PeopleOptions) {
    this.#clock = options.clock;
    this.#users = options.users ?? DEFAULT_USERS;
    this.#lifetimeMs = options.tokenLifetimeMs ?? ACCESS_MS;
    this.#issuer = new TokenIssuer(options.clock);
  }

  get routes(): readonly Route[] {
    return [
      { method: 'POST', path: '/api/auth/login', handler: (call) => this.#login(call) },
      { method: 'POST', path: '/api/auth/token', handler: (call) => this.#renew(call) },
      {
        method: 'GET',
        path: '/api/auth/user',
        handler: this.only((user) => jsonReply({ name: user.username, authority: user.authority })),
      },
    ];
  }

  /** The user whose access token this is. */
  userOf(token: string | undefined): User | undefined {
    const holder = token === undefined || token === '' ? undefined : this.#issuer.holder(token);
    return holder?.kind === 'access' ? this.#users.find(({ username }) => username === holder.username) : undefined;
  }

  /** A handler for those who are logged in: everybody, or one kind of user. */
  only(handler: UserHandler, authority?: Authority): Handler {
    return async (call) => {
      const header = call.headers['x-authorization'] ?? call.headers.authorization;
      const token = (Array.isArray(header) ? header[0] : header)?.replace(/^Bearer /i, '');
      const user = this.userOf(token);
      if (user === undefined) return errorReply(401, token === undefined ? 'Authentication failed' : 'Token has expired', this.#clock, 11);
      if (authority !== undefined && user.authority !== authority)
        return errorReply(403, "You don't have permission to perform this operation!", this.#clock, 20);
      try {
        return await handler(user, call);
      } catch (error) {
        if (error instanceof PayloadFault) return errorReply(400, error.message, this.#clock);
        throw error;
      }
    };
  }

  #login(call: Call): Reply {
    const { username, password } = documentOf(call);
    const user = this.#users.find((candidate) => candidate.username === username && candidate.password === password);
    return user === undefined ? errorReply(401, 'Invalid username or password', this.#clock) : this.#tokens(user);
  }

  #renew(call: Call): Reply {
    const { refreshToken } = documentOf(call);
    const holder = typeof refreshToken === 'string' ? this.#issuer.holder(refreshToken) : undefined;
    const user = this.#users.find(({ username }) => username === holder?.username);
    if (holder?.kind !== 'refresh' || user === undefined) return errorReply(401, 'Token has expired', this.#clock, 11);
    return this.#tokens(user);
  }

  #tokens({ username, authority }: User): Reply {
    return jsonReply({
      token: this.#issuer.issue({ username, authority, kind: 'access' }, this.#lifetimeMs),
      refreshToken: this.#issuer.issue({ username, authority, kind: 'refresh' }, REFRESH_MS),
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
