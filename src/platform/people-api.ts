/**
 * The platform's REST side as a person with a login uses it: JSON in, JSON out, a file up. One login, renewed when its token ends; a platform
 * that asks for patience gets it, a few times. No address, password or token in any error.
 */
import type { Clock } from '../host/clock.ts';
import { type RandomBytes, randomId } from '../host/random.ts';
import { isJsonObject, type JsonObject, type JsonValue, parseJson, stringifyJson } from '../values/json.ts';
import type { Answer } from './answer-or-portal.ts';
import { type Connect, type ConnectionSettings, connectOverNetwork } from './connections.ts';
import { type Exchange, exchange } from './http-exchange.ts';
import { PlatformError, safeText } from './platform-error.ts';
import { asksForLess, mayPass, meaningOf } from './status-meaning.ts';

export interface PeopleApi {
  /** Undefined for what is not there. @throws PlatformError. */
  get(path: string): Promise<JsonValue | undefined>;
  /** All items of a list that comes in pages. @throws PlatformError `platform/bad-answer` (retry) for more than is taken. */
  list(path: string, search?: string): Promise<readonly JsonObject[] | undefined>;
  post(path: string, body: JsonObject): Promise<JsonObject>;
  /** A file as a form's field `file`. */
  upload(path: string, file: { readonly name: string; readonly bytes: Uint8Array }): Promise<JsonObject>;
  close(): Promise<void>;
}

export interface PeopleApiDeps {
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  readonly signal: AbortSignal;
  readonly connect?: Connect;
}

export interface PeopleApiSettings extends Pick<ConnectionSettings, 'url' | 'ca' | 'proxy'> {
  readonly user: string;
  readonly password: string;
}

const JSON_TYPE = 'application/json';
const DEADLINE_MS = 30_000;
/** Slower lines than this carry no release. */
const MIN_UPLOAD_BYTES_PER_MS = 16;
const LIMIT_BYTES = 8 * 1024 * 1024;
const JSON_LIMITS = { length: LIMIT_BYTES, depth: 100 };
/** The largest page that every release of the platform gives. */
const PAGE_SIZE = 100;
const MAX_PAGES = 50;
/** Attempts at a call while the platform is busy, and the wait between two of them where it does not say. */
const MAX_ATTEMPTS = 5;
const PATIENCE_MS = 2_000;
const MAX_PATIENCE_MS = 30_000;

type Request = Pick<Exchange, 'method' | 'path' | 'contentType' | 'deadlineMs'> & Partial<Pick<Exchange, 'body'>>;

/** Logs in. @throws PlatformError `platform/unauthorised` (hold), `platform/busy` (retry), `platform/settings` (stop). */
export async function openPeopleApi(
  { user, password, ...where }: PeopleApiSettings,
  deps: PeopleApiDeps,
): Promise<PeopleApi> {
  const { clock, signal, connect = connectOverNetwork(deps.clock) } = deps;
  const connections = connect(where);
  const secrets = new Set([password, ...connections.secrets]);
  let token: string | undefined;

  const send = async (request: Request, headers: Readonly<Record<string, string>> = {}): Promise<Answer> => {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await exchange(
        { lane: 'calls', limitBytes: LIMIT_BYTES, ...request, headers: { accept: JSON_TYPE, ...headers } },
        { connections, clock, secrets: () => [...secrets] },
        signal,
      );
      // A call that was refused for lack of time was not done.
      if (!asksForLess(answer.status) || attempt === MAX_ATTEMPTS) return answer;
      await clock.sleep(Math.min(secondsIn(answer.retryAfter) ?? PATIENCE_MS * attempt, MAX_PATIENCE_MS), signal);
    }
  };
  const logIn = async (): Promise<string> => {
    const body = stringifyJson({ username: user, password });
    const answer = await send({
      method: 'POST',
      path: '/api/auth/login',
      contentType: JSON_TYPE,
      deadlineMs: DEADLINE_MS,
      body,
    });
    if (meaningOf(answer.status) === 'not-known') throw refusedLogin(answer, [...secrets]);
    const { token: given } = objectOf(answer, 'the login', [...secrets]);
    if (typeof given !== 'string' || !/^[\x21-\x7e]+$/.test(given))
      throw new PlatformError(
        'bad-answer',
        'the login was answered without a token: is this the address of the platform?',
      );
    secrets.add(given);
    token = given;
    return given;
  };
  const ask = async (request: Request): Promise<Answer> => {
    const first = await send(request, { 'x-authorization': `Bearer ${token ?? (await logIn())}` });
    return meaningOf(first.status) === 'not-known'
      ? send(request, { 'x-authorization': `Bearer ${await logIn()}` })
      : first;
  };
  const get = async (path: string): Promise<JsonValue | undefined> => {
    const answer = await ask({ method: 'GET', path, contentType: JSON_TYPE, deadlineMs: DEADLINE_MS });
    return meaningOf(answer.status) === 'not-there' ? undefined : jsonOf(answer, placeOf(path), [...secrets]);
  };
  const close = (): Promise<void> => connections.close();
  try {
    await logIn();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    get,
    close,
    list: async (path, search) => {
      const items: JsonObject[] = [];
      for (let at = 0; at < MAX_PAGES; at += 1) {
        const query = new URLSearchParams({ pageSize: String(PAGE_SIZE), page: String(at) });
        if (search !== undefined) query.set('textSearch', search);
        const found = await get(`${path}${path.includes('?') ? '&' : '?'}${query}`);
        if (found === undefined) return undefined;
        if (!isJsonObject(found) || !Array.isArray(found.data)) throw noJson(placeOf(path));
        items.push(...(found.data as readonly JsonValue[]).filter(isJsonObject));
        if (found.hasNext !== true) return items;
      }
      throw new PlatformError('bad-answer', `${placeOf(path)} has more than ${MAX_PAGES * PAGE_SIZE} items`);
    },
    post: async (path, body) =>
      objectOf(
        await ask({ method: 'POST', path, contentType: JSON_TYPE, deadlineMs: DEADLINE_MS, body: stringifyJson(body) }),
        placeOf(path),
        [...secrets],
      ),
    upload: async (path, { name, bytes }) => {
      const boundary = `turnstone-${randomId(deps.randomBytes)}`;
      const disposition = `content-disposition: form-data; name="file"; filename="${name.replace(/[^\w.+-]/g, '_')}"`;
      const head = `--${boundary}\r\n${disposition}\r\ncontent-type: application/octet-stream\r\n\r\n`;
      const body = Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)]);
      const deadlineMs = DEADLINE_MS + Math.ceil(body.length / MIN_UPLOAD_BYTES_PER_MS);
      const contentType = `multipart/form-data; boundary=${boundary}`;
      return objectOf(await ask({ method: 'POST', path, contentType, deadlineMs, body }), placeOf(path), [...secrets]);
    },
  };
}

function objectOf(answer: Answer, place: string, secrets: readonly string[]): JsonObject {
  const json = jsonOf(answer, place, secrets);
  if (!isJsonObject(json)) throw noJson(place);
  return json;
}

/** @throws PlatformError by the answer's status. */
function jsonOf(answer: Answer, place: string, secrets: readonly string[]): JsonValue {
  const { status } = answer;
  const meaning = meaningOf(status);
  if (meaning === 'done') {
    try {
      return parseJson(textOf(answer), JSON_LIMITS);
    } catch {
      throw noJson(place);
    }
  }
  const said = saidIn(answer, secrets);
  switch (meaning) {
    case 'not-known':
      throw new PlatformError('unauthorised', `${place} is closed to this login${said}`, { status });
    case 'not-allowed':
      throw new PlatformError('refused', `this user may not use ${place}${said}`, { status });
    case 'not-there':
      throw new PlatformError('not-found', `${place} is not there${said}`, { status });
    case 'changed-meanwhile':
      throw new PlatformError('refused', `somebody else has changed ${place} meanwhile${said}`, { status });
    case 'too-large':
      throw new PlatformError('too-large', `${place} takes nothing so large${said}`, { status });
    default:
      throw new PlatformError(mayPass(status) ? 'busy' : 'refused', `${place} was answered with ${status}${said}`, {
        status,
      });
  }
}

function refusedLogin(answer: Answer, secrets: readonly string[]): PlatformError {
  return new PlatformError('unauthorised', `the login was refused${saidIn(answer, secrets)}`, {
    status: answer.status,
  });
}

function noJson(place: string): PlatformError {
  return new PlatformError('bad-answer', `${place} was not answered as the platform does: is this its address?`);
}

/** The server's own words, made fit for people. */
function saidIn(answer: Answer, secrets: readonly string[]): string {
  let said = '';
  try {
    const json = parseJson(textOf(answer), JSON_LIMITS);
    if (isJsonObject(json) && typeof json.message === 'string') said = json.message;
  } catch {
    // A page of some proxy: it says nothing that helps.
  }
  const safe = safeText(said, secrets);
  return safe === '' ? '' : `: ${safe}`;
}

function textOf({ body }: Answer): string {
  return Buffer.from(body).toString('utf8');
}

/** Path without ids and query, as errors show it. */
function placeOf(path: string): string {
  return (path.split('?')[0] ?? '').replace(/\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, '/{id}');
}

function secondsIn(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) * 1_000 : undefined;
}
