import { describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/host/log.ts';
import { EntryColumns, type Lane, type ResolvedEntry } from '../../../src/outbox/outbox-batch.ts';
import type { UploadAnswer } from '../../../src/platform/device-api.ts';
import { DailyBudget } from '../../../src/telemetry/daily-budget.ts';
import { Uploader, type UploadSettings } from '../../../src/telemetry/uploader.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { recordsOf, type TelemetryRecord } from '../../support/telemetry-rows.ts';

const BUSY: UploadAnswer = { kind: 'busy', status: 503, text: '' };
const SILENT: UploadAnswer = { kind: 'busy', status: 500, text: '' };
const REFUSED: UploadAnswer = { kind: 'refused', status: 500, text: 'cannot parse' };

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
  const rejected: [number, string][] = [];
  const link = { sent: 0, limit: undefined as number | undefined };
  const listeners = new Set<() => void>();
  const uploader = new Uploader({
    clock,
    log: silentLog,
    random: () => 0.5,
    settings: () => ({ maxBatchBytes: 1e6, maxBatchEntries: 100, intervalMs: 0, ...settings }),
    budget: new DailyBudget({ clock, bytesSent: () => link.sent, limitBytes: () => link.limit }),
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
      reject: async (_batch, { sequence }, text) => {
        rejected.push([sequence, text]);
      },
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
    rejected,
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
    const { uploader, acknowledged, signal } = given({ backlog: [[entry(1)]], live: [[entry(2)]], alarm: [[entry(3)]] }, () => ({
      kind: 'accepted',
    }));
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

  it('waits as long as the server asks', async () => {
    const { uploader, signal } = given({ live: [[entry(1)]] }, () => ({ ...BUSY, retryAfterMs: 20_000 }));
    expect(await uploader.uploadNextBatch(signal)).toBe(20_000);
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

  it.each([REFUSED, { kind: 'too-large', status: 413 } as const])(
    'halves down to the one entry at fault on %o and delivers the rest',
    async (fault) => {
      const bad = 13;
      const all = Array.from({ length: 20 }, (_, seq) => entry(seq));
      const accepted: number[] = [];
      const { uploader, rejected, acknowledged, signal } = given({ live: [all] }, (records) => {
        const seqs = records.flatMap(({ values }) => Object.values(values) as number[]);
        if (seqs.includes(bad)) return fault;
        accepted.push(...seqs);
        return { kind: 'accepted' };
      });
      await uploader.drain(signal);
      expect(rejected).toEqual([[bad, fault.kind === 'refused' ? '500 cannot parse' : '413 too large']]);
      expect(accepted.sort((a, b) => a - b)).toEqual(all.map(({ sequence }) => sequence).filter((seq) => seq !== bad));
      expect(acknowledged).toHaveLength(1);
    },
  );

  it('does not set aside what a platform refuses that takes nothing at all, and sends it once it is well', async () => {
    let ill = true;
    const { uploader, rejected, acknowledged, posts, signal } = given({ live: [Array.from({ length: 50 }, (_, seq) => entry(seq))] }, () =>
      ill ? REFUSED : { kind: 'accepted' },
    );
    for (let round = 0; round < 4; round += 1) await uploader.uploadNextBatch(signal);
    expect([rejected, acknowledged]).toEqual([[], []]);
    expect(posts.length).toBeLessThan(60);
    ill = false;
    await uploader.uploadNextBatch(signal);
    expect([rejected, acknowledged.length]).toEqual([[], 1]);
  });

  it('sets a lone entry aside when the platform insists', async () => {
    const { uploader, rejected, acknowledged, signal } = given({ live: [[entry(1)]] }, () => REFUSED);
    for (let round = 0; round < 5; round += 1) await uploader.uploadNextBatch(signal);
    expect(rejected).toEqual([[1, '500 cannot parse']]);
    expect(acknowledged).toEqual(['live:1']);
  });

  it('does not take a rate limit for a bad entry, however long it lasts', async () => {
    const { uploader, clock, rejected, acknowledged, signal } = given({ live: [[entry(1), entry(2)]] }, (_records, attempt) =>
      attempt <= 40 ? SILENT : { kind: 'accepted' },
    );
    while (acknowledged.length === 0) {
      const [waitMs] = await Promise.all([uploader.uploadNextBatch(signal), clock.advance(120_000)]);
      await clock.advance(waitMs);
    }
    expect(rejected).toEqual([]);
  });

  it('does not take a rate limit of one post a time for a bad entry', async () => {
    let lastMs = Number.NEGATIVE_INFINITY;
    const { uploader, clock, rejected, acknowledged, posts, signal } = given(
      { live: [Array.from({ length: 8 }, (_, seq) => entry(seq))] },
      () => {
        // Lets one post of at most two records through every 500 ms.
        if (clock.monotonicMs() - lastMs < 500 || (posts.at(-1)?.length ?? 0) > 2) return SILENT;
        lastMs = clock.monotonicMs();
        return { kind: 'accepted' };
      },
    );
    for (let round = 0; round < 30 && acknowledged.length === 0; round += 1) {
      const [waitMs] = await Promise.all([uploader.uploadNextBatch(signal), clock.advance(200_000)]);
      await clock.advance(waitMs);
    }
    expect(rejected).toEqual([]);
  });

  it('finds an entry that the platform answers with an empty 500 while others go through', async () => {
    const { uploader, clock, rejected, acknowledged, signal } = given(
      { live: [Array.from({ length: 8 }, (_, seq) => entry(seq))] },
      (records) => (records.some(({ values }) => Object.values(values).includes(5)) ? SILENT : { kind: 'accepted' }),
    );
    for (let round = 0; round < 6 && acknowledged.length === 0; round += 1) {
      const [waitMs] = await Promise.all([uploader.uploadNextBatch(signal), clock.advance(200_000)]);
      await clock.advance(waitMs);
    }
    expect(rejected.map(([sequence]) => sequence)).toEqual([5]);
    expect(acknowledged).toEqual(['live:0,1,2,3,4,5,6,7']);
  });

  it('lets an alarm go before history that was read ahead, and sends that history once', async () => {
    const { uploader, left, posts, prepared, acknowledged, signal } = given({ backlog: [[entry(1)], [entry(2)]] }, () => ({
      kind: 'accepted',
    }));
    await uploader.uploadNextBatch(signal);
    expect(prepared).toEqual(['k2']);
    left.alarm.push([entry(3)]);
    await uploader.drain(signal);
    expect(acknowledged).toEqual(['backlog:1', 'alarm:3', 'backlog:2']);
    expect(posts).toHaveLength(3);
  });

  it('meets a fault of what it read ahead no sooner than it sends it', async () => {
    const { uploader, posts, acknowledged, signal } = given({ backlog: [[entry(1)], [entry(2, 'unspeakable')]] }, () => ({
      kind: 'accepted',
    }));
    await uploader.uploadNextBatch(signal);
    expect([acknowledged, posts.length]).toEqual([['backlog:1'], 1]);
    await uploader.drain(signal);
    expect(acknowledged).toEqual(['backlog:1', 'backlog:2']);
  });

  it('spaces live uploads by the interval, and alarms not at all', async () => {
    const { uploader, left, acknowledged, clock, signal } = given({ live: [[entry(1)], [entry(2)]] }, () => ({ kind: 'accepted' }), {
      intervalMs: 60_000,
    });
    await uploader.uploadNextBatch(signal);
    left.alarm.push([entry(3)]);
    await uploader.uploadNextBatch(signal);
    await uploader.uploadNextBatch(signal);
    expect(acknowledged).toEqual(['live:1', 'alarm:3']);
    await clock.advance(60_000);
    await uploader.uploadNextBatch(signal);
    expect(acknowledged.at(-1)).toBe('live:2');
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

  it('leaves history for tomorrow when the daily budget is spent, and still sends alarms and the present', async () => {
    const { uploader, link, acknowledged, clock, signal } = given(
      { backlog: [[entry(1)]], live: [[entry(2)]], alarm: [[entry(3)]] },
      () => ({ kind: 'accepted' }),
    );
    link.limit = 100;
    link.sent = 100;
    await uploader.drain(signal);
    expect(acknowledged).toEqual(['alarm:3', 'live:2']);
    clock.stepWall(86_400_000);
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
});
