import { describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/host/log.ts';
import type { Lane } from '../../../src/outbox/delivery/outbox-batch.ts';
import { EntryColumns, type ResolvedEntry } from '../../../src/outbox/format/entry-columns.ts';
import type { UploadAnswer } from '../../../src/platform/device-api.ts';
import { Uploader, type UploadSettings } from '../../../src/telemetry/uploader.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { recordsOf, type TelemetryRecord } from '../../support/telemetry-rows.ts';

const BUSY: UploadAnswer = { kind: 'busy', status: 503, text: '' };

const unexpected = (): never => expect.fail('nothing is refused here');

type Lanes = Record<Lane, ResolvedEntry[][]>;

function entry(seq: number, key = `k${seq}`, ts = 1_000 + seq): ResolvedEntry {
  return { sequence: seq, device: 'self', key, value: seq, ts, class: 'regular' };
}

/** An uploader over lanes of ready batches, and a platform that answers as told. */
function given(
  lanes: Partial<Lanes>,
  answer: (records: readonly TelemetryRecord[], attempt: number) => UploadAnswer,
  settings: Partial<UploadSettings> = {},
) {
  const clock = new FakeClock();
  const left: Lanes = { alarm: [], live: [], backlog: [], ...lanes };
  const posts: TelemetryRecord[][] = [];
  const prepared: string[] = [];
  const acknowledged: string[] = [];
  const link = { history: true, waits: false };
  const listeners = new Set<() => void>();
  const uploader = new Uploader({
    clock,
    log: silentLog,
    settings: () => ({ maxBatchBytes: 1e6, maxBatchEntries: 100, intervalMs: 0, ...settings }),
    link: () => ({ history: link.history, present: true }),
    prepareTelemetry: (rows) => {
      if (rows.keys.includes('unspeakable')) throw new Error('no JSON for it');
      prepared.push(...rows.keys);
    },
    postTelemetry: async (rows) => {
      const records = recordsOf(rows);
      posts.push(records);
      return answer(records, posts.length);
    },
    outbox: {
      peek: async (lane, _limits, beyond) => {
        const first = left[lane].find((entries) => entries[0]?.sequence !== beyond?.entries.sequences[0]);
        return first === undefined ? undefined : { lane, entries: EntryColumns.of(first), ranges: [], bytes: 0 };
      },
      acknowledge: async (batch) => {
        acknowledged.push(`${batch.lane}:${batch.entries.sequences.join(',')}`);
        left[batch.lane].shift();
      },
      isStillLooking: () => false,
      waitsForTime: () => link.waits,
      reject: unexpected,
      deadLetter: unexpected,
      deadLetters: undefined,
      quarantined: { add: unexpected, putBack: unexpected, isWaiting: unexpected },
      onAppended: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
  });
  return {
    clock,
    left,
    posts,
    prepared,
    acknowledged,
    link,
    uploader,
    appended: () => {
      for (const listener of listeners) listener();
    },
    signal: new AbortController().signal,
  };
}

describe('the uploader', () => {
  it('sends alarms first, then the present, then history', async () => {
    const { uploader, acknowledged, signal } = given(
      { backlog: [[entry(1)]], live: [[entry(2)]], alarm: [[entry(3)]] },
      () => ({
        kind: 'accepted',
      }),
    );
    await uploader.drain(signal);
    expect(acknowledged).toEqual(['alarm:3', 'live:2', 'backlog:1']);
  });

  it('acknowledges nothing that the platform did not accept, and sends it again after a backoff', async () => {
    const { uploader, acknowledged, signal } = given({ live: [[entry(1)]] }, (_records, attempt) =>
      attempt < 3 ? BUSY : { kind: 'accepted' },
    );
    expect(await uploader.uploadNextBatch(signal)).toBeCloseTo(550);
    expect(await uploader.uploadNextBatch(signal)).toBeCloseTo(1_100);
    expect(acknowledged).toEqual([]);
    expect(uploader.state).toMatchObject({ state: 'backing-off', failures: 2 });
    await uploader.uploadNextBatch(signal);
    expect(acknowledged).toEqual(['live:1']);
    expect(uploader.state).toMatchObject({ state: 'sending', failures: 0, acknowledgedEntries: 1 });
    expect(uploader.state.reason).toBeUndefined();
  });

  it('waits as long as the server asks, and says until when', async () => {
    const { uploader, clock, signal } = given({ live: [[entry(1)]] }, (_records, attempt) =>
      attempt < 2 ? { ...BUSY, retryAfterMs: 20_000 } : { kind: 'accepted' },
    );
    expect(await uploader.uploadNextBatch(signal)).toBe(22_500);
    expect(uploader.state.triesAgainAtMs).toBe(clock.monotonicMs() + 22_500);
    await uploader.uploadNextBatch(signal);
    expect(uploader.state.triesAgainAtMs).toBeUndefined();
  });

  it.each([
    [{ kind: 'unauthorised', status: 401, text: '' } as const, /access token/],
    [{ kind: 'portal', status: 302 } as const, /login page/],
  ])('holds on %o and says why', async (answer, reason) => {
    const { uploader, signal } = given({ live: [[entry(1)]] }, () => answer);
    expect(await uploader.uploadNextBatch(signal)).toBeGreaterThan(10_000);
    expect(uploader.state.state).toBe('held');
    expect(uploader.state.reason).toMatch(reason);
  });

  it('lets an alarm go before history that was read ahead, and sends that history once', async () => {
    const { uploader, left, posts, prepared, acknowledged, signal } = given(
      { backlog: [[entry(1)], [entry(2)]] },
      () => ({
        kind: 'accepted',
      }),
    );
    await uploader.uploadNextBatch(signal);
    expect(prepared).toEqual(['k2']);
    left.alarm.push([entry(3)]);
    await uploader.drain(signal);
    expect(acknowledged).toEqual(['backlog:1', 'alarm:3', 'backlog:2']);
    expect(posts).toHaveLength(3);
  });

  it('meets a fault of what it read ahead no sooner than it sends it', async () => {
    const { uploader, posts, acknowledged, signal } = given(
      { backlog: [[entry(1)], [entry(2, 'unspeakable')]] },
      () => ({
        kind: 'accepted',
      }),
    );
    await uploader.uploadNextBatch(signal);
    expect([acknowledged, posts.length]).toEqual([['backlog:1'], 1]);
    await uploader.drain(signal);
    expect(acknowledged).toEqual(['backlog:1', 'backlog:2']);
  });

  it('sends all of the present at a stop, whatever the interval', async () => {
    const lanes = { live: [[entry(1)], [entry(2)], [entry(3)]] };
    const { uploader, acknowledged, signal } = given(lanes, () => ({ kind: 'accepted' }), { intervalMs: 60_000 });
    await uploader.drain(signal);
    expect(acknowledged).toEqual(['live:1', 'live:2', 'live:3']);
  });

  it('spaces live uploads by the interval, and alarms not at all', async () => {
    const { uploader, left, acknowledged, clock, signal } = given(
      { live: [[entry(1)], [entry(2)]] },
      () => ({ kind: 'accepted' }),
      {
        intervalMs: 60_000,
      },
    );
    await uploader.uploadNextBatch(signal);
    left.alarm.push([entry(3)]);
    await uploader.uploadNextBatch(signal);
    await uploader.uploadNextBatch(signal);
    expect(acknowledged).toEqual(['live:1', 'alarm:3']);
    await clock.advance(60_000);
    await uploader.uploadNextBatch(signal);
    expect(acknowledged.at(-1)).toBe('live:2');
  });

  it('does not let alarms and history put off the next live upload', async () => {
    const { uploader, acknowledged, signal } = given(
      { alarm: [[entry(1)]], backlog: [[entry(3)]], live: [[entry(2)]] },
      () => ({ kind: 'accepted' }),
      { intervalMs: 60_000 },
    );
    for (let post = 0; post < 3; post += 1) await uploader.uploadNextBatch(signal);
    expect(acknowledged).toEqual(['alarm:1', 'live:2', 'backlog:3']);
    expect(await uploader.uploadNextBatch(signal)).toBe(5_000);
  });

  it('looks again when the interval ends, if that is sooner than it would', async () => {
    const { uploader, left, clock, signal } = given({ live: [[entry(1)]] }, () => ({ kind: 'accepted' }), {
      intervalMs: 3_000,
    });
    await uploader.uploadNextBatch(signal);
    left.live.push([entry(2)]);
    expect(await uploader.uploadNextBatch(signal)).toBe(3_000);
    await clock.advance(2_000);
    expect(await uploader.uploadNextBatch(signal)).toBe(1_000);
  });

  it('fills history in at the set rate while the present goes on', async () => {
    const { uploader, left, acknowledged, clock, signal } = given(
      { backlog: [[entry(1), entry(2)], [entry(3)]] },
      () => ({ kind: 'accepted' }),
      { backlogRatePerS: 2 },
    );
    await uploader.uploadNextBatch(signal);
    left.live.push([entry(4)]);
    await uploader.uploadNextBatch(signal);
    await uploader.uploadNextBatch(signal);
    expect(acknowledged).toEqual(['backlog:1,2', 'live:4']);
    await clock.advance(1_000);
    await uploader.uploadNextBatch(signal);
    expect(acknowledged.at(-1)).toBe('backlog:3');
  });

  it('leaves history while the link holds it back, and still sends alarms and the present', async () => {
    const { uploader, link, acknowledged, signal } = given(
      { backlog: [[entry(1)]], live: [[entry(2)]], alarm: [[entry(3)]] },
      () => ({ kind: 'accepted' }),
    );
    link.history = false;
    await uploader.drain(signal);
    expect(acknowledged).toEqual(['alarm:3', 'live:2']);
    link.history = true;
    await uploader.drain(signal);
    expect(acknowledged).toEqual(['alarm:3', 'live:2', 'backlog:1']);
  });

  it('wakes when something is appended, and stops when told', async () => {
    const { uploader, left, acknowledged, appended, clock } = given({}, () => ({ kind: 'accepted' }));
    const stop = new AbortController();
    const running = uploader.run(stop.signal);
    await clock.advance(10);
    left.live.push([entry(1)]);
    appended();
    await clock.advance(0);
    expect(acknowledged).toEqual(['live:1']);
    stop.abort();
    await running;
    expect(clock.pending).toBe(0);
  });

  it('sends at once what was appended while it looked, behind where it had looked', async () => {
    const { uploader, left, acknowledged, appended, clock } = given({}, () => ({ kind: 'accepted' }));
    let looks = 0;
    const backlog = (): readonly never[] => {
      looks += 1;
      if (looks === 1) {
        left.live.push([entry(1)]);
        appended();
      }
      return [];
    };
    Object.defineProperty(left, 'backlog', { get: backlog });
    const stop = new AbortController();
    const running = uploader.run(stop.signal);
    await clock.advance(10);
    expect(acknowledged).toEqual(['live:1']);
    stop.abort();
    await running;
    expect(looks).toBe(2);
  });

  it('is not idle while what is held waits for its time, and sends it as soon as that is known', async () => {
    const { uploader, left, acknowledged, appended, clock, link } = given({}, () => ({ kind: 'accepted' }));
    link.waits = true;
    const stop = new AbortController();
    const running = uploader.run(stop.signal);
    await clock.advance(10);
    expect(uploader.state).toMatchObject({ state: 'backing-off', reason: expect.stringContaining('clock') });
    link.waits = false;
    left.live.push([entry(1)]);
    appended();
    await clock.advance(0);
    expect(acknowledged).toEqual(['live:1']);
    expect(uploader.state).toMatchObject({ state: 'idle' });
    expect(uploader.state.reason).toBeUndefined();
    stop.abort();
    await running;
  });
});
