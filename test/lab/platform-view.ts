/** The platform outside the guest: the local one, in this process, and the REST side that people and dashboards use. */
import { setTimeout as sleep } from 'node:timers/promises';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import type { JsonObject, JsonValue } from '../../src/values/json.ts';
import { parseJson } from '../../src/values/json.ts';
import { HOST_FROM_GUEST } from './guest.ts';

const TENANT = { username: 'tenant@thingsboard.org', password: 'tenant' };
const WAIT_MS = 60_000;

export interface Point {
  readonly ts: number;
  readonly value: JsonValue;
}

export class PlatformView {
  readonly platform: LocalPlatform;
  readonly #token: string;

  private constructor(platform: LocalPlatform, token: string) {
    this.platform = platform;
    this.#token = token;
  }

  static async open(): Promise<PlatformView> {
    const platform = await LocalPlatform.start({ port: 0 });
    const answer = await fetch(`${platform.url}/api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(TENANT),
    });
    return new PlatformView(platform, ((await answer.json()) as { token: string }).token);
  }

  /** The address that the guest's agent is configured with. */
  get urlFromGuest(): string {
    return `http://${HOST_FROM_GUEST}:${new URL(this.platform.url).port}`;
  }

  device(name: string, accessToken?: string): string {
    return this.platform.ensureDevice(name, accessToken).id;
  }

  /** The device's id once one of this name was provisioned. */
  async provisioned(name: string): Promise<string> {
    return await until(`a device ${name}`, async () => {
      const answer = await fetch(`${this.platform.url}/api/tenant/devices?deviceName=${name}`, {
        headers: this.#headers(),
      });
      return answer.ok ? ((await answer.json()) as { id: { id: string } }).id.id : undefined;
    });
  }

  /** Everything stored of a key, oldest first. */
  async series(device: string, key: string): Promise<readonly Point[]> {
    const query = new URLSearchParams({
      keys: key,
      startTs: '0',
      endTs: String(Date.now() + 3_600_000),
      limit: '100000',
      orderBy: 'ASC',
      useStrictDataTypes: 'true',
    });
    const answer = await this.call('GET', `/api/plugins/telemetry/DEVICE/${device}/values/timeseries?${query}`);
    return ((answer as JsonObject)[key] as unknown as readonly Point[] | undefined) ?? [];
  }

  /** Waits until a key's newest value passes. */
  async value(device: string, key: string, passes: (value: JsonValue) => boolean): Promise<Point> {
    return await until(`${key} to pass ${passes}`, async () => {
      const newest = (await this.series(device, key)).at(-1);
      return newest !== undefined && passes(newest.value) ? newest : undefined;
    });
  }

  async attribute(device: string, scope: 'CLIENT_SCOPE' | 'SHARED_SCOPE', key: string): Promise<JsonValue | undefined> {
    const answer = await this.call(
      'GET',
      `/api/plugins/telemetry/DEVICE/${device}/values/attributes/${scope}?keys=${key}`,
    );
    return (answer as unknown as readonly { readonly key: string; readonly value: JsonValue }[]).find(
      (one) => one.key === key,
    )?.value;
  }

  async share(device: string, attributes: JsonObject): Promise<void> {
    await this.call('POST', `/api/plugins/telemetry/DEVICE/${device}/attributes/SHARED_SCOPE`, attributes);
  }

  /** A two-way call; resolves with the device's answer. */
  async rpc(device: string, method: string, params: JsonValue): Promise<JsonValue> {
    return await this.call('POST', `/api/rpc/twoway/${device}`, { method, params, timeout: 20_000 });
  }

  async call(method: string, path: string, body?: JsonValue | FormData): Promise<JsonValue> {
    const isForm = body instanceof FormData;
    const answer = await fetch(`${this.platform.url}${path}`, {
      method,
      headers: { ...this.#headers(), ...(body !== undefined && !isForm && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? null : parseJson(text);
  }

  async close(): Promise<void> {
    await this.platform.close();
  }

  #headers(): Record<string, string> {
    return { 'x-authorization': `Bearer ${this.#token}` };
  }
}

/** Asks again until there is an answer. @throws after a minute, naming what did not come. */
export async function until<T>(what: string, ask: () => Promise<T | undefined>, deadlineMs = WAIT_MS): Promise<T> {
  const endMs = performance.now() + deadlineMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > endMs) throw new Error(`waited in vain for ${what}`);
    await sleep(200);
  }
}
