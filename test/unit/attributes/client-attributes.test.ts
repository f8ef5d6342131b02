/** Client attributes that the platform would lose in part without a word. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ClientAttributes } from '../../../src/attributes/client-attributes.ts';
import { AgentError } from '../../../src/errors/agent-error.ts';
import { silentLog } from '../../../src/host/log.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';
import { sendableKey } from '../../../src/platform/wire-values.ts';
import type { JsonObject, JsonValue } from '../../../src/values/json.ts';
import { FakeClock } from '../../support/fake-clock.ts';

it('an attribute whose key the platform would lose, with all that is sent with it, goes by another name and is not sent again for ever', async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const posts: JsonObject[] = [];
  const deviceApi = { postAttributes: async (attributes: JsonObject): Promise<void> => void posts.push(attributes) };
  const client = new ClientAttributes({ deviceApi, clock, log: silentLog });
  const running = client.run(stop.signal);
  client.report({ model: 'x', '{{site}}': 'roof' });
  await clock.advance(2_000);
  const name = sendableKey('{{site}}');
  expect(posts).toEqual([{ model: 'x', [name]: 'roof' }]);
  expect(client.keys).toEqual(['model', name]);
  client.report({ '{{site}}': 'roof' });
  client.heal({ model: 'x', [name]: 'roof' });
  await clock.advance(60_000);
  expect(posts).toHaveLength(1);
  stop.abort();
  await clock.advance(60_000);
  await running;
});

describe('an attribute that the platform refuses', () => {
  const refused = new AgentError('platform/refused', 'the platform answered 500: starting', { recovery: 'drop' });
  let clock: FakeClock;
  let stop: AbortController;
  let posts: JsonObject[];
  let said: unknown[];
  let isRefused: (attributes: JsonObject) => boolean;
  let client: ClientAttributes;
  let running: Promise<void>;

  beforeEach(() => {
    clock = new FakeClock({ jitter: 1 });
    stop = new AbortController();
    [posts, said] = [[], []];
    const postAttributes = async (attributes: JsonObject): Promise<void> => {
      posts.push(attributes);
      if (isRefused(attributes)) throw refused;
    };
    const log = { ...silentLog, warn: (fields: object) => void said.push(fields) };
    client = new ClientAttributes({ deviceApi: { postAttributes }, clock, log });
    running = client.run(stop.signal);
  });

  afterEach(async () => {
    stop.abort();
    await running;
    expect(clock.pending).toBe(0);
  });

  it('is told once, and is sent again ever more seldom, in the end each five minutes, until it is taken', async () => {
    isRefused = () => true;
    client.report({ pump: true });
    await clock.advance(1_000);
    expect([posts.length, said]).toEqual([1, [{ key: 'pump', error: refused.message }]]);
    // Behind 5, 10, 20, 40, 80, 160 s, each with what it takes to gather.
    await clock.advance(316_000);
    expect(posts.length).toBe(7);
    await clock.advance(298_000);
    expect(posts.length).toBe(7);
    await clock.advance(2_000);
    expect([posts.length, said.length]).toEqual([8, 1]);
    isRefused = () => false;
    await clock.advance(302_000);
    expect(posts.length).toBe(9);
    await clock.advance(3_600_000);
    expect(posts.length).toBe(9);
  });

  it('holds up none of the others, which go together without it', async () => {
    isRefused = (attributes) => Object.hasOwn(attributes, 'bad');
    client.report({ bad: 1, good: 1 });
    await clock.advance(1_000);
    expect(posts).toEqual([{ bad: 1, good: 1 }, { bad: 1 }, { good: 1 }]);
    posts.splice(0);
    await clock.advance(3_000);
    client.report({ good: 2, fine: 2 });
    await clock.advance(1_000);
    expect(posts).toEqual([{ good: 2, fine: 2 }]);
    await clock.advance(1_500);
    expect(posts.slice(1)).toEqual([{ bad: 1 }]);
  });

  it('is not held up by another that changes all the time', async () => {
    isRefused = (attributes) => Object.hasOwn(attributes, 'version');
    client.report({ version: '1', pump: true });
    await clock.advance(4_000);
    isRefused = () => false;
    posts.splice(0);
    for (let second = 0; second < 10; second += 1) {
      client.report({ pump: second % 2 === 1 });
      await clock.advance(1_000);
    }
    expect(posts.filter((post) => Object.hasOwn(post, 'version'))).toEqual([{ version: '1' }]);
    expect(posts.length).toBeGreaterThan(8);
  });

  it('is sent at once when it has another value', async () => {
    isRefused = (attributes) => attributes.pump === true;
    client.report({ pump: true });
    await clock.advance(1_000);
    client.report({ pump: false });
    await clock.advance(1_000);
    expect(posts).toEqual([{ pump: true }, { pump: false }]);
    await clock.advance(3_600_000);
    expect(posts.length).toBe(2);
  });
});

it('an attribute over which the platform stumbles each time, saying what it says of its limits too, holds up none of the others', async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const held: JsonObject = {};
  const postAttributes = async (attributes: JsonObject): Promise<void> => {
    if (Object.hasOwn(attributes, 'bad')) throw new PlatformError('busy', 'the platform answered 500', { status: 500 });
    Object.assign(held, attributes);
  };
  const client = new ClientAttributes({ deviceApi: { postAttributes }, clock, log: silentLog });
  const running = client.run(stop.signal);
  client.report({ bad: 1, a: 1, b: 2, c: 3 });
  await clock.advance(60_000);
  expect(held).toEqual({ a: 1, b: 2, c: 3 });
  client.report({ b: 4 });
  await clock.advance(120_000);
  expect(held).toEqual({ a: 1, b: 4, c: 3 });
  stop.abort();
  await clock.advance(60_000);
  await running;
});

it('an attribute that is too large for the platform by itself holds up none of the others', async () => {
  const clock = new FakeClock({ jitter: 1 });
  const stop = new AbortController();
  const posts: string[] = [];
  const postAttributes = async (attributes: JsonObject): Promise<void> => {
    posts.push(Object.keys(attributes).join());
    if (Object.hasOwn(attributes, 'big'))
      throw new PlatformError('too-large', 'the platform answered 413', { status: 413 });
  };
  const client = new ClientAttributes({ deviceApi: { postAttributes }, clock, log: silentLog });
  const running = client.run(stop.signal);
  client.report({ big: 'x', fan: false });
  await clock.advance(1_200_000);
  // With all others once, and then behind 5, 10, 20, 40, 80, 160 and each 300 s.
  expect(posts.filter((keys) => keys.includes('big'))).toHaveLength(2 + 6 + 2);
  for (const [isOn, waitsMs] of [
    [true, 0],
    [false, 47_000],
    [true, 290_000],
  ] as const) {
    await clock.advance(waitsMs);
    posts.splice(0);
    client.report({ fan: isOn });
    await clock.advance(2_000);
    expect(posts).toContain('fan');
  }
  stop.abort();
  await clock.advance(60_000);
  await running;
});

it('an attribute that differs at the platform is sent again each time, unless the platform makes the same of it again', async () => {
  const clock = new FakeClock();
  const stop = new AbortController();
  const held: Record<string, JsonValue> = {};
  const postAttributes = async (attributes: JsonObject): Promise<void> => {
    Object.assign(held, attributes, Object.hasOwn(attributes, 'code') ? { code: 7 } : {});
    posts += 1;
  };
  let posts = 0;
  const client = new ClientAttributes({ deviceApi: { postAttributes }, clock, log: silentLog });
  const running = client.run(stop.signal);
  const readBack = async (): Promise<void> => {
    client.heal({ ...held });
    await clock.advance(3_000);
  };
  client.report({ valve: 'closed', code: '007' });
  await clock.advance(3_000);
  for (let time = 0; time < 3; time += 1) {
    held.valve = 'open';
    await readBack();
    expect(held.valve).toBe('closed');
    await readBack();
  }
  // At first, with the first difference of each, and for the valve twice more.
  expect(posts).toBe(4);
  // The platform's form of another value says nothing of this one.
  client.report({ code: '008' });
  await clock.advance(3_000);
  await readBack();
  expect(posts).toBe(6);
  stop.abort();
  await clock.advance(60_000);
  await running;
});
