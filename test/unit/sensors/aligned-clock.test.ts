/** Reads at whole multiples of UTC, where the wall clock steps meanwhile: as at each boot of a board without a clock of its own. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/host/log.ts';
import type { Sample } from '../../../src/sensors/kind/sensor.ts';
import { Sampler, type SamplerEntry } from '../../../src/sensors/sampler.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const [SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS] = [1_000, 60_000, 3_600_000, 86_400_000];
/** Within this time it is seen that the clock stepped. */
const SEEN_MS = 10 * SECOND_MS;
const never = new AbortController().signal;

interface Read {
  readonly atMs: number;
  readonly wallMs: number;
}

function start(wallMs: number, more: Partial<SamplerEntry>, clock = new FakeClock({ wallMs })) {
  const reads: Read[] = [];
  const samples: Sample[] = [];
  const read = async () => {
    reads.push({ atMs: clock.monotonicMs(), wallMs: clock.wallMs() });
    return [{ key: 'kWh', value: 1 }];
  };
  const open: SamplerEntry['open'] = async () => ({ name: 'meter', read, close: async () => {} });
  const entry = {
    name: 'meter',
    kind: 'test',
    periodMs: HOUR_MS,
    deadlineMs: 500,
    align: true,
    revision: '1',
    open,
    ...more,
  };
  const sampler = new Sampler({ clock, log: silentLog, onSamples: (taken) => samples.push(...taken) }, [entry]);
  sampler.start(never);
  const missed = () => sampler.states()[0]?.missed;
  const times = () => reads.map((one) => new Date(one.wallMs).toISOString().slice(5, 19));
  return { clock, reads, samples, sampler, missed, times };
}

/** Sets the clock to that time, after so many seconds; then three periods pass. */
async function readsWithStep(
  was: string,
  afterS: number,
  becomes: string,
  periodMs: number,
): Promise<readonly unknown[]> {
  const { clock, missed, times, sampler } = start(Date.parse(`2026-${was}Z`), { periodMs });
  await clock.advance(afterS * SECOND_MS);
  clock.stepWall(Date.parse(`2026-${becomes}Z`) - clock.wallMs());
  await clock.advance(2.4 * periodMs);
  await sampler.close();
  return [times(), missed()];
}

describe('an aligned sensor, where the clock', () => {
  it.each<readonly [string, Parameters<typeof readsWithStep>, readonly string[], number]>([
    [
      'is set forward',
      ['11-23T03:05:00', 20, '11-23T09:50:00', HOUR_MS],
      ['11-23T10:00:00', '11-23T11:00:00', '11-23T12:00:00'],
      0,
    ],
    [
      'is set to the next day',
      ['11-20T03:20:00', 20, '11-23T23:30:00', DAY_MS],
      ['11-24T00:00:00', '11-25T00:00:00', '11-26T00:00:00'],
      0,
    ],
    ['is set back', ['11-23T03:59:00', 20, '11-23T02:30:00', HOUR_MS], ['11-23T03:00:00', '11-23T04:00:00'], 0],
    [
      'is set to a point, which is seen too late',
      ['11-23T03:05:00', 25, '11-23T04:00:00', HOUR_MS],
      ['11-23T05:00:00', '11-23T06:00:00'],
      1,
    ],
    [
      'is set forward past a point by a second',
      ['11-23T03:59:50', 9, '11-23T04:00:01', HOUR_MS],
      ['11-23T05:00:00', '11-23T06:00:00'],
      1,
    ],
    [
      'is set past a point by nothing to speak of',
      ['11-23T03:59:58.900', 1, '11-23T04:00:00.300', HOUR_MS],
      ['11-23T04:00:00', '11-23T05:00:00', '11-23T06:00:00'],
      0,
    ],
    [
      'is set back by little after a read',
      ['11-23T03:59:50', 15, '11-23T03:59:50', HOUR_MS],
      ['11-23T04:00:00', '11-23T05:00:00', '11-23T06:00:00'],
      0,
    ],
    [
      'is set back by much after a read',
      ['11-23T03:59:50', 15, '11-23T03:20:00', HOUR_MS],
      ['11-23T04:00:00', '11-23T04:00:00', '11-23T05:00:00'],
      0,
    ],
  ])('%s', async (_how, step, reads, missed) => {
    expect(await readsWithStep(...step)).toEqual([reads, missed]);
  });

  const lives = fc.record({
    periodMs: fc.constantFrom(SECOND_MS, 7 * SECOND_MS, 10 * SECOND_MS, MINUTE_MS, 15 * MINUTE_MS),
    phaseMs: fc.integer({ min: 0, max: HOUR_MS }),
    steps: fc.array(
      fc.record({
        afterMs: fc.oneof(fc.integer({ min: SEEN_MS, max: MINUTE_MS }), fc.integer({ min: SEEN_MS, max: HOUR_MS })),
        byMs: fc.oneof(
          fc.integer({ min: -700, max: 700 }),
          fc.integer({ min: -20 * SECOND_MS, max: 20 * SECOND_MS }),
          fc.integer({ min: -2 * HOUR_MS, max: 2 * DAY_MS }),
        ),
      }),
      { minLength: 1, maxLength: 5 },
    ),
  });

  it('steps at random, is read at each point that came after the step was seen, at no other time, and a point that was left out is counted', async () => {
    await fc.assert(
      fc.asyncProperty(lives, async ({ periodMs, phaseMs, steps }) => {
        const { clock, reads, missed, sampler } = start(Date.UTC(2026, 0, 1) + phaseMs, { periodMs });
        const lateMs = Math.min(500, periodMs / 2);
        const points: { readonly atMs: number; readonly isSeen: boolean }[] = [];
        for (const { afterMs, byMs } of [{ afterMs: 0, byMs: 0 }, ...steps]) {
          await clock.advance(afterMs);
          clock.stepWall(byMs);
          const [beganMs, offsetMs] = [clock.monotonicMs(), clock.wallMs() - clock.monotonicMs()];
          const waitMs = SEEN_MS + periodMs * 2.5;
          await clock.advance(waitMs);
          for (
            let pointMs = Math.ceil((beganMs + offsetMs + 3) / periodMs) * periodMs - offsetMs;
            pointMs < beganMs + waitMs - 3;
            pointMs += periodMs
          )
            points.push({ atMs: pointMs, isSeen: pointMs > beganMs + SEEN_MS });
        }
        expect(
          reads.map(({ wallMs }) => wallMs % periodMs).filter((offMs) => offMs > lateMs && offMs < periodMs - 2),
        ).toEqual([]);
        const unread = points.filter(
          ({ atMs }) => !reads.some((read) => read.atMs > atMs - periodMs / 2 - 1 && read.atMs <= atMs + lateMs),
        );
        expect(unread.filter(({ isSeen }) => isSeen)).toEqual([]);
        expect(missed()).toBeGreaterThanOrEqual(unread.length);
        expect(missed()).toBeLessThanOrEqual(steps.length);
        await sampler.close();
      }),
      { numRuns: 150 },
    );
  });
});

describe('a window of an aligned sensor, where the clock', () => {
  it.each<readonly [string, number, number, readonly unknown[]]>([
    ['is set past a point', 5 * MINUTE_MS - 1_000, 3_000, [10, '9', 10]],
    ['is set back to before a point that was read', 5 * MINUTE_MS + 1_000, -3_000, [10, 10, 10]],
  ])('%s', async (_how, atMs, stepMs, counts) => {
    const window = { lengthMs: 10 * MINUTE_MS, statistics: ['count'] } as const;
    const { clock, samples, sampler } = start(Date.UTC(2026, 0, 1) - 20 * MINUTE_MS - 1_000, {
      periodMs: MINUTE_MS,
      window,
    });
    await clock.advance(20 * MINUTE_MS + 1_000 + atMs);
    clock.stepWall(stepMs);
    await clock.advance(20 * MINUTE_MS - atMs + 5_000);
    expect(samples.slice(1).map(({ value, isPart }) => (isPart === true ? `${value}` : value))).toEqual(counts);
    await sampler.close();
  });
});

it('is read at the point, where a look at the clock falls a moment before it', async () => {
  const { clock, reads, sampler } = start(Date.UTC(2026, 0, 1) - 2, { periodMs: MINUTE_MS });
  await clock.advance(5 * MINUTE_MS);
  expect(reads.map(({ wallMs }) => wallMs % MINUTE_MS)).toEqual([0, 0, 0, 0]);
  await sampler.close();
});

it('comes late by half a period at most, where that is short', async () => {
  const { clock, reads, sampler } = start(Date.UTC(2026, 0, 1), { periodMs: 100, deadlineMs: 50 });
  await clock.advance(1_030);
  clock.stepWall(70);
  await clock.advance(1_000);
  expect(reads.map(({ wallMs }) => wallMs % 100).filter((offMs) => offMs > 0)).toEqual([]);
  await sampler.close();
});

it('waits for its point, though it was to be read at once before it was aligned', async () => {
  const { clock, reads, sampler } = start(Date.UTC(2026, 0, 1, 1, 5), { align: false });
  await clock.advance(10);
  const open: SamplerEntry['open'] = () => expect.fail();
  const entry = { name: 'meter', kind: 'test', periodMs: HOUR_MS, deadlineMs: 500, align: false, revision: '1', open };
  await Promise.all(
    [{ use: 'another' }, { use: 'another', align: true }].map((more) => sampler.configure([{ ...entry, ...more }])),
  );
  await clock.advance(HOUR_MS);
  expect(reads.map(({ wallMs }) => new Date(wallMs).toISOString().slice(11, 16))).toEqual(['01:05', '02:00']);
  await sampler.close();
});

it('is read once when a suspension ends, for the first point within, and the others are counted', async () => {
  let [lateMs, timers] = [0, 0];
  class LateClock extends FakeClock {
    override after(ms: number, callback: () => void): () => void {
      timers += 1;
      return super.after(Math.max(ms, lateMs), callback);
    }
  }
  const { clock, times, missed, sampler } = start(0, {}, new LateClock({ wallMs: Date.UTC(2026, 0, 1, 1, 5) }));
  await clock.advance(100_000);
  lateMs = 8.2 * HOUR_MS;
  await clock.advance(SECOND_MS * 10);
  [lateMs, timers] = [0, 0];
  await clock.advance(9 * HOUR_MS);
  expect([times(), missed()]).toEqual([['01-01T09:18:50', '01-01T10:00:00'], 7]);
  expect(timers).toBeLessThan(400);
  await sampler.close();
});

it('waits for hours with one timer at a time, and leaves none behind', async () => {
  const { clock, sampler } = start(Date.UTC(2026, 0, 1, 1), { periodMs: DAY_MS });
  await clock.advance(5 * HOUR_MS);
  expect(clock.pending).toBe(1);
  await sampler.close();
  expect(clock.pending).toBe(0);
});
