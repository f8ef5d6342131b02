/** What each answer to a post says about the size of posts and about single entries. */
import { beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../../src/host/log.ts';
import type { OutboxBatch } from '../../../../src/outbox/delivery/outbox-batch.ts';
import { EntryColumns, type ResolvedEntry } from '../../../../src/outbox/format/entry-columns.ts';
import type { UploadAnswer } from '../../../../src/platform/device-api.ts';
import { UploadJudge } from '../../../../src/telemetry/answers/upload-judge.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const CONFIGURED = { maxEntries: 100, maxBytes: 100_000 };
const ACCEPTED: UploadAnswer = { kind: 'accepted' };
const SILENT: UploadAnswer = { kind: 'busy', status: 500, text: '' };
const never = new AbortController().signal;

let answers: UploadAnswer[];
let aside: Set<number>;
let delivery: UploadJudge;
let clock: FakeClock;
let rejected: string[];

beforeEach(() => {
  answers = [];
  aside = new Set();
  rejected = [];
  clock = new FakeClock();
  delivery = new UploadJudge({
    clock,
    log: silentLog,
    postTelemetry: async () => answers.shift() ?? expect.fail('one post too many'),
    outbox: {
      aside: {
        add: (sequence) => void aside.add(sequence),
        putBack: (sequence) => void aside.delete(sequence),
        peek: async (sequence) => batch(1, sequence),
        giveUp: () => expect.fail('nothing is that old'),
      },
      reject: async (_entry, answer) => void rejected.push(answer),
    },
  });
});

function batch(count: number, from = 1, value: string | number = 1): OutboxBatch {
  const entries = EntryColumns.of(
    Array.from({ length: count }, (_none, at): ResolvedEntry => {
      const sequence = from + at;
      return { sequence, device: 'self', key: `k${sequence}`, value, ts: sequence, class: 'regular' };
    }),
  );
  return { lane: 'live', entries, ranges: [[from, from + count - 1]], bytes: entries.jsonBytes() };
}

async function post(what: OutboxBatch, answer: UploadAnswer, signal = never): Promise<void> {
  answers.push(answer);
  expect(await delivery.deliver(what, signal)).toBe(answer);
}

const rows = (): number => delivery.size.within(CONFIGURED).maxEntries;

it('an entry that made way is held as a suspect alone once it was refused', async () => {
  await post(batch(1), { kind: 'busy', text: 'no answer', cut: true });
  expect([delivery.unanswered.size, delivery.suspects.size]).toEqual([1, 0]);
  await post(batch(1), { kind: 'refused', status: 400, text: 'bad' });
  expect([delivery.unanswered.size, delivery.suspects.size]).toEqual([0, 1]);
});

it('nothing is posted of a batch without entries, and no suspect is judged by it', async () => {
  for (let contact = 0; contact < 4; contact += 1) {
    await post(batch(1), { kind: 'refused', status: 400, text: 'no' });
    for (let times = 0; times < 3; times += 1) expect(await delivery.deliver(batch(0), never)).toEqual({ kind: 'kept' });
    expect(await delivery.suspects.due({ nothingElse: false, withHistory: true })).toBeUndefined();
    await clock.advance(700_000);
  }
  expect([rejected, delivery.suspects.size, [...aside]]).toEqual([[], 1, [1]]);
});

describe('the next post has half', () => {
  it.each<[string, UploadAnswer]>([
    ['what was refused', { kind: 'refused', status: 400, text: 'bad' }],
    ['what was too large', { kind: 'too-large', status: 413 }],
    ['what was cut by its time', { kind: 'busy', text: 'no answer', cut: true }],
    ['what the server did not get in time', { kind: 'busy', status: 408, text: '' }],
    ['what a gateway did not get through in time', { kind: 'busy', status: 504, text: '' }],
  ])('of %s', async (_name, answer) => {
    await post(batch(40), answer);
    expect([rows(), delivery.suspects.size]).toEqual([20, 0]);
  });

  it('after two empty 500s in a row, and not after one', async () => {
    await post(batch(40), SILENT);
    expect(rows()).toBe(100);
    await post(batch(40), ACCEPTED);
    await post(batch(41), SILENT);
    expect(rows()).toBe(100);
    await post(batch(41), SILENT);
    expect(rows()).toBe(20);
  });

  it('after empty 500s, until as little as was taken before does not pass either: then it is a limit of posts, and all goes together', async () => {
    await post(batch(30), ACCEPTED);
    for (const [sent, next] of [
      [80, 100],
      [80, 40],
      [40, 20],
      [20, 100],
      [80, 100],
    ] as const) {
      await post(batch(sent, 100), SILENT);
      expect(rows()).toBe(next);
    }
    await post(batch(80, 100), ACCEPTED);
    for (let time = 0; time < 5; time += 1) await post(batch(80, 300), SILENT);
    expect(rows()).toBe(100);
    await clock.advance(75_000);
    await post(batch(80, 300), SILENT);
    expect(rows()).toBe(40);
  });

  it('after an empty 500 while three others were taken, each at its first try', async () => {
    await post(batch(40), ACCEPTED);
    await post(batch(40, 100), SILENT);
    for (let other = 0; other < 3; other += 1) await post(batch(1, 200 + other), ACCEPTED);
    await post(batch(40, 100), SILENT);
    expect(rows()).toBe(20);
    await post(batch(20, 100), ACCEPTED);
    await post(batch(20, 120), SILENT);
    await post(batch(20, 120), SILENT);
    expect(rows()).toBe(10);
  });

  it('of what was too much while half of it passes, the more seldom tried again', async () => {
    const tried: number[] = [];
    let next = 100;
    for (let time = 0; time < 40; time += 1) {
      tried.push(next);
      await post(batch(next, 1_000 * time), next > 30 ? SILENT : ACCEPTED);
      next = Math.min(100, rows());
    }
    expect(tried.slice(0, 8)).toEqual([100, 100, 50, 25, 50, 50, 25, 25]);
    expect(tried.slice(20).filter((sent) => sent > 30).length).toBeLessThanOrEqual(4);
  });

  it.each<[string, UploadAnswer]>([
    ['503', { kind: 'busy', status: 503, text: '' }],
    ['500 with a page', { kind: 'busy', status: 500, text: '<html>' }],
    ['429', { kind: 'busy', status: 429, text: '' }],
    ['no network', { kind: 'busy', text: 'no route' }],
    ['401', { kind: 'unauthorised', status: 401, text: '' }],
    ['a portal', { kind: 'portal', status: 302 }],
  ])('not after %s, however often', async (_name, answer) => {
    for (let time = 0; time < 4; time += 1) await post(batch(40), answer);
    await post(batch(1), answer);
    expect([rows(), delivery.suspects.size]).toEqual([100, 0]);
  });

  it('not of what the agent itself ended', async () => {
    const stop = new AbortController();
    stop.abort();
    await post(batch(40), { kind: 'busy', text: 'ended', cut: true }, stop.signal);
    expect(rows()).toBe(100);
  });
});

describe('a single entry stands aside', () => {
  it.each<[string, UploadAnswer]>([
    ['refused', { kind: 'refused', status: 500, text: 'bad' }],
    ['too large', { kind: 'too-large', status: 413 }],
  ])('when it is %s', async (_name, answer) => {
    await post(batch(1), answer);
    expect([[...aside], delivery.suspects.size, rows()]).toEqual([[1], 1, 100]);
  });

  it('at the second empty 500, and when it did before at the first', async () => {
    await post(batch(1), SILENT);
    expect(delivery.suspects.size).toBe(0);
    await post(batch(1), SILENT);
    expect(delivery.suspects.size).toBe(1);
    await post(batch(1, 2), ACCEPTED);
    await clock.advance(60_000);
    await post(batch(1, 2), ACCEPTED);
    const due = await delivery.suspects.due({ nothingElse: false, withHistory: true });
    expect(due?.entries.sequences).toEqual([1]);
    await post(due ?? batch(0), SILENT);
    await post(batch(1, 2), ACCEPTED);
    // It was refused again just now, and is not asked for at once.
    expect(await delivery.suspects.due({ nothingElse: false, withHistory: true })).toBeUndefined();
  });

  it('not when it was only cut, or found the server busy', async () => {
    await post(batch(1), { kind: 'busy', text: 'no answer', cut: true });
    await post(batch(1), { kind: 'busy', status: 504, text: '' });
    expect([delivery.suspects.size, rows()]).toEqual([0, 100]);
  });

  it('and is rejected in the words of the platform', async () => {
    for (const answer of [
      { kind: 'refused', status: 500, text: 'cannot parse' } as const,
      { kind: 'too-large', status: 413 } as const,
      SILENT,
    ]) {
      answers = [];
      for (let round = 0; round < 3; round += 1) {
        if (answer === SILENT) {
          await post(batch(1, 7, 'x'.repeat(500)), { kind: 'busy', status: 500, text: '' });
          for (const other of [8, 9, 10]) await post(batch(1, other), ACCEPTED);
        }
        await post(batch(1, 7, 'x'.repeat(500)), answer);
        await post(batch(1, 8), ACCEPTED);
        await clock.advance(600_000);
      }
    }
    expect(rejected).toEqual(['500 cannot parse', '413 too large', '500 without a reason']);
  });

  it('is not rejected for its size when something as large was taken', async () => {
    await post(batch(1, 7, 'x'.repeat(500)), ACCEPTED);
    for (let round = 0; round < 5; round += 1) {
      await post(batch(1, 8, 'y'.repeat(500)), { kind: 'too-large', status: 413 });
      await post(batch(1, 9), ACCEPTED);
      await clock.advance(600_000);
    }
    expect(rejected).toEqual([]);
    for (let round = 0; round < 3; round += 1) {
      await post(batch(1, 10, 'y'.repeat(501)), { kind: 'too-large', status: 413 });
      await post(batch(1, 9), ACCEPTED);
      await clock.advance(600_000);
    }
    expect(rejected).toEqual(['413 too large']);
  });

  it('and begins anew when a batch that was refused is taken in parts', async () => {
    const refused: UploadAnswer = { kind: 'refused', status: 500, text: 'bad' };
    for (let round = 0; round < 4; round += 1) {
      await post(batch(1), refused);
      await post(batch(1, 50), ACCEPTED);
      await post(batch(4, 100), refused);
      await post(batch(2, 100), ACCEPTED);
      await post(batch(2, 102), ACCEPTED);
      await clock.advance(600_000);
    }
    expect(rejected).toEqual([]);
  });
});
