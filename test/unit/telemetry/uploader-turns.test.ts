/** Whose turn it is, what is asked for, and what is said of it: an uploader over lanes in memory, each of whose turns is looked at. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Log } from '../../../src/host/log.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { BatchLimits, Lane, OutboxBatch } from '../../../src/outbox/delivery/outbox-batch.ts';
import { EntryColumns, type ResolvedEntry } from '../../../src/outbox/format/entry-columns.ts';
import type { TelemetryRows, UploadAnswer } from '../../../src/platform/device-api.ts';
import { Uploader, type UploadSettings } from '../../../src/telemetry/uploader.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const ACCEPTED: UploadAnswer = { kind: 'accepted' };
const BUSY: UploadAnswer = { kind: 'busy', status: 503, text: '' };
const REFUSED: UploadAnswer = { kind: 'refused', status: 400, text: 'no' };
const UNAUTHORISED: UploadAnswer = { kind: 'unauthorised', status: 401, text: '' };
/** No test here needs as many; an uploader that asks for ever is to be seen to. */
const MAX_LOOKS = 300;

let clock: FakeClock;
let lanes: Record<Lane, ResolvedEntry[][]>;
let asideSequences: number[];
let letters: ResolvedEntry[][];
let letterIsDue: boolean;
let looks: { readonly lane: Lane; readonly limits: BatchLimits }[];
let posts: string[];
let told: string[];
let prepared: string[];
let counted: number[];
let settings: UploadSettings;
let spent: boolean;
let rejects: boolean;
/** What a post, or a look, waits for. */
let posting: Promise<void>;
let looking: Promise<void>;
let answer: (keys: readonly string[]) => UploadAnswer;
let listeners: Set<() => void>;
let uploader: Uploader;
const { signal } = new AbortController();

function entry(sequence: number, key = `k${sequence}`): ResolvedEntry {
  return { sequence, device: 'self', key, value: sequence, ts: 1_000 + sequence, class: 'regular' };
}

function batchOf(lane: Lane, entries: readonly ResolvedEntry[]): OutboxBatch {
  const ranges = entries.map(({ sequence }) => [sequence, sequence] as const);
  return { lane, entries: EntryColumns.of(entries), ranges, bytes: entries.length * 40 };
}

const isAside = ([first]: readonly ResolvedEntry[]): boolean =>
  first !== undefined && asideSequences.includes(first.sequence);

beforeEach(() => {
  clock = new FakeClock();
  lanes = { alarm: [], live: [], backlog: [] };
  [asideSequences, looks, posts, told, prepared, counted] = [[], [], [], [], [], []];
  [letters, letterIsDue] = [[], true];
  settings = { maxBatchBytes: 50_000, maxBatchEntries: 70, intervalMs: 0 };
  spent = false;
  rejects = false;
  [posting, looking] = [Promise.resolve(), Promise.resolve()];
  answer = () => ACCEPTED;
  listeners = new Set();
  const tell =
    (level: string) =>
    (_details: object, message: string): void =>
      void told.push(`${level}: ${message}`);
  uploader = new Uploader({
    clock,
    log: { ...silentLog, info: tell('info'), warn: tell('warn'), error: tell('error') } as Log,
    settings: () => settings,
    link: () => ({ history: !spent, present: true }),
    prepareTelemetry: (rows: TelemetryRows) => void prepared.push(...rows.keys),
    onAcknowledged: (entries) => void counted.push(entries),
    postTelemetry: async ({ keys }) => {
      posts.push(keys.join('+'));
      await posting;
      return answer(keys);
    },
    outbox: {
      peek: async (lane, limits, beyond) => {
        looks.push({ lane, limits });
        if (looks.length > MAX_LOOKS) throw new Error('it looks for ever');
        await looking;
        const own = lanes[lane].find(
          (entries) => !isAside(entries) && entries[0]?.sequence !== beyond?.entries.sequences[0],
        );
        return own === undefined ? undefined : batchOf(lane, own);
      },
      acknowledge: async ({ entries: { sequences } }) => {
        for (const lane of Object.values(lanes)) {
          const at = lane.findIndex(([first]) => first?.sequence === sequences[0]);
          if (at !== -1) lane.splice(at, 1);
        }
      },
      isStillLooking: () => false,
      waitsForTime: () => false,
      onAppended: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      deadLetter: async ([entry]) => {
        for (const lane of Object.values(lanes)) {
          const at = lane.findIndex(([first]) => first?.sequence === entry?.sequence);
          if (at !== -1) letters.push(...lane.splice(at, 1));
        }
      },
      deadLetters: {
        get size() {
          return letters.length;
        },
        next: ({ withHistory }) => {
          const letter = letterIsDue ? letters.find(([first]) => withHistory || first?.class === 'alarm') : undefined;
          return letter === undefined ? undefined : { ...batchOf('backlog', letter), isDeadLetter: true };
        },
        refused: async () => {},
        hurry: () => {},
      },
      reject: async () => (rejects ? undefined : expect.fail('nothing is rejected here')),
      quarantined: {
        add: (sequence) => void asideSequences.push(sequence),
        putBack: (sequence) => {
          asideSequences = asideSequences.filter((one) => one !== sequence);
        },
        isWaiting: (sequence) =>
          Object.values(lanes)
            .flat()
            .some(([first]) => first?.sequence === sequence),
      },
    },
  });
});

describe('a turn', () => {
  it('asks for as much as is configured', async () => {
    lanes.live.push([entry(1)]);
    expect(await uploader.uploadNextBatch(signal)).toBe(0);
    expect(looks).toEqual([
      { lane: 'alarm', limits: { maxEntries: 70, maxBytes: 50_000 } },
      { lane: 'live', limits: { maxEntries: 70, maxBytes: 50_000 } },
    ]);
  });

  it('looks for no alarm any more when its upload ended while it looked', async () => {
    lanes.live.push([entry(1)]);
    const [post, look] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    posting = post.promise;
    const uploaded = uploader.uploadNextBatch(signal);
    await clock.advance(1_000);
    looking = look.promise;
    await clock.advance(15_000);
    expect(looks).toHaveLength(3);
    post.resolve();
    await uploaded;
    look.resolve();
    await clock.advance(60_000);
    expect(looks).toHaveLength(3);
  });

  it('reads ahead in the backlog only, and reads that once', async () => {
    lanes.live.push([entry(1)], [entry(2)]);
    lanes.backlog.push([entry(3)], [entry(4)], [entry(5)]);
    await uploader.drain(signal);
    expect(posts).toEqual(['k1', 'k2', 'k3', 'k4', 'k5']);
    expect(prepared).toEqual(['k4', 'k5']);
    // One look ahead for each of the three, and one that finds it empty.
    expect(looks.filter(({ lane }) => lane === 'backlog')).toHaveLength(5);
  });

  it('lets the rate of history alone slow history, and no other lane', async () => {
    settings = { ...settings, backlogRatePerS: 1 };
    lanes.alarm.push([entry(1), entry(2)]);
    lanes.live.push([entry(3), entry(4)]);
    lanes.backlog.push([entry(5), entry(6)], [entry(7)]);
    for (let turn = 0; turn < 3; turn += 1) await uploader.uploadNextBatch(signal);
    expect(posts).toEqual(['k1+k2', 'k3+k4', 'k5+k6']);
    expect(await uploader.uploadNextBatch(signal)).toBe(2_000);
    await clock.advance(1_999);
    expect(await uploader.uploadNextBatch(signal)).toBe(1);
    await clock.advance(1);
    expect(await uploader.uploadNextBatch(signal)).toBe(0);
    expect(posts.at(-1)).toBe('k7');
  });

  it('that is ended in the middle of a post says nothing about the platform', async () => {
    lanes.live.push([entry(1)]);
    const stop = new AbortController();
    answer = () => {
      stop.abort();
      return BUSY;
    };
    expect(await uploader.uploadNextBatch(stop.signal)).toBe(0);
    expect([uploader.state, told]).toEqual([{ state: 'idle', failures: 0, acknowledgedEntries: 0 }, []]);
  });

  it('counts what was taken, and when', async () => {
    lanes.live.push([entry(1), entry(2)]);
    lanes.backlog.push([entry(3)]);
    await uploader.drain(signal);
    expect(uploader.state).toEqual({
      state: 'idle',
      failures: 0,
      acknowledgedEntries: 3,
      lastAcknowledgedAtMs: clock.monotonicMs(),
    });
    expect(counted).toEqual([2, 1]);
  });

  it('in which nothing could be sent is no contact: it ends no failure, and is not counted as sent', async () => {
    rejects = true;
    lanes.live.push([entry(1)], [entry(2)]);
    answer = (keys) =>
      keys.includes('k2') ? { kind: 'refused', status: 0, text: 'no', unsendable: [{ row: 0, reason: 'no' }] } : BUSY;
    await uploader.uploadNextBatch(signal);
    const { failures, reason } = uploader.state;
    lanes.live.shift();
    expect(await uploader.uploadNextBatch(signal)).toBe(0);
    expect([posts, lanes.live, counted]).toEqual([['k1', 'k2'], [], []]);
    expect(uploader.state).toMatchObject({ state: 'backing-off', failures, reason, acknowledgedEntries: 0 });
    expect(uploader.state.lastAcknowledgedAtMs).toBeUndefined();
    expect(told.filter((line) => line.startsWith('info'))).toEqual([]);
  });
});

describe('a platform that takes nothing', () => {
  it('is spoken of once for each reason but those of the contact, and once more when it is over', async () => {
    lanes.live.push([entry(1)]);
    const answers = [BUSY, BUSY, UNAUTHORISED, UNAUTHORISED, BUSY, ACCEPTED];
    answer = () => answers[posts.length - 1] ?? ACCEPTED;
    for (const _one of answers) await uploader.uploadNextBatch(signal);
    expect(told.map((one) => one.replace(/ \(.*/, ''))).toEqual([
      'warn: telemetry is kept: the platform is busy',
      'warn: telemetry is kept: the platform is busy',
      'info: the platform takes telemetry again',
    ]);
    lanes.live.push([entry(2)]);
    await uploader.uploadNextBatch(signal);
    expect(told).toHaveLength(3);
  });

  it('ends a drain at once', async () => {
    lanes.live.push([entry(1)]);
    answer = () => BUSY;
    await uploader.drain(signal);
    expect(posts).toEqual(['k1']);
  });

  it('is not asked sooner because something new is there', async () => {
    lanes.live.push([entry(1)]);
    answer = () => BUSY;
    const stop = new AbortController();
    const running = uploader.run(stop.signal);
    await clock.advance(0);
    for (const listener of listeners) listener();
    await clock.advance(500);
    expect(posts).toHaveLength(1);
    await clock.advance(100);
    expect(posts).toHaveLength(2);
    stop.abort();
    await running;
    expect([listeners.size, clock.pending]).toEqual([0, 0]);
  });
});

describe('an uploader at rest', () => {
  it('sends what is appended at once, each time', async () => {
    const stop = new AbortController();
    const running = uploader.run(stop.signal);
    for (const sequence of [1, 2, 3]) {
      await clock.advance(10);
      lanes.live.push([entry(sequence)]);
      for (const listener of listeners) listener();
      await clock.advance(0);
      expect(posts).toHaveLength(sequence);
    }
    stop.abort();
    await running;
  });

  it('looks again by itself, and no more than every few seconds', async () => {
    const stop = new AbortController();
    const running = uploader.run(stop.signal);
    await clock.advance(20_000);
    expect(looks.filter(({ lane }) => lane === 'alarm').length).toBe(5);
    stop.abort();
    await running;
  });
});

describe('an entry that is refused by itself', () => {
  const bad = 'bad';
  beforeEach(() => {
    answer = (keys) => (keys.includes(bad) ? REFUSED : ACCEPTED);
  });

  it('makes way, is spoken of, and is a dead letter when others are accepted and it is refused again', async () => {
    lanes.live.push([entry(1, bad)], [entry(2)]);
    expect(await uploader.uploadNextBatch(signal)).toBe(2_250);
    expect(uploader.state).toMatchObject({
      state: 'backing-off',
      reason: 'the platform refuses (status 400)',
      failures: 1,
    });
    letterIsDue = false;
    for (let turn = 0; turn < 3; turn += 1) await uploader.uploadNextBatch(signal);
    expect([posts, letters.length]).toEqual([['bad', 'k2', 'bad'], 1]);
    expect(uploader.state).toMatchObject({
      state: 'idle',
      reason: '1 entries that the platform did not take are tried again later',
    });
    letterIsDue = true;
    await clock.advance(40_000);
    lanes.live.push([entry(3)], [entry(4)]);
    for (let turn = 0; turn < 3; turn += 1) await uploader.uploadNextBatch(signal);
    expect(posts).toEqual(['bad', 'k2', 'bad', 'bad', 'k3', 'k4']);
  });

  it.each([
    ['alarm', 'is asked for again though the budget of the day is spent', 2],
    ['backlog', 'is not asked for again in a day whose budget is spent', 1],
  ] as const)('and is of the lane %s %s', async (lane, _what, asked) => {
    lanes[lane].push([{ ...entry(1, bad), class: lane === 'alarm' ? 'alarm' : 'regular' }]);
    await uploader.uploadNextBatch(signal);
    spent = true;
    lanes.live.push([entry(2)]);
    for (let turn = 0; turn < 3; turn += 1) await uploader.uploadNextBatch(signal);
    await uploader.drain(signal);
    expect(posts.filter((keys) => keys === bad).length).toBeGreaterThanOrEqual(asked);
    if (asked === 1) expect(posts).toEqual(['bad', 'k2']);
  });

  it('is asked for again when nothing else is there, and no dead letter', async () => {
    lanes.live.push([entry(1, bad)]);
    for (let turn = 0; turn < 4; turn += 1)
      expect(await uploader.uploadNextBatch(signal)).toBeGreaterThanOrEqual(2_000);
    expect([posts, letters]).toEqual([['bad', 'bad', 'bad', 'bad'], []]);
  });

  it('lets another lane show whether the platform is well, though alarm after alarm is refused, the present before history', async () => {
    letterIsDue = false;
    lanes.alarm.push([entry(1, bad)], [entry(2, bad)], [entry(3, bad)]);
    lanes.live.push([entry(4)], [entry(6)]);
    lanes.backlog.push([entry(5)]);
    for (let turn = 0; turn < 4; turn += 1) await uploader.uploadNextBatch(signal);
    expect(posts).toEqual(['bad', 'k4', 'bad', 'k6']);
  });
});

describe('an entry that is not answered by itself', () => {
  it('is spoken of, and nobody says that the platform takes telemetry again when it did not stop', async () => {
    answer = ([key]) => (key === 'slow' ? { kind: 'busy', text: 'no answer', cut: true } : ACCEPTED);
    lanes.backlog.push([entry(1, 'slow')]);
    await uploader.uploadNextBatch(signal);
    spent = true;
    await uploader.uploadNextBatch(signal);
    expect(uploader.state).toMatchObject({
      state: 'idle',
      reason: '1 entries that the platform did not take are tried again later',
    });
    lanes.live.push([entry(3)]);
    await uploader.uploadNextBatch(signal);
    const before = told.length;
    lanes.live.push([entry(4)]);
    await uploader.uploadNextBatch(signal);
    expect([posts, told.slice(before)]).toEqual([['slow', 'k3', 'k4'], []]);
  });

  it('and waits for another day gives no lane a turn before the alarms', async () => {
    answer = () => ({ kind: 'busy', text: 'no answer', cut: true });
    lanes.backlog.push([entry(1)]);
    await uploader.uploadNextBatch(signal);
    answer = () => ACCEPTED;
    spent = true;
    lanes.alarm.push([entry(2)]);
    lanes.live.push([entry(3)]);
    for (let turn = 0; turn < 2; turn += 1) await uploader.uploadNextBatch(signal);
    expect(posts).toEqual(['k1', 'k2', 'k3']);
  });
});
