/** A backlog behind the limits of a tenant, of messages and of data points, leaves at nearly the rate that they allow. */
import { afterEach, describe, expect, it } from 'vitest';
import type { TelemetryRows, UploadAnswer } from '../../src/platform/device-api.ts';
import { RateLimit, type RateLimits } from '../../src/stand-ins/local-platform/rate-limit.ts';
import { UploadBench } from '../support/upload-bench.ts';

const ACCEPTED: UploadAnswer = { kind: 'accepted' };
const EMPTY_500: UploadAnswer = { kind: 'busy', status: 500, text: '' };
const TOO_MANY: UploadAnswer = { kind: 'busy', status: 429, text: '{"errorCode":33}' };
const NO_ROUTE: UploadAnswer = { kind: 'busy', text: 'no route' };
/** Polls, and what else counts among all messages. */
const POLL_EVERY_S = 4;
const FIND_S = 120;
const MEASURE_S = 480;

const TENANT: RateLimits = { dataMessages: '2:1,40:60', dataPoints: '100:1,3000:60', messages: '5:1,100:60' };

let gateway: UploadBench;
let rateLimit: RateLimit;
let committed = 0;

afterEach(() => gateway.close());

/** A history is kept from an outage, and a platform with these limits comes back. */
async function comeBack(limits: RateLimits, refusal: UploadAnswer, seed: number, entries: number): Promise<void> {
  gateway = await UploadBench.open();
  let drawn = seed;
  gateway.fixture.clock.jitter = () => {
    drawn = (drawn * 1103515245 + 12345) % 2 ** 31;
    return drawn / 2 ** 31;
  };
  gateway.answer = () => NO_ROUTE;
  committed = 0;
  while (committed < entries) await commit(Array.from({ length: 2_000 }, (_none, at) => `k${at % 50}`));
  rateLimit = new RateLimit({ clock: gateway.fixture.clock, rateLimits: limits });
  const isCounted = limits.messages !== undefined;
  gateway.answer = ({ keys }: TelemetryRows) => {
    // An upload is one of all messages, too.
    const isMessage = !isCounted || rateLimit.admits('self');
    return isMessage && rateLimit.admits('self', keys.length) ? ACCEPTED : refusal;
  };
}

async function commit(keys: readonly string[], entry: Parameters<UploadBench['commit']>[1] = {}): Promise<void> {
  committed += keys.length;
  await gateway.commit(keys, entry);
}

/** Seconds pass; every so many, something new is read. Returns values taken a second. */
async function pass(seconds: number, liveEveryS: number): Promise<number> {
  const before = gateway.taken.length;
  const untilMs = gateway.fixture.clock.monotonicMs() + seconds * 1_000;
  for (let second = 0; second < seconds; second += 1) {
    if (second % liveEveryS === 0) await commit(['live']);
    if (second % POLL_EVERY_S === 0) rateLimit.admits('self');
    await gateway.fixture.clock.advance(untilMs - (seconds - second - 1) * 1_000 - gateway.fixture.clock.monotonicMs());
  }
  return (gateway.taken.length - before) / seconds;
}

function expectEachOnce(): void {
  const { heldEntries, rejected, dropped } = gateway.outbox.status();
  expect([gateway.deadLetters(), rejected, dropped]).toEqual([[], 0, 0]);
  expect(gateway.taken.length + heldEntries).toBe(committed);
}

describe.each<[string, UploadAnswer]>([
  ['an empty 500', EMPTY_500],
  ['429', TOO_MANY],
])('a backlog behind limits that answer %s', (_name, refusal) => {
  it.each<[number, RateLimits, number, number]>([
    [50, TENANT, 30, 7],
    [50, TENANT, 1, 8],
    [50, TENANT, 1, 4_711],
    [50, { dataPoints: '3000:60' }, 30, 9],
    [50, { dataPoints: '100:1,3000:60' }, 1, 11],
    [50, { dataMessages: '20:60', dataPoints: '300:1,3000:60' }, 1, 13],
    [20, { dataMessages: '10:1,300:60', dataPoints: '50:1,1200:60' }, 1, 12],
    // 2,000 values a post.
    [1_333, { dataMessages: '40:60' }, 30, 10],
  ])('leaves at four fifths of the %i values a second of %j, each once', async (allowed, limits, liveEveryS, seed) => {
    await comeBack(limits, refusal, seed, allowed * 700 + 4_000);
    await pass(FIND_S, liveEveryS);
    const perSecond = await pass(MEASURE_S, liveEveryS);
    process.stdout.write(`${JSON.stringify(limits)}: ${perSecond.toFixed(1)} of ${allowed} values a second\n`);
    expect(perSecond).toBeGreaterThanOrEqual(0.8 * allowed);
    expectEachOnce();
  });

  it('lets an alarm pass within seconds, and readings of each second within a minute', async () => {
    await comeBack(TENANT, refusal, 21, 40_000);
    await pass(FIND_S, 1);
    const live = (): number => gateway.taken.filter((key) => key === 'live').length;
    const before = live();
    for (let alarm = 0; alarm < 5; alarm += 1) {
      await commit([`alarm${alarm}`], { class: 'alarm' });
      await pass(15, 1);
      expect(gateway.taken).toContain(`alarm${alarm}`);
    }
    await pass(105, 1);
    expect(live() - before).toBeGreaterThanOrEqual(120);
    expectEachOnce();
  });
});

it('leaves a platform without limits no slower than before', async () => {
  await comeBack({}, EMPTY_500, 7, 100_000);
  await pass(60, 1);
  expect(gateway.waiting).toBe(0);
  expectEachOnce();
});
