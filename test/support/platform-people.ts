/** The platform's REST side as a person uses it: log in, upload a package, assign it, read what a device has sent. */
import { openAsBlob } from 'node:fs';

export class PlatformPerson {
  readonly #url: string;
  readonly #token: string;

  private constructor(url: string, token: string) {
    this.#url = url;
    this.#token = token;
  }

  static async logIn(url: string): Promise<PlatformPerson> {
    const answer = await fetch(`${url}/api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'tenant@thingsboard.org', password: 'tenant' }),
    });
    return new PlatformPerson(url, ((await answer.json()) as { token: string }).token);
  }

  /** Uploads a package; resolves with its id. */
  async uploadPackage(
    file: string,
    about: { readonly title: string; readonly version: string; readonly algorithm?: string },
  ): Promise<string> {
    const made = await this.#call('POST', '/api/otaPackage', {
      title: about.title,
      version: about.version,
      type: 'FIRMWARE',
    });
    const { id } = made as { id: { id: string } };
    const form = new FormData();
    form.set('file', await openAsBlob(file), 'release.tar.zst');
    await this.#call('POST', `/api/otaPackage/${id.id}?checksumAlgorithm=${about.algorithm ?? 'SHA256'}`, form);
    return id.id;
  }

  async assignFirmware(deviceName: string, packageId: string): Promise<void> {
    const device = (await this.#call('GET', `/api/tenant/devices?deviceName=${deviceName}`)) as object;
    await this.#call('POST', '/api/device', { ...device, firmwareId: { id: packageId, entityType: 'OTA_PACKAGE' } });
  }

  /** The values of a key, oldest first. */
  async values(deviceId: string, key: string): Promise<readonly { readonly ts: number; readonly value: unknown }[]> {
    const query = `keys=${key}&startTs=0&endTs=${Date.now() + 86_400_000}&limit=10000&orderBy=ASC&useStrictDataTypes=true`;
    const answer = await this.#call('GET', `/api/plugins/telemetry/DEVICE/${deviceId}/values/timeseries?${query}`);
    return (answer as Record<string, { ts: number; value: unknown }[]>)[key] ?? [];
  }

  async #call(method: string, path: string, body?: object): Promise<unknown> {
    const isForm = body instanceof FormData;
    const answer = await fetch(this.#url + path, {
      method,
      headers: {
        'x-authorization': `Bearer ${this.#token}`,
        ...(isForm || body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 200)}`);
    return text === '' ? undefined : JSON.parse(text);
  }
}
