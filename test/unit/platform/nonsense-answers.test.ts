/** A host that answers with nonsense is spared as one that answers with a fault: its status may be good all the same. */
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import type { Connect, PlatformConnections } from '../../../src/platform/connections.ts';
import type { DeviceApi } from '../../../src/platform/device-api.ts';
import { FAILURE_EVERY_MS } from '../../../src/platform/host-pace.ts';
import { HttpDeviceApi } from '../../../src/platform/http-device-api.ts';
import type { PlatformError } from '../../../src/platform/platform-error.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const TOOK_MS = 40;

type Ask = (api: DeviceApi, signal: AbortSignal) => Promise<unknown>;

const readWishes: Ask = (api, signal) => api.getAttributes({ sharedKeys: ['a'] }, signal);
const pollWishes: Ask = (api, signal) => api.pollAttributes(20_000, signal);
const pollRpc: Ask = (api, signal) => api.pollRpc(20_000, signal);

/** A host that gives every request this body, with a good status. */
function given(body: string) {
  const clock = new FakeClock();
  const host = { asked: 0 };
  const request = async ({ signal }: { readonly signal: AbortSignal }) => {
    host.asked += 1;
    await clock.sleep(TOOK_MS, signal);
    const headers = { 'content-type': 'application/json' };
    return { statusCode: 200, headers, body: Readable.from(body === '' ? [] : [Buffer.from(body)]) };
  };
  // A lane of the HTTP client's is more than this; no more of it is asked for.
  const lane = (() => ({ request })) as unknown as PlatformConnections['lane'];
  const traffic = { sentBytes: 0, receivedBytes: 0 };
  const connect: Connect = () => ({
    origin: 'http://host',
    prefix: '',
    lane,
    traffic,
    secrets: [],
    close: async () => {},
  });
  const api = new HttpDeviceApi({ settings: { url: 'http://host' }, token: () => 'tok', clock, connect });
  return { clock, host, api };
}

/** How often it is asked in a minute by loops without any manners of their own. */
async function askedInAMinute(body: string, asks: readonly Ask[]): Promise<number> {
  const { clock, host, api } = given(body);
  const stop = new AbortController();
  const running = asks.map(async (ask) => {
    while (!stop.signal.aborted) await ask(api, stop.signal).catch(() => {});
  });
  for (let step = 0; step < 600; step += 1) {
    await clock.advance(100);
    await new Promise((resolve) => setImmediate(resolve));
  }
  stop.abort();
  await Promise.all(running);
  return host.asked;
}

it.each([
  ['nothing that is anything', 'null'],
  ['a list', '[]'],
  ['a word', '"yes"'],
  ['half an answer', '{"shared":[1]'],
  ['a page', '<html>'],
  ['brackets without end', '['.repeat(5_000)],
])('whoever is answered with %s asks once in two seconds, all of them together', async (_what, body) =>
  expect(await askedInAMinute(body, [readWishes, pollWishes, pollRpc])).toBeLessThanOrEqual(30),
);

it.each<[string, string, Ask]>([
  ['a command without an id', '{"id":"1","method":7}', pollRpc],
  ['what is no command', '{"deleted":{"a":1}}', pollRpc],
  ['attributes that are none', '{"shared":[1,2,3]}', readWishes],
  ['an object where attributes are asked for', '{"deleted":{"a":1}}', readWishes],
  ['nothing, at once, where a command may come', '', pollRpc],
  ['nothing, at once, where a change may come', '', pollWishes],
])('%s is a fault', async (_what, body, ask) => expect(await askedInAMinute(body, [ask])).toBeLessThanOrEqual(30));

it.each<[string, string, Ask]>([
  ['a command', '{"id":1,"method":"getStatus","params":{}}', pollRpc],
  ['a change', '{"a":1}', pollWishes],
  ['all that is wished', '{"shared":{"a":1}}', readWishes],
])('%s is none', async (_what, body, ask) => expect(await askedInAMinute(body, [ask])).toBeGreaterThan(300));

it.each([
  ['nothing', '{}'],
  ['other attributes', '{"client":{"z":1},"shared":{"y":1}}'],
  ['scopes without any', '{"client":{},"shared":{}}'],
])('%s does not say that all that was asked for is deleted', async (_what, body) => {
  const { clock, api } = given(body);
  const answer = api.getAttributes({ clientKeys: ['c'], sharedKeys: ['a'] }, new AbortController().signal);
  await clock.advance(TOOK_MS);
  expect(await answer).toEqual({ client: {}, shared: {}, empty: true });
});

it.each([pollRpc, pollWishes])(
  'a poll that waited for its turn and was answered with nonsense at once has not stood',
  async (ask) => {
    const { clock, api } = given('null');
    const stop = new AbortController();
    const errors: unknown[] = [];
    const running = (async () => {
      while (!stop.signal.aborted) await ask(api, stop.signal).catch((error: unknown) => errors.push(error));
    })();
    await clock.advance(20_000);
    stop.abort();
    await running;
    expect(errors.length).toBeGreaterThan(5);
    expect(errors.filter((error) => (error as PlatformError).stoodMs !== TOOK_MS)).toEqual([]);
  },
);

it('nonsense is no outage, which is one whoever notices it: each answer counts', async () => {
  const { clock, host, api } = given('null');
  const signal = new AbortController().signal;
  const ask = () => Promise.allSettled([readWishes, pollWishes, pollRpc].map((one) => one(api, signal)));
  const first = ask();
  await clock.advance(TOOK_MS);
  await first;
  const next = ask();
  await clock.advance(TOOK_MS);
  expect(host.asked).toBe(3);
  await clock.advance(3 * FAILURE_EVERY_MS);
  await next;
  expect(host.asked).toBe(6);
});
