import { describe, expect, it } from 'vitest';
import {
  type AppendedValue,
  judgeDelivery,
  lastPause,
  type ShownValue,
  type StoredValue,
} from '../../../scripts/demo/delivery-verdict.ts';

const OFFSET = 1_700_000_000_000;

/** Ten readings a second apart that the board showed, the agent appended and the platform stored. */
function given() {
  const shown: ShownValue[] = Array.from({ length: 10 }, (_, n) => ({ key: 'door', value: n, monotonicMs: 1_000 * n }));
  const appended: AppendedValue[] = shown.map((one) => ({ ...one, monotonicMs: one.monotonicMs + 30, life: 'a' }));
  const stored: StoredValue[] = appended.map(({ value, monotonicMs }) => ({ value, ts: OFFSET + monotonicMs }));
  const judge = () => judgeDelivery({ shown, appended, stored: new Map([['door', stored]]), wallOffsetMs: OFFSET });
  return { shown, appended, stored, judge };
}

describe('the verdict over a demo', () => {
  it('finds nothing in a run that lost nothing', () => {
    expect(given().judge()).toEqual({ appended: 10, stored: 10, missing: 0, different: 0, faults: [] });
  });

  it('finds a durable entry that the platform does not have', () => {
    const { stored, appended, shown, judge } = given();
    stored.splice(9, 1);
    shown.splice(9, 1);
    expect(judge()).toMatchObject({ missing: 1, different: 0 });
    appended.splice(9, 1);
    expect(judge()).toMatchObject({ missing: 0 });
  });

  it('finds another value at the time of an entry', () => {
    const { stored, judge } = given();
    stored[9] = { ts: stored[9]?.ts ?? 0, value: 99 };
    expect(judge()).toMatchObject({ missing: 0, different: 1 });
  });

  it('finds an entry with the wrong time', () => {
    const { stored, judge } = given();
    stored[9] = { ts: (stored[9]?.ts ?? 0) + 5_000, value: 9 };
    expect(judge()).toMatchObject({ missing: 1, different: 1 });
  });

  it('finds a value that the board showed and the agent lost before it became durable', () => {
    const { stored, appended, judge } = given();
    appended.splice(5, 1);
    stored.splice(5, 1);
    expect(judge()).toMatchObject({ missing: 1, different: 0 });
  });

  it('does not ask for what was shown while no agent lived', () => {
    const { stored, appended, judge } = given();
    appended.splice(4, 3);
    stored.splice(4, 3);
    for (const [at, entry] of appended.entries())
      appended[at] = { ...entry, life: entry.monotonicMs < 5_000 ? 'a' : 'b' };
    expect(judge()).toMatchObject({ missing: 0, different: 0 });
  });

  it('takes an entry that was durable before a kill, though nobody was told, for what it is', () => {
    const { appended, judge } = given();
    appended.splice(9, 1);
    expect(judge()).toMatchObject({ missing: 0, different: 0 });
  });

  it('finds a value at the platform that the board never showed', () => {
    const { stored, judge } = given();
    stored.push({ ts: OFFSET + 9_500, value: 12 });
    expect(judge()).toMatchObject({ missing: 0, different: 1 });
  });

  it('allows for a clock that was slewed during the run, and for no more than that', () => {
    const { shown, appended, stored } = given();
    const slewed = stored.map(({ ts, value }, n) => ({ value, ts: ts - 6 * n }));
    const judge = (offsetMovedMs: number) =>
      judgeDelivery({ shown, appended, stored: new Map([['door', slewed]]), wallOffsetMs: OFFSET, offsetMovedMs });
    expect(judge(54)).toMatchObject({ missing: 0, different: 0 });
    expect(judge(0)).toMatchObject({ missing: 6 });
  });

  it('cuts a run only where no rounded time can fall on the wrong side', () => {
    const at = (...times: number[]): AppendedValue[] =>
      times.map((monotonicMs) => ({ key: 'door', value: 1, monotonicMs, life: 'a' }));
    expect(lastPause(at(1_500, 0, 1_501, 1_000))).toBe(1_250);
    expect(() => lastPause(at(0, 10, 20))).toThrow('no two durable entries are 80 ms apart');
  });
});
