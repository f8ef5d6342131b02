/**
 * A hundred devices of one gateway, each with a token of its own: what arrived at each is what it sent, whatever befalls another. Windows go as the
 * agent sends them (src/outbox/DEVICES.md): the parts of all devices side by side, eight at a time.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/host/clock.ts';
import type { DeviceApi } from '../../../src/platform/device-api.ts';
import { requestProvisioning } from '../../../src/platform/provision-request.ts';
import type { JsonValue } from '../../../src/values/json.ts';
import { rowsOf } from '../../support/telemetry-rows.ts';
import { Server } from './server.ts';

interface Meter {
  readonly number: number;
  readonly name: string;
  readonly api: Pick<DeviceApi, 'postTelemetry'>;
}

const DEVICES = 100;
const KEYS = Array.from({ length: 10 }, (_, at) => `key${at}`);
const WINDOWS = 6;
const EACH_MS = 10_000;
const BEGIN_MS = 1_700_000_000_000;
const SIDE_BY_SIDE = 8;
const never = new AbortController().signal;
let server: Server;
let meters: readonly Meter[];

beforeAll(async () => {
  server = await Server.open();
  meters = await provisioned();
});
afterAll(() => server.close());

describe('a hundred devices', () => {
  it('have what each of them sent, and nothing of another', async () => {
    for (let window = 0; window < WINDOWS; window += 1) {
      const answers = await sideBySide(meters, ({ number, api }) =>
        api.postTelemetry(rowsOf(record(number, window)), never),
      );
      expect(answers).toEqual(meters.map(() => ({ kind: 'accepted' })));
    }
    for (const { name, number } of meters) expect(await whole(name), name).toEqual(sent(number, WINDOWS));
  });

  it('are not hindered by one that is deleted, and its window is refused with 401', async () => {
    const gone = 37;
    const id = await server.idOfDevice(meters[gone]?.name ?? '');
    expect((await server.rest('DELETE', `/api/device/${id}`)).status).toBe(200);
    // A real server's caches know a deleted device's token for a moment.
    await expect
      .poll(async () => (await post(gone, WINDOWS)).kind, { timeout: 30_000, interval: 200 })
      .toBe('unauthorised');
    const answers = await sideBySide(meters, ({ number }) => post(number, WINDOWS));
    expect(answers.map(({ kind }) => kind)).toEqual(
      meters.map(({ number }) => (number === gone ? 'unauthorised' : 'accepted')),
    );
    for (const { name, number } of meters)
      if (number !== gone) expect(await whole(name, WINDOWS + 1), name).toEqual(sent(number, WINDOWS + 1));
  });

  it('cannot be made again under a name that one of them has', async () => {
    const profile = await server.makeProvisioningProfile();
    const token = randomBytes(10).toString('hex');
    expect(await provision(meters[0]?.name ?? '', token, profile)).toMatchObject({ status: 'FAILURE' });
  });
});

async function provisioned(): Promise<readonly Meter[]> {
  const profile = await server.makeProvisioningProfile();
  const gateway = `turnstone-gateway-${randomBytes(6).toString('hex')}`;
  return sideBySide(
    Array.from({ length: DEVICES }, (_, number) => number),
    async (number) => {
      const name = `${gateway} meter${number}`;
      const token = randomBytes(10).toString('hex');
      server.made('devices', name);
      expect(await provision(name, token, profile)).toMatchObject({ status: 'SUCCESS', credentialsValue: token });
      return { number, name, api: server.client(token) };
    },
  );
}

function provision(
  deviceName: string,
  token: string,
  { key, secret }: { readonly key: string; readonly secret: string },
) {
  const ask = { deviceName, provisionDeviceKey: key, provisionDeviceSecret: secret, token };
  return requestProvisioning(ask, { settings: { url: server.url }, clock: systemClock }, never);
}

async function post(number: number, window: number): ReturnType<DeviceApi['postTelemetry']> {
  const { api } = meters[number] as Meter;
  return api.postTelemetry(rowsOf(record(number, window)), never);
}

/** A value that no other device, key or window has. */
function uniqueValue(device: number, key: number, window: number): number {
  return device * 1_000_000 + key * 1_000 + window;
}

function record(device: number, window: number): { readonly ts: number; readonly values: Record<string, JsonValue> } {
  return {
    ts: BEGIN_MS + window * EACH_MS,
    values: Object.fromEntries(KEYS.map((key, at) => [key, uniqueValue(device, at, window)])),
  };
}

function sent(
  device: number,
  windows: number,
): Record<string, readonly { readonly ts: number; readonly value: JsonValue }[]> {
  return Object.fromEntries(
    KEYS.map((key, at) => [
      key,
      Array.from({ length: windows }, (_, window) => ({
        ts: BEGIN_MS + window * EACH_MS,
        value: uniqueValue(device, at, window),
      })),
    ]),
  );
}

/** All that a device has, under whatever key. */
async function whole(
  name: string,
  windows = WINDOWS,
): Promise<Record<string, readonly { readonly ts: number; readonly value: JsonValue }[]>> {
  const id = await server.idOfDevice(name);
  await server.stored(id, KEYS, windows);
  const { body } = await server.rest('GET', `/api/plugins/telemetry/DEVICE/${id}/keys/timeseries`);
  return await server.stored(id, body as string[], windows);
}

/** Results in the order of the items. */
async function sideBySide<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const waiting = items.entries();
  const hand = async (): Promise<void> => {
    for (const [at, item] of waiting) results[at] = await work(item);
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, hand));
  return results;
}
