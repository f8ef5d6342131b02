/** The platform seen from the other side: the few REST calls (src/platform/wire-facts.md, "The people's side") with which the demo makes its device and reads what arrived. */
import { type JsonObject, type JsonValue, parseJson } from '../../src/values/json.ts';
import type { StoredValue } from './delivery-verdict.ts';

/** One answer never holds more points than this; series are read in spans of time that stay below it. */
const MAX_POINTS = 100_000;

export class PlatformRest {
  readonly #url: string;
  readonly #token: string;

  private constructor(url: string, token: string) {
    this.#url = url;
    this.#token = token;
  }

  static async logIn(
    url: string,
    user: { readonly username: string; readonly password: string },
  ): Promise<PlatformRest> {
    const answer = await request(`${url}/api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(user),
    });
    return new PlatformRest(url, String((answer as JsonObject).token));
  }

  /** Makes a device with this access token; returns its id. */
  async makeDevice(name: string, accessToken: string): Promise<string> {
    const device = (await this.#post(`/api/device?accessToken=${encodeURIComponent(accessToken)}`, {
      name,
      type: 'default',
    })) as JsonObject;
    return String((device.id as JsonObject).id);
  }

  async keys(deviceId: string): Promise<string[]> {
    return (await this.#get(`/api/plugins/telemetry/DEVICE/${deviceId}/keys/timeseries`)) as string[];
  }

  /** Every stored value of these keys from `startTs` on, oldest first, with its type. */
  async series(deviceId: string, keys: readonly string[], startTs: number): Promise<Map<string, StoredValue[]>> {
    const query = new URLSearchParams({
      keys: keys.join(','),
      startTs: `${startTs}`,
      endTs: `${Date.now() + 3_600_000}`,
      limit: `${MAX_POINTS}`,
      orderBy: 'ASC',
      useStrictDataTypes: 'true',
    });
    const answer = await this.#get(`/api/plugins/telemetry/DEVICE/${deviceId}/values/timeseries?${query}`);
    return new Map(Object.entries(answer as unknown as Readonly<Record<string, StoredValue[]>>));
  }

  #get(path: string): Promise<JsonValue> {
    return request(`${this.#url}${path}`, { headers: { 'x-authorization': `Bearer ${this.#token}` } });
  }

  #post(path: string, body: JsonValue): Promise<JsonValue> {
    const headers = { 'x-authorization': `Bearer ${this.#token}`, 'content-type': 'application/json' };
    return request(`${this.#url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  }
}

async function request(url: string, init: RequestInit): Promise<JsonValue> {
  const answer = await fetch(url, init);
  const text = await answer.text();
  if (!answer.ok)
    throw new Error(`${init.method ?? 'GET'} ${new URL(url).pathname}: status ${answer.status} ${text.slice(0, 200)}`);
  return text === '' ? null : parseJson(text, { length: 512 * 1024 * 1024 });
}
