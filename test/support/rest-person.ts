/** A person at a dashboard: the platform's REST side, with a token of a user. */
import type { JsonValue } from '../../src/values/json.ts';

const REST_TIMEOUT_MS = 20_000;

export class RestPerson {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;

  private constructor(url: string, token: string) {
    this.#url = url;
    this.#headers = { 'content-type': 'application/json', 'x-authorization': `Bearer ${token}` };
  }

  static async logIn(url: string): Promise<RestPerson> {
    const body = JSON.stringify({ username: 'tenant@thingsboard.org', password: 'tenant' });
    const response = await fetch(`${url}/api/auth/login`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    });
    return new RestPerson(url, ((await response.json()) as { token: string }).token);
  }

  async deviceId(name: string): Promise<string> {
    const response = await fetch(`${this.#url}/api/tenant/devices?deviceName=${name}`, { headers: this.#headers });
    return ((await response.json()) as { id: { id: string } }).id.id;
  }

  /** What the platform shows there. @throws Error for an answer that is none. */
  async get(path: string): Promise<JsonValue> {
    const response = await fetch(`${this.#url}${path}`, { headers: this.#headers });
    if (!response.ok) throw new Error(`${path} was answered with ${response.status}`);
    return (await response.json()) as JsonValue;
  }

  async rpc(
    deviceId: string,
    method: string,
    params: JsonValue,
    timeout = REST_TIMEOUT_MS,
  ): Promise<{ readonly status: number; readonly text: string }> {
    const body = JSON.stringify({ method, params, timeout });
    const response = await fetch(`${this.#url}/api/rpc/twoway/${deviceId}`, {
      method: 'POST',
      body,
      headers: this.#headers,
    });
    return { status: response.status, text: await response.text() };
  }
}
