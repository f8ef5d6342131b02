/**
 * The server under test: the local platform, or a real one when PLATFORM_URL, PLATFORM_USERNAME and PLATFORM_PASSWORD are given. Both are
 * reached through the REST API alone.
 */
import { randomBytes } from 'node:crypto';
import { request } from 'undici';
import { systemClock } from '../../../src/host/clock.ts';
import { type JsonValue, parseJson, stringifyJson } from '../../../src/host/json.ts';
import { LocalPlatform } from '../../../src/local-platform/local-platform.ts';
import { HttpDeviceApi } from '../../../src/platform/http-device-api.ts';
import type { PayloadCodec } from '../../../src/platform/payload-codec.ts';

export interface RestAnswer {
  readonly status: number;
  readonly body: JsonValue | undefined;
}

export class Server {
  readonly url: string;
  readonly token: string;
  readonly #local: LocalPlatform | undefined;
  /** What to delete in the end, last made first. */
  readonly #made: string[] = [];

  private constructor(url: string, token: string, local: LocalPlatform | undefined) {
    this.url = url;
    this.token = token;
    this.#local = local;
  }

  static async open(): Promise<Server> {
    const { PLATFORM_URL, PLATFORM_USERNAME, PLATFORM_PASSWORD } = process.env;
    const local = PLATFORM_URL === undefined ? await LocalPlatform.start() : undefined;
    const url = PLATFORM_URL ?? local?.url ?? '';
    const credentials = { username: PLATFORM_USERNAME ?? 'tenant@thingsboard.org', password: PLATFORM_PASSWORD ?? 'tenant' };
    const answer = await send(url, undefined, 'POST', '/api/auth/login', credentials);
    const token = (answer.body as { readonly token?: string } | undefined)?.token;
    if (token === undefined) throw new Error(`login answered ${answer.status}`);
    return new Server(url, token, local);
  }

  rest(method: 'GET' | 'POST' | 'DELETE', path: string, body?: JsonValue): Promise<RestAnswer> {
    return send(this.url, this.token, method, path, body);
  }

  /** Something that is to be deleted in the end: a real server outlives the tests. */
  made(path: string): void {
    this.#made.push(path);
  }

  /** A device of a name that nobody had before. */
  async makeDevice(
    codec?: PayloadCodec,
  ): Promise<{ readonly id: string; readonly name: string; readonly accessToken: string; readonly api: HttpDeviceApi }> {
    const name = `turnstone-contract-${randomBytes(6).toString('hex')}`;
    const accessToken = randomBytes(10).toString('hex');
    const { status, body } = await this.rest('POST', `/api/device?accessToken=${accessToken}`, { name });
    if (status !== 200) throw new Error(`making a device answered ${status}`);
    const { id } = (body as { readonly id: { readonly id: string } }).id;
    this.made(`/api/device/${id}`);
    const api = new HttpDeviceApi({
      settings: { url: this.url },
      token: () => accessToken,
      clock: systemClock,
      ...(codec === undefined ? {} : { codec }),
    });
    return { id, name, accessToken, api };
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
    for (let attempt = 0; ; attempt += 1) {
      const { body } = await this.rest('GET', `${path}?${query}`);
      const found = (body ?? {}) as Record<string, { readonly ts: number; readonly value: JsonValue }[]>;
      if (keys.every((key) => (found[key]?.length ?? 0) >= count) || attempt === 50) return found;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async close(): Promise<void> {
    for (const path of this.#made.reverse()) await this.rest('DELETE', path);
    await this.#local?.close();
  }
}

async function send(
  url: string,
  token: string | undefined,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: JsonValue,
): Promise<RestAnswer> {
  const response = await request(`${url}${path}`, {
    method,
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { 'x-authorization': `Bearer ${token}` }),
    },
    body: body === undefined ? null : stringifyJson(body),
  });
  const text = await response.body.text();
  return { status: response.statusCode, body: text === '' ? undefined : parseJson(text) };
}
