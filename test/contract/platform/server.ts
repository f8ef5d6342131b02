/**
 * The server under test: the local platform, or a real one when PLATFORM_URL, PLATFORM_USERNAME and PLATFORM_PASSWORD are given. Both are
 * reached through the REST API and the device API alone, and both get back the state that they had: devices go first, then the packages
 * and profiles that nobody has any more.
 */
import { randomBytes } from 'node:crypto';
import { request } from 'undici';
import { systemClock } from '../../../src/host/clock.ts';
import { HttpDeviceApi } from '../../../src/platform/http-device-api.ts';
import type { PayloadCodec } from '../../../src/platform/payload-codec.ts';
import { LocalPlatform } from '../../../src/stand-ins/local-platform/local-platform.ts';
import { type JsonValue, parseJson, stringifyJson } from '../../../src/values/json.ts';

export interface RawAnswer {
  readonly status: number;
  /** Without parameters; '' when there is none. */
  readonly contentType: string;
  readonly text: string;
}

export interface RestAnswer {
  readonly status: number;
  /** Undefined where the answer is no JSON. */
  readonly body: JsonValue | undefined;
}

export interface MadeDevice {
  readonly id: string;
  readonly name: string;
  readonly accessToken: string;
  readonly api: HttpDeviceApi;
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** A real server's queues are slower than any local one. */
const PATIENCE_MS = 10_000;
const LOOK_EVERY_MS = 100;
/** Delay until a device's data is stored, on the local platform too. */
const STORE_DELAY_MS = 30;

export class Server {
  readonly url: string;
  readonly token: string;
  readonly #local: LocalPlatform | undefined;
  /** Names of devices, which may have come to be or not, and ids of the rest. */
  readonly #made = { devices: new Set<string>(), packages: new Set<string>(), profiles: new Set<string>() };
  readonly #clients: HttpDeviceApi[] = [];

  private constructor(url: string, token: string, local: LocalPlatform | undefined) {
    this.url = url;
    this.token = token;
    this.#local = local;
  }

  static async open(): Promise<Server> {
    const { PLATFORM_URL, PLATFORM_USERNAME, PLATFORM_PASSWORD } = process.env;
    const local = PLATFORM_URL === undefined ? await LocalPlatform.start({ storeDelayMs: STORE_DELAY_MS }) : undefined;
    const url = (PLATFORM_URL ?? local?.url ?? '').replace(/\/+$/, '');
    const credentials = {
      username: PLATFORM_USERNAME ?? 'tenant@thingsboard.org',
      password: PLATFORM_PASSWORD ?? 'tenant',
    };
    const answer = await send(url, 'POST', '/api/auth/login', { body: stringifyJson(credentials) });
    const token = (jsonIn(answer) as { readonly token?: string } | undefined)?.token;
    if (token === undefined) throw new Error(`login answered ${answer.status}`);
    return new Server(url, token, local);
  }

  async rest(method: Method, path: string, body?: JsonValue): Promise<RestAnswer> {
    const answer = await this.restRaw(method, path, body);
    return { status: answer.status, body: jsonIn(answer) };
  }

  restRaw(method: Method, path: string, body?: JsonValue): Promise<RawAnswer> {
    const headers = { 'x-authorization': `Bearer ${this.token}` };
    return send(this.url, method, path, { headers, ...(body === undefined ? {} : { body: stringifyJson(body) }) });
  }

  /** As a device speaks, byte for byte; `what` stands behind the token. */
  device(method: Method, accessToken: string, what: string, body?: string): Promise<RawAnswer> {
    return send(this.url, method, `/api/v1/${accessToken}/${what}`, body === undefined ? {} : { body });
  }

  provision(body: string): Promise<RawAnswer> {
    return send(this.url, 'POST', '/api/v1/provision', { body });
  }

  /** A profile of its own, under which devices make themselves. */
  async makeProvisioningProfile(): Promise<{ readonly key: string; readonly secret: string }> {
    const key = randomBytes(10).toString('hex');
    const secret = randomBytes(10).toString('hex');
    const { status, body } = await this.rest(
      'POST',
      '/api/deviceProfile',
      profileOf('ALLOW_CREATE_NEW_DEVICES', key, secret),
    );
    if (status !== 200) throw new Error(`making a profile answered ${status}`);
    this.made('profiles', idOf(body));
    return { key, secret };
  }

  /** Id of the device of this name. */
  async idOfDevice(name: string): Promise<string> {
    return idOf((await this.rest('GET', `/api/tenant/devices?deviceName=${encodeURIComponent(name)}`)).body);
  }

  /** Something that is to be deleted in the end. */
  made(what: 'devices' | 'packages' | 'profiles', nameOrId: string): void {
    this.#made[what].add(nameOrId);
  }

  /** A device of a name that nobody had before. */
  async makeDevice(codec?: PayloadCodec): Promise<MadeDevice> {
    const name = `turnstone-contract-${randomBytes(6).toString('hex')}`;
    const accessToken = randomBytes(10).toString('hex');
    this.made('devices', name);
    const { status, body } = await this.rest('POST', `/api/device?accessToken=${accessToken}`, { name });
    if (status !== 200) throw new Error(`making a device answered ${status}`);
    return { id: idOf(body), name, accessToken, api: this.client(accessToken, codec) };
  }

  /** Closed with the server. */
  client(accessToken: string, codec?: PayloadCodec): HttpDeviceApi {
    const api = new HttpDeviceApi({
      settings: { url: this.url },
      token: () => accessToken,
      clock: systemClock,
      ...(codec === undefined ? {} : { codec }),
    });
    this.#clients.push(api);
    return api;
  }

  /** Stored values of the keys, strictly typed, oldest first, once the server has `count` of each: a 200 means queued, not stored. */
  async stored(
    deviceId: string,
    keys: readonly string[],
    count = 1,
  ): Promise<Record<string, { readonly ts: number; readonly value: JsonValue }[]>> {
    const path = `/api/plugins/telemetry/DEVICE/${deviceId}/values/timeseries`;
    const list = keys.map(encodeURIComponent).join(',');
    const query = `keys=${list}&startTs=1&endTs=4000000000000&limit=1000&orderBy=ASC&useStrictDataTypes=true`;
    return await eventually(
      async () =>
        ((await this.rest('GET', `${path}?${query}`)).body ?? {}) as Record<string, { ts: number; value: JsonValue }[]>,
      (found) => keys.every((key) => (found[key]?.length ?? 0) >= count),
    );
  }

  /** Deletes all that was made. Fails when something stays behind. */
  async close(): Promise<void> {
    for (const client of this.#clients) await client.close();
    const left: string[] = [];
    const remove = async (path: string): Promise<void> => {
      const { status } = await this.rest('DELETE', path);
      if (status !== 200) left.push(`${path}: ${status}`);
    };
    for (const name of this.#made.devices) {
      const { status, body } = await this.rest('GET', `/api/tenant/devices?deviceName=${encodeURIComponent(name)}`);
      if (status === 200) await remove(`/api/device/${idOf(body)}`);
      else if (status !== 404) left.push(`device ${name}: ${status}`);
    }
    for (const id of this.#made.packages) await remove(`/api/otaPackage/${id}`);
    for (const id of this.#made.profiles) await remove(`/api/deviceProfile/${id}`);
    await this.#local?.close();
    if (left.length > 0) throw new Error(`left behind: ${left.join(', ')}`);
  }
}

/** Reads until the value is good or patience ends, and returns it either way: for the test to judge. */
export async function eventually<T>(read: () => Promise<T>, good: (value: T) => boolean): Promise<T> {
  const untilMs = Date.now() + PATIENCE_MS;
  for (;;) {
    const value = await read();
    if (good(value) || Date.now() > untilMs) return value;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

/** Repeats something until somebody who waits for it has noticed: no server says when a poll has become a subscription. */
export async function until<T>(waiting: Promise<T>, act: () => Promise<unknown>): Promise<T> {
  let isOver = false;
  const over = waiting.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await act();
    await Promise.race([over, new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))]);
  }
  return await over;
}

export function idOf(body: JsonValue | undefined): string {
  return (body as { readonly id: { readonly id: string } }).id.id;
}

function profileOf(provisionType: string, key: string, secret: string): JsonValue {
  return {
    name: `turnstone-profile-${key}`,
    type: 'DEFAULT',
    transportType: 'DEFAULT',
    provisionType,
    provisionDeviceKey: key,
    profileData: {
      configuration: { type: 'DEFAULT' },
      transportConfiguration: { type: 'DEFAULT' },
      provisionConfiguration: { type: provisionType, provisionDeviceSecret: secret },
    },
  };
}

async function send(
  url: string,
  method: Method,
  path: string,
  { body, headers = {} }: { readonly body?: string; readonly headers?: Record<string, string> },
): Promise<RawAnswer> {
  const response = await request(`${url}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: body ?? null,
  });
  const type = response.headers['content-type'];
  const contentType = (Array.isArray(type) ? type[0] : type)?.split(';')[0]?.trim() ?? '';
  return { status: response.statusCode, contentType, text: await response.body.text() };
}

function jsonIn({ contentType, text }: RawAnswer): JsonValue | undefined {
  return text === '' || contentType !== 'application/json' ? undefined : parseJson(text);
}
