/**
 * Questions that a real server was asked, with its answers (test/fixtures/platform/measured-answers.jsonl), one a line. None was left out:
 * the local platform answers each of them as the real one did, and a real one can be asked again.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type JsonObject, type JsonValue, parseJson } from '../../../src/values/json.ts';
import { eventually, idOf, type MadeDevice, type RawAnswer, Server } from './server.ts';

type Question = Readonly<Record<string, JsonValue>> & { readonly ask: string };

interface Expected {
  readonly status: number;
  readonly contentType?: string;
  /** Exactly, but for the order of members where it is JSON. */
  readonly body?: string;
  /** Members that it has; `{startsWith}` in place of a text. */
  readonly json?: Readonly<Record<string, JsonValue>>;
}

const FIXTURE = new URL('../../fixtures/platform/measured-answers.jsonl', import.meta.url);
const [, ...questions] = readFileSync(FIXTURE, 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => parseJson(line) as Question);
const asked = (what: string): [string, Question][] =>
  questions
    .filter(({ ask }) => ask === what)
    .map((question) => [JSON.stringify({ ...question, answer: undefined }).slice(0, 140), question]);
const TS = 1_700_000_000_000;

let server: Server;
let device: MadeDevice;
beforeAll(async () => {
  server = await Server.open();
  device = await server.makeDevice();
});
afterAll(() => server.close());

it('there are 87 of them', () => expect(questions).toHaveLength(87));

describe('a telemetry value', () => {
  it.each(asked('telemetry value'))('%s', async (_name, { sent, status, strict, strictStart, plain, plainStart }) => {
    const key = `value${randomBytes(4).toString('hex')}`;
    expect(
      (await server.device('POST', device.accessToken, 'telemetry', `{"ts":${TS},"values":{"${key}":${sent}}}`)).status,
    ).toBe(status);
    await server.stored(device.id, [key]);
    const shown = async (isStrict: boolean): Promise<string> => {
      const query = `keys=${key}&startTs=1&endTs=${TS + 1}&useStrictDataTypes=${isStrict}`;
      const { text } = await server.restRaw(
        'GET',
        `/api/plugins/telemetry/DEVICE/${device.id}/values/timeseries?${query}`,
      );
      return /"value":(.*)\}\]\}$/s.exec(text)?.[1] ?? text;
    };
    expectText(await shown(true), strict, strictStart);
    expectText(await shown(false), plain, plainStart);
  });
});

describe('a client attribute, as the device reads it', () => {
  it.each(asked('client attribute'))('%s', async (_name, { sent, status, read, readStart }) => {
    const key = `attribute${randomBytes(4).toString('hex')}`;
    expect((await server.device('POST', device.accessToken, 'attributes', `{"${key}":${sent}}`)).status).toBe(status);
    const { text } = await eventually(
      () => server.device('GET', device.accessToken, `attributes?clientKeys=${key}`),
      (answer) => answer.text.includes(key),
    );
    expectText(text.slice(`{"client":{"${key}":`.length, -2), read, readStart);
  });
});

describe('a telemetry key beside a good one', () => {
  it.each(asked('telemetry key'))('%s', async (_name, { key, status, besides, stored }) => {
    const { id, accessToken } = await server.makeDevice();
    const values = { [textOf(key)]: 1, ...Object.fromEntries((besides as string[]).map((good) => [good, 2])) };
    const { status: answered } = await server.device(
      'POST',
      accessToken,
      'telemetry',
      JSON.stringify({ ts: TS, values }),
    );
    expect(answered).toBe(status);
    await server.device('POST', accessToken, 'telemetry', '{"marker":1}');
    const keys = await eventually(
      async () =>
        (await server.rest('GET', `/api/plugins/telemetry/DEVICE/${id}/keys/timeseries`)).body as readonly string[],
      (found) => found.includes('marker'),
    );
    expect(keys.filter((name) => name !== 'marker')).toEqual(stored);
  });
});

describe('a request of a device', () => {
  it.each(asked('device'))('%s', async (_name, { method, path, body, bodyOf, given, answer }) => {
    const { id, accessToken, api } = await server.makeDevice();
    if (given !== undefined) {
      const { client, shared } = given as { readonly client: JsonObject; readonly shared: JsonObject };
      await api.postAttributes(client, new AbortController().signal);
      await server.rest('POST', `/api/plugins/telemetry/DEVICE/${id}/attributes/SHARED_SCOPE`, shared);
      const found = await eventually(
        () => api.getAttributes({}, new AbortController().signal),
        (all) => Object.keys(all.client).length === 2 && Object.keys(all.shared).length === 2,
      );
      expect(found).toMatchObject({ client, shared });
    }
    const text = bodyOf === undefined ? (body as string | undefined) : textOf(bodyOf);
    const what = String(path);
    const answered =
      what === 'provision'
        ? await server.provision(text ?? '')
        : await server.device(method as 'GET', accessToken, what, text);
    expectAnswer(answered, answer as unknown as Expected);
  });
});

describe('a request of people', () => {
  it.concurrent.each(asked('people'))('%s', async (_name, { method, path, body, answer }) => {
    const { id } = await server.makeDevice();
    const at = String(path).replace('{device}', id).replace('{nobody}', randomUUID());
    expectAnswer(await server.restRaw(method as 'GET', at, body), answer as unknown as Expected);
  });

  it.each(asked('made device'))('%s', async (_name, { customerId }) => {
    const { body } = await server.rest('GET', `/api/device/${device.id}`);
    expect(body).toMatchObject({ id: { entityType: 'DEVICE', id: device.id }, name: device.name, customerId });
  });
});

describe('a persistent one-way RPC', () => {
  it.each(asked('persistent one-way RPC'))('%s', async (_name, { queued, polled, secondPoll, replied }) => {
    const { id, accessToken } = await server.makeDevice();
    const call = { method: 'blink', params: {}, persistent: true, expirationTime: Date.now() + 600_000 };
    const { rpcId } = (await server.rest('POST', `/api/rpc/oneway/${id}`, call)).body as { readonly rpcId: string };
    const state = (wanted: JsonValue | undefined): Promise<JsonValue | undefined> =>
      eventually(
        async () => ((await server.rest('GET', `/api/rpc/persistent/${rpcId}`)).body as JsonObject).status,
        (found) => found === wanted,
      );
    expect(await state(queued)).toBe(queued);
    const first = await server.device('GET', accessToken, 'rpc?timeout=5000');
    expect(await state(polled)).toBe(polled);
    expect((await server.device('GET', accessToken, 'rpc?timeout=300')).status).toBe(secondPoll);
    await server.device('POST', accessToken, `rpc/${(parseJson(first.text) as JsonObject).id}`, '{"result":1}');
    expect(await state(replied)).toBe(replied);
    expect((await server.rest('DELETE', `/api/rpc/persistent/${rpcId}`)).status).toBe(200);
  });
});

describe('a firmware package', () => {
  let made: { readonly device: MadeDevice; readonly packageId: string; readonly title: string };
  const of = (what: string): Question => asked(what)[0]?.[1] as Question;
  const image = Buffer.alloc(Number(of('attributes of an assigned package').bytes), 7);

  async function upload(packageId: string, query: string): Promise<number> {
    const form = new FormData();
    form.append('file', new File([new Uint8Array(image)], 'image.bin'));
    const headers = { 'x-authorization': `Bearer ${server.token}` };
    const answer = await fetch(`${server.url}/api/otaPackage/${packageId}?${query}`, {
      method: 'POST',
      headers,
      body: form,
    });
    await answer.body?.cancel();
    return answer.status;
  }

  beforeAll(async () => {
    const own = await server.makeDevice();
    const { deviceProfileId = null, ...rest } = (await server.rest('GET', `/api/device/${own.id}`)).body as JsonObject;
    const title = `measured-${own.name}`;
    const version = '1';
    const saved = await server.rest('POST', '/api/otaPackage', { title, version, type: 'FIRMWARE', deviceProfileId });
    const packageId = idOf(saved.body);
    server.made('packages', packageId);
    made = { device: own, packageId, title };
    expect(await upload(packageId, 'checksumAlgorithm=CRC32&checksum=00000000')).toBe(
      of('upload with a wrong checksum').status,
    );
    expect(await upload(packageId, `checksumAlgorithm=${of('attributes of an assigned package').algorithm}`)).toBe(200);
    const firmwareId = { id: packageId, entityType: 'OTA_PACKAGE' };
    expect((await server.rest('POST', '/api/device', { ...rest, deviceProfileId, firmwareId })).status).toBe(200);
  });

  it('is announced by these shared attributes', async () => {
    const { shared, algorithm, bytes, version } = of('attributes of an assigned package');
    const keys = shared as readonly string[];
    const found = await eventually(
      () => made.device.api.getAttributes({ sharedKeys: keys }, new AbortController().signal),
      (answer) => Object.keys(answer.shared).length === keys.length,
    );
    const checksum = expect.stringMatching(/^[0-9a-f]{8}$/);
    const named = { fw_title: made.title, fw_version: version, fw_size: bytes };
    expect(found.shared).toEqual({ ...named, fw_checksum_algorithm: algorithm, fw_checksum: checksum });
  });

  it('makes the server itself write these telemetry keys', async () => {
    const { keys } = of('telemetry of an assignment');
    const found = await eventually(
      async () =>
        (await server.rest('GET', `/api/plugins/telemetry/DEVICE/${made.device.id}/keys/timeseries`))
          .body as readonly string[],
      (all) => all.length >= (keys as readonly string[]).length,
    );
    expect([...found].sort()).toEqual(keys);
    const { fw_state } = await server.stored(made.device.id, ['fw_state'], 2);
    expect(fw_state?.map(({ value }) => value)).toEqual(['QUEUED', 'INITIATED']);
  });

  it.each(asked('part of an assigned package'))('%s', async (_name, { query, status, contentType = '', bytes }) => {
    const path = `firmware?title=${made.title}&version=1&${query}`;
    const answer = await server.device('GET', made.device.accessToken, path);
    expect([answer.status, answer.contentType, answer.text.length]).toEqual([status, contentType, bytes]);
  });

  it('cannot be deleted while it is assigned', async () => {
    expect((await server.rest('DELETE', `/api/otaPackage/${made.packageId}`)).status).toBe(
      of('deletion of an assigned package').status,
    );
  });
});

function textOf(value: JsonValue | undefined): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const { text, times } = value as { readonly text: string; readonly times: number };
  return text.repeat(times);
}

function expectText(found: string, exact: JsonValue | undefined, start: JsonValue | undefined): void {
  if (exact !== undefined) expect(found).toBe(exact);
  else expect(found.startsWith(String(start)), found).toBe(true);
}

function expectAnswer(found: RawAnswer, expected: Expected): void {
  expect([found.status, found.contentType]).toEqual([expected.status, expected.contentType ?? '']);
  if (expected.json !== undefined) {
    const body = parseJson(found.text) as JsonObject;
    for (const [name, value] of Object.entries(expected.json)) {
      const start = (value as { readonly startsWith?: string } | null)?.startsWith;
      if (typeof start === 'string') expect(String(body[name]).startsWith(start), found.text).toBe(true);
      else expect(body[name], name).toEqual(value);
    }
  } else if (expected.contentType === 'application/json')
    expect(parseJson(found.text)).toEqual(parseJson(expected.body ?? ''));
  else expect(found.text).toBe(expected.body);
}
