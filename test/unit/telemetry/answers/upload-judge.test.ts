/** What each answer to a post says about the size of posts and about single entries. */
import { beforeEach, describe, expect, it } from 'vitest';
import { silentLog } from '../../../../src/host/log.ts';
import type { DeadLetterRefusal } from '../../../../src/outbox/delivery/dead-letters.ts';
import type { OutboxBatch } from '../../../../src/outbox/delivery/outbox-batch.ts';
import { EntryColumns, type ResolvedEntry } from '../../../../src/outbox/format/entry-columns.ts';
import type { UploadAnswer } from '../../../../src/platform/device-api.ts';
import { UploadJudge } from '../../../../src/telemetry/answers/upload-judge.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const CONFIGURED = { maxEntries: 100, maxBytes: 100_000 };
const ACCEPTED: UploadAnswer = { kind: 'accepted' };
const SILENT: UploadAnswer = { kind: 'busy', status: 500, text: '' };
const never = new AbortController().signal;
const LETTER = 7_777;

let answers: UploadAnswer[];
let quarantined: Set<number>;
let judge: UploadJudge;
let clock: FakeClock;
let rejected: string[];
let buried: string[];
let postponed: DeadLetterRefusal[];
let hurried: number;
let letterIsDue: boolean;
let diskTakes: boolean;

beforeEach(() => {
  answers = [];
  quarantined = new Set();
  [rejected, buried, postponed, hurried, letterIsDue, diskTakes] = [[], [], [], 0, false, true];
  clock = new FakeClock();
  judge = new UploadJudge({
    clock,
    log: silentLog,
    postTelemetry: async () => answers.shift() ?? expect.fail('one post too many'),
    outbox: {
      quarantined: {
        add: (sequence) => void quarantined.add(sequence),
        putBack: (sequence) => void quarantined.delete(sequence),
        isWaiting: () => true,
      },
      reject: async (_entry, answer) => void rejected.push(answer),
      deadLetter: async (_rows, answer) => {
        if (!diskTakes) throw new Error('EIO');
        buried.push(answer);
      },
      deadLetters: {
        size: 0,
        next: () => (letterIsDue ? { ...batch(1, LETTER), isDeadLetter: true } : undefined),
        refused: async (_sequence, refusal) => void postponed.push(refusal),
        hurry: () => {
          hurried += 1;
        },
      },
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
  expect(await judge.deliver(what, signal)).toBe(answer);
}

const rows = (): number => judge.size.within(CONFIGURED).maxEntries;

it('nothing is posted of a batch without entries, and nothing is judged by it', async () => {
  await post(batch(1), { kind: 'refused', status: 400, text: 'no' });
  for (let times = 0; times < 3; times += 1) expect(await judge.deliver(batch(0), never)).toEqual({ kind: 'kept' });
  expect(alone()).toBeUndefined();
  expect([buried, rejected, [...quarantined]]).toEqual([[], [], [1]]);
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
    expect([rows(), judge.quarantine.size]).toEqual([20, 0]);
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
    expect(tried.slice(0, 8)).toEqual([100, 100, 50, 25, 37, 25, 25, 31]);
    expect(tried.slice(20).filter((sent) => sent > 30).length).toBeLessThanOrEqual(4);
  });

  it.each<[string, UploadAnswer]>([
    ['500 with a page', { kind: 'busy', status: 500, text: '<html>' }],
    ['no network', { kind: 'busy', text: 'no route' }],
    ['401', { kind: 'unauthorised', status: 401, text: '' }],
    ['a portal', { kind: 'portal', status: 302 }],
  ])('not after %s, however often', async (_name, answer) => {
    for (let time = 0; time < 4; time += 1) await post(batch(40), answer);
    await post(batch(1), answer);
    expect([rows(), judge.quarantine.size]).toEqual([100, 0]);
  });

  it.each([503, 429])(
    'after %i while more goes than was taken before, and no single entry is in doubt',
    async (status) => {
      const answer: UploadAnswer = { kind: 'busy', status, text: '' };
      await post(batch(10), ACCEPTED);
      for (const next of [20, 10]) {
        await post(batch(next * 2), answer);
        await post(batch(next * 2), answer);
        expect(rows()).toBe(next);
      }
      await post(batch(10), answer);
      for (let time = 0; time < 4; time += 1) await post(batch(1), answer);
      expect([rows(), judge.quarantine.size]).toEqual([100, 0]);
    },
  );

  it('not of what the agent itself ended', async () => {
    const stop = new AbortController();
    stop.abort();
    await post(batch(40), { kind: 'busy', text: 'ended', cut: true }, stop.signal);
    expect(rows()).toBe(100);
  });
});

describe('a single entry makes way', () => {
  it.each<[string, UploadAnswer]>([
    ['refused', { kind: 'refused', status: 500, text: 'bad' }],
    ['too large', { kind: 'too-large', status: 413 }],
    ['not answered in time', { kind: 'busy', text: 'no answer', cut: true }],
    ['held up by a gateway', { kind: 'busy', status: 504, text: '' }],
  ])('when it is %s', async (_name, answer) => {
    await post(batch(1), answer);
    expect([[...quarantined], judge.quarantine.size, rows()]).toEqual([[1], 1, 100]);
  });

  it('at the second empty 500, where nothing was accepted yet', async () => {
    await post(batch(1), SILENT);
    expect(judge.quarantine.size).toBe(0);
    await post(batch(1), SILENT);
    expect(judge.quarantine.size).toBe(1);
  });

  it.each<[string, UploadAnswer]>([
    ['500 cannot parse', { kind: 'refused', status: 500, text: 'cannot parse' }],
    ['413 too large', { kind: 'too-large', status: 413 }],
    ['no answer in time', { kind: 'busy', status: 408, text: '' }],
  ])('and is a dead letter, with the words "%s", when others are accepted and it fails again', async (text, answer) => {
    for (let times = 0; times < 3; times += 1) await post(batch(1), answer);
    expect(buried).toEqual([]);
    await post(batch(1, 8), ACCEPTED);
    expect(alone()?.entries.sequences).toEqual([1]);
    await post(batch(1), answer);
    expect([buried, judge.quarantine.size, rejected]).toEqual([[text], 0, []]);
  });

  it('and is a dead letter by empty 500s no sooner than time did not help', async () => {
    await post(batch(1), SILENT);
    await post(batch(1), SILENT);
    await post(batch(1, 8), ACCEPTED);
    await post(batch(1), SILENT);
    expect(buried).toEqual([]);
    for (let tries = 0; tries < 6; tries += 1) {
      await clock.advance(15_000);
      await post(batch(1), SILENT);
    }
    expect(buried[0]).toBe('500 without a reason');
  });

  it('and is back in its lane with all others when it is accepted; dead letters are due then', async () => {
    for (const from of [1, 2]) await post(batch(1, from), { kind: 'refused', status: 400, text: 'no' });
    await post(batch(1, 8), ACCEPTED);
    expect(hurried).toBe(0);
    await post(batch(1), ACCEPTED);
    expect([[...quarantined], judge.quarantine.size, hurried]).toEqual([[], 0, 1]);
  });

  it('and stays while the disk does not take it as a dead letter', async () => {
    const refused: UploadAnswer = { kind: 'refused', status: 400, text: 'no' };
    diskTakes = false;
    await post(batch(1), refused);
    await post(batch(1, 8), ACCEPTED);
    await post(batch(1), refused);
    await post(batch(1, 8), ACCEPTED);
    expect(judge.quarantine.size).toBe(1);
    diskTakes = true;
    expect(alone()?.entries.sequences).toEqual([1]);
    await post(batch(1), refused);
    expect([buried, judge.quarantine.size]).toEqual([['400 no'], 0]);
  });
});

describe('a dead letter', () => {
  const refused: UploadAnswer = { kind: 'refused', status: 400, text: 'no' };
  const letter: OutboxBatch = { ...batch(1, LETTER), isDeadLetter: true };
  beforeEach(() => {
    letterIsDue = true;
  });

  it('is asked for after others were accepted, ten seconds after one was refused, and not at a stop', async () => {
    expect(alone()).toBeUndefined();
    await post(batch(1), ACCEPTED);
    expect(alone({ withDeadLetters: false })).toBeUndefined();
    expect(alone()?.isDeadLetter).toBe(true);
    await post(letter, refused);
    await post(batch(1), ACCEPTED);
    await clock.advance(9_999);
    expect(alone()).toBeUndefined();
    await clock.advance(1);
    expect(alone()?.isDeadLetter).toBe(true);
  });

  it('that is refused is refused for good only when others were accepted before it', async () => {
    expect(alone({ nothingElse: true })?.isDeadLetter).toBe(true);
    await post(letter, refused);
    await post(batch(1), ACCEPTED);
    await clock.advance(10_000);
    alone({ nothingElse: true });
    await post(letter, { kind: 'too-large', status: 413 });
    await post(letter, { kind: 'busy', status: 503, text: '' });
    expect(postponed).toEqual([
      { answer: '400 no', othersPass: false },
      { answer: '413 too large', othersPass: true },
    ]);
  });

  it('that is accepted shows that the platform was at fault: the others are due', async () => {
    await post(letter, ACCEPTED);
    expect([hurried, alone()]).toEqual([1, undefined]);
  });

  it('that the client would not send any more is refused', async () => {
    await post(letter, { kind: 'refused', status: 0, text: 'lost', unsendable: [{ row: 0, reason: 'lost' }] });
    expect([postponed.length, rejected]).toEqual([1, []]);
  });
});

function alone(
  options: { readonly nothingElse?: boolean; readonly withDeadLetters?: boolean } = {},
): OutboxBatch | undefined {
  return judge.nextAlone({ nothingElse: false, withHistory: true, withDeadLetters: true, ...options });
}
