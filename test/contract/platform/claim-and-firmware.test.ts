/** Endpoints 8 to 10: claiming, provisioning and firmware. */
import { createHash, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/host/clock.ts';
import type { FirmwareBody } from '../../../src/platform/device-api.ts';
import { requestProvisioning } from '../../../src/platform/provision-request.ts';
import type { JsonValue } from '../../../src/values/json.ts';
import { rowsOf } from '../../support/telemetry-rows.ts';
import { eventually, idOf, Server } from './server.ts';

const never = new AbortController().signal;
let server: Server;

beforeAll(async () => {
  server = await Server.open();
});
afterAll(() => server.close());

describe('claiming', () => {
  it('is accepted whatever the claim says', async () => {
    const { api } = await server.makeDevice();
    await expect(api.claim({}, never)).resolves.toBeUndefined();
    await expect(api.claim({ secretKey: 'another', durationMs: 60_000 }, never)).resolves.toBeUndefined();
  });
});

describe('provisioning', () => {
  it('makes a device once, with the token that it proposes, and refuses the name from then on', async () => {
    const { key, secret } = await server.makeProvisioningProfile();
    const deviceName = `turnstone-provisioned-${key}`;
    server.made('devices', deviceName);
    const token = randomBytes(12).toString('hex');
    const ask = { deviceName, provisionDeviceKey: key, provisionDeviceSecret: secret, token };
    const deps = { settings: { url: server.url }, clock: systemClock };
    expect(await requestProvisioning(ask, deps, never)).toEqual({
      status: 'SUCCESS',
      credentialsType: 'ACCESS_TOKEN',
      credentialsValue: token,
    });
    const api = server.client(token);
    expect(await api.postTelemetry(rowsOf({ ts: 1_700_000_000_000, values: { first: 1 } }), never)).toEqual({
      kind: 'accepted',
    });
    expect(await requestProvisioning(ask, deps, never)).toMatchObject({ status: 'FAILURE' });
  });

  it('does not know a wrong key or secret', async () => {
    const ask = {
      deviceName: 'x',
      provisionDeviceKey: randomBytes(10).toString('hex'),
      provisionDeviceSecret: 'wrong',
    };
    const answer = await requestProvisioning(ask, { settings: { url: server.url }, clock: systemClock }, never);
    expect(answer).toMatchObject({ status: 'NOT_FOUND' });
  });
});

describe('firmware', () => {
  it('comes in chunks, the last one short, and past the end comes nothing', async () => {
    const { id, name, api } = await server.makeDevice();
    const image = randomBytes(10_000);
    const { title, version } = await assign(id, name, image);
    const parts: Buffer[] = [];
    for (const chunk of [0, 1, 2, 3])
      parts.push(await whole(await api.getFirmware({ title, version, sizeBytes: 4096, chunk }, never)));
    expect(parts.map(({ length }) => length)).toEqual([4096, 4096, 1808, 0]);
    expect(Buffer.concat(parts).equals(image)).toBe(true);
    const all = await api.getFirmware({ title, version }, never);
    expect(all.lengthBytes).toBe(10_000);
    expect((await whole(all)).equals(image)).toBe(true);
  });

  it('is announced by shared attributes with size and checksum', async () => {
    const { id, name, api } = await server.makeDevice();
    const image = randomBytes(500);
    const { title, version } = await assign(id, name, image);
    const keys = ['fw_title', 'fw_version', 'fw_size', 'fw_checksum', 'fw_checksum_algorithm'];
    const { shared } = await eventually(
      () => api.getAttributes({ sharedKeys: keys }, never),
      (found) => Object.keys(found.shared).length === keys.length,
    );
    const sha256 = createHash('sha256').update(image).digest('hex');
    expect(shared).toEqual({
      fw_title: title,
      fw_version: version,
      fw_size: 500,
      fw_checksum: sha256,
      fw_checksum_algorithm: 'SHA256',
    });
  });

  it('is refused when another version is assigned, and not found when none is', async () => {
    const { id, name, api } = await server.makeDevice();
    await expect(api.getFirmware({ title: 'a', version: '1' }, never)).rejects.toMatchObject({
      code: 'platform/not-found',
      recovery: 'hold',
    });
    const { title } = await assign(id, name, randomBytes(10));
    await expect(api.getFirmware({ title, version: 'other' }, never)).rejects.toMatchObject({
      code: 'platform/refused',
    });
  });
});

async function assign(
  id: string,
  name: string,
  image: Buffer,
): Promise<{ readonly title: string; readonly version: string }> {
  const device = (await server.rest('GET', `/api/tenant/devices?deviceName=${name}`)).body as {
    readonly [key: string]: JsonValue;
  };
  const title = `image-${name}`;
  const version = '1.2.3';
  const made = await server.rest('POST', '/api/otaPackage', {
    title,
    version,
    type: 'FIRMWARE',
    deviceProfileId: device.deviceProfileId ?? null,
  });
  const packageId = idOf(made.body);
  server.made('packages', packageId);
  const form = new FormData();
  form.append('file', new File([new Uint8Array(image)], 'image.bin'));
  const upload = await fetch(`${server.url}/api/otaPackage/${packageId}?checksumAlgorithm=SHA256`, {
    method: 'POST',
    headers: { 'x-authorization': `Bearer ${server.token}` },
    body: form,
  });
  expect(upload.status).toBe(200);
  await upload.body?.cancel();
  const saved = await server.rest('POST', '/api/device', {
    ...device,
    firmwareId: { id: packageId, entityType: 'OTA_PACKAGE' },
  });
  expect(saved.status).toBe(200);
  expect(saved.body).toMatchObject({ id: { id } });
  return { title, version };
}

async function whole(body: FirmwareBody): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of body.stream) parts.push(part);
  return Buffer.concat(parts);
}
