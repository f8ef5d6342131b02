/** Many devices at one platform: each with its own faults, limits and end, and what arrived of each. */
import { request } from 'undici';
import { afterEach, expect, it } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { systemClock } from '../../host/clock.ts';
import { requestProvisioning } from '../../platform/provision-request.ts';
import { LocalPlatform, type LocalPlatformOptions } from './local-platform.ts';

const ALWAYS = Number.POSITIVE_INFINITY;
const { signal } = new AbortController();
let platform: LocalPlatform;

afterEach(() => platform.close());

async function withMeters(options: LocalPlatformOptions = {}): Promise<void> {
  platform = await LocalPlatform.start(options);
  for (const name of ['a', 'b', 'c']) platform.ensureDevice(name, `token-of-${name}`);
}

async function upload(name: string, body = '{"ts":1,"values":{"power":5}}', gone = signal): Promise<number> {
  const url = `${platform.url}/api/v1/token-of-${name}/telemetry`;
  const answer = await request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
    signal: gone,
  });
  await answer.body.dump();
  return answer.statusCode;
}

it.each([401, 404, 413, 429, 500])(
  'answers one device with %i, as often as is said, and the others as ever',
  async (status) => {
    await withMeters();
    platform.faults.plant({ kind: 'answer', status }, { device: 'b', times: 2 });
    expect([await upload('a'), await upload('b'), await upload('c'), await upload('b'), await upload('b')]).toEqual([
      200,
      status,
      200,
      status,
      200,
    ]);
  },
);

it('finds a device by the token that it has now, and nobody by the name of a device that is gone', async () => {
  await withMeters();
  platform.faults.plant({ kind: 'answer', status: 401 }, { device: 'b', times: ALWAYS });
  platform.ensureDevice('b', 'token-of-d');
  expect([await upload('b'), await upload('d')]).toEqual([401, 401]);
  expect(await (await fetch(`${platform.url}/api/v1/token-of-d/attributes`)).status).toBe(200);
  platform.state.deleteDevice(platform.deviceView('b')?.id ?? '');
  platform.faults.clear('a');
  expect([await upload('a'), await upload('d')]).toEqual([200, 401]);
  expect(platform.faults.left).toBe(ALWAYS);
  platform.faults.clear('b');
  expect(platform.faults.left).toBe(0);
});

it('takes the body of a slow device at its rate, and nothing of one that gave up', async () => {
  const clock = new FakeClock();
  await withMeters({ clock });
  platform.faults.plant({ kind: 'slow', bytesPerSecond: 1_000 }, { device: 'b', times: 2 });
  const body = JSON.stringify({ ts: 1, values: { text: 'x'.repeat(5_000) } });
  const arrived = upload('b', body);
  const impatient = new AbortController();
  const givenUp = upload('b', '{"ts":2,"values":{"other":1}}', impatient.signal);
  await expect.poll(() => platform.faults.left).toBe(0);
  impatient.abort();
  await expect(givenUp).rejects.toThrow();
  expect(await upload('a', body)).toBe(200);
  await clock.advance(5_000);
  expect(platform.deviceView('b')?.storedValues).toBe(0);
  await clock.advance(100);
  expect(await arrived).toBe(200);
  await expect.poll(() => [...(platform.deviceView('b')?.points.keys() ?? [])]).toEqual(['text']);
});

it('gives a device limits of its own', async () => {
  await withMeters({ rateLimits: { dataMessages: '2:3600' } });
  const { id = '' } = platform.deviceView('b') ?? {};
  platform.rateLimit.limitDevice(id, { dataMessages: '1:3600' });
  expect([await upload('b'), await upload('b'), await upload('a'), await upload('a'), await upload('a')]).toEqual([
    200, 500, 200, 200, 500,
  ]);
  platform.rateLimit.limitDevice(id, undefined);
  expect([await upload('b'), await upload('b'), await upload('b')]).toEqual([200, 200, 500]);
});

it('shows what arrived of each device, once and as often as it came', async () => {
  const told: string[] = [];
  await withMeters({ onStored: ({ name }, { ts, values }) => void told.push(`${name} ${ts} ${Object.keys(values)}`) });
  for (const body of [
    '{"ts":2,"values":{"power":6}}',
    '{"ts":1,"values":{"power":5,"on":true}}',
    '{"ts":1,"values":{"power":7}}',
  ])
    await upload('a', body);
  await upload('b');
  const view = platform.deviceView('a');
  expect(view?.points).toEqual(
    new Map([
      [
        'power',
        [
          { ts: 1, value: 7 },
          { ts: 2, value: 6 },
        ],
      ],
      ['on', [{ ts: 1, value: true }]],
    ]),
  );
  expect([view?.storedValues, platform.deviceView('b')?.storedValues, platform.deviceView('c')?.points.size]).toEqual([
    4, 1, 0,
  ]);
  expect(told).toEqual(['a 2 power', 'a 1 power,on', 'a 1 power', 'b 1 power']);
  platform.state.deleteDevice(view?.id ?? '');
  expect([platform.deviceView('a'), await upload('a')]).toEqual([undefined, 401]);
});

it('provisions hundreds by the keys of their profiles', async () => {
  await withMeters();
  platform.allowProvisioning({ key: 'key-of-meters', secret: 'secret', profile: 'Meter' });
  platform.allowProvisioning({ key: 'key-of-pumps', secret: 'secret', profile: 'Pump' });
  const deps = { settings: { url: platform.url }, clock: systemClock };
  const names = Array.from({ length: 300 }, (_, at) => `thing-${at}`);
  for (const [at, deviceName] of names.entries()) {
    const provisionDeviceKey = at % 2 === 0 ? 'key-of-meters' : 'key-of-pumps';
    const ask = { deviceName, provisionDeviceKey, provisionDeviceSecret: 'secret', token: `token-of-${deviceName}` };
    expect(await requestProvisioning(ask, deps, signal)).toMatchObject({
      status: 'SUCCESS',
      credentialsValue: ask.token,
    });
    expect(await upload(deviceName)).toBe(200);
  }
  const views = names.map((name) => platform.deviceView(name));
  expect(views.map((view) => view?.type)).toEqual(names.map((_, at) => (at % 2 === 0 ? 'Meter' : 'Pump')));
  expect(views.every((view) => view?.storedValues === 1)).toBe(true);
});
