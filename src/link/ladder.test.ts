/** Months of a metered link, simulated: nothing but alarms passes its limit, and steps are taken and undone one at a time. */
import { describe, expect, it } from 'vitest';
import fc from '../../test/support/seeded-fast-check.ts';
import { periodAt } from './billing-period.ts';
import { forecast } from './forecast.ts';
import { LADDER_BEGIN, type LadderState, manners, nextStep, reserveOf, STEP_EVERY_MS } from './ladder.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const BATCH_BYTES = 256_000;

const load = fc.record({
  monthlyBytes: fc.integer({ min: 5_000_000, max: 200_000_000 }),
  attributeBytes: fc.integer({ min: 0, max: 4_000 }),
  commandBytes: fc.integer({ min: 0, max: 4_000 }),
  presentBytes: fc.integer({ min: 100, max: 40_000 }),
  alarmBytes: fc.integer({ min: 0, max: 2_000 }),
  outages: fc.array(fc.record({ atHour: fc.integer({ min: 0, max: 719 }), hours: fc.integer({ min: 1, max: 96 }) }), {
    maxLength: 6,
  }),
  firmware: fc.record({
    atHour: fc.integer({ min: 0, max: 719 }),
    bytes: fc.integer({ min: 1_000_000, max: 60_000_000 }),
  }),
});
type Load = typeof load extends fc.Arbitrary<infer T> ? T : never;

/** A month in steps of five minutes, as the agent looks before each thing that it sends. */
function month(one: Load) {
  const tickMs = 5 * MINUTE_MS;
  const endsAtMs = 30 * DAY_MS;
  const steps: { readonly taken: number; readonly atMs: number }[] = [];
  let [ladder, used, alarms, backlog, firmwareLeft]: [LadderState, number, number, number, number] = [
    LADDER_BEGIN,
    0,
    0,
    0,
    0,
  ];
  let stepUsed = 0;
  let nowMs = 0;
  const look = () => {
    const seen =
      ladder.taken === 0 ? { bytes: used, ms: nowMs } : { bytes: used - stepUsed, ms: nowMs - ladder.changedAtMs };
    const ahead = forecast({ nowMs, endsAtMs, usedBytes: used, seen }, ladder.taken === 0 ? HOUR_MS : STEP_EVERY_MS);
    const { monthlyBytes } = one;
    const reserveBytes = reserveOf(monthlyBytes, BATCH_BYTES);
    const next = nextStep(ladder, { nowMs, usedBytes: used, monthlyBytes, reserveBytes, forecastBytes: ahead?.bytes });
    if (next.taken !== ladder.taken) {
      stepUsed = used;
      steps.push({ taken: next.taken, atMs: nowMs });
    }
    ladder = next;
    return manners(ladder);
  };
  const wakeTicks = 3;
  for (let tick = 0; nowMs < endsAtMs; tick += 1, nowMs += tickMs) {
    const isOut = one.outages.some(
      ({ atHour, hours }) => nowMs >= atHour * HOUR_MS && nowMs < (atHour + hours) * HOUR_MS,
    );
    if (isOut) {
      backlog += one.presentBytes;
      continue;
    }
    used += one.alarmBytes;
    alarms += one.alarmBytes;
    const isWake = tick % wakeTicks === 0;
    const polls = (how: 'standing' | 'wakes' | 'never') => how === 'standing' || (how === 'wakes' && isWake);
    if (polls(look().attributes)) used += one.attributeBytes;
    if (polls(look().commands)) used += one.commandBytes;
    if (look().present) used += one.presentBytes;
    else backlog += one.presentBytes;
    // As fast as the line is.
    for (let sent = 0; backlog > 0 && sent < 20 && look().history; sent += 1) {
      const bytes = Math.min(backlog, BATCH_BYTES);
      backlog -= bytes;
      used += bytes * 1.1;
    }
    if (
      nowMs === one.firmware.atHour * HOUR_MS &&
      used + one.firmware.bytes <= one.monthlyBytes - reserveOf(one.monthlyBytes, BATCH_BYTES)
    )
      firmwareLeft = one.firmware.bytes;
    for (let sent = 0; firmwareLeft > 0 && sent < 20 && look().present; sent += 1) {
      const bytes = Math.min(firmwareLeft, BATCH_BYTES);
      firmwareLeft -= bytes;
      used += bytes;
    }
  }
  return { used, alarms, steps, ladder };
}

describe('a month with outages and backlogs', () => {
  it('carries nothing beyond its limit, alarms aside', () => {
    fc.assert(
      fc.property(load, (one) => {
        const { used, alarms } = month(one);
        expect(Math.max(0, used - alarms - one.monthlyBytes)).toBe(0);
      }),
      { numRuns: 100 },
    );
  });

  it('takes and undoes steps one at a time, no two within half an hour, but for the end of the month', () => {
    fc.assert(
      fc.property(load, (one) => {
        const { steps } = month(one);
        for (const [at, step] of steps.entries()) {
          const before = steps[at - 1] ?? { taken: 0, atMs: Number.NEGATIVE_INFINITY };
          if (step.taken === 4) continue;
          expect(Math.abs(step.taken - before.taken)).toBe(1);
          expect(step.atMs - before.atMs).toBeGreaterThanOrEqual(STEP_EVERY_MS);
        }
      }),
      { numRuns: 50 },
    );
  });

  it('that suffices leaves everything as it is', () => {
    const calm = {
      monthlyBytes: 50e6,
      attributeBytes: 500,
      commandBytes: 500,
      presentBytes: 2_000,
      alarmBytes: 10,
      outages: [],
    };
    expect(month({ ...calm, firmware: { atHour: 0, bytes: 1e9 } }).steps).toEqual([]);
  });

  it('that would be too short by polls alone keeps sending what is measured', () => {
    const polling = {
      monthlyBytes: 45e6,
      attributeBytes: 3_000,
      commandBytes: 3_000,
      presentBytes: 2_000,
      alarmBytes: 10,
      outages: [],
    };
    const { steps, ladder } = month({ ...polling, firmware: { atHour: 0, bytes: 1e9 } });
    expect(Math.max(...steps.map(({ taken }) => taken))).toBe(2);
    expect(ladder.taken).toBeLessThanOrEqual(2);
  });
});

describe('a step', () => {
  const facts = { nowMs: DAY_MS, usedBytes: 10, monthlyBytes: 100, reserveBytes: 5, forecastBytes: 50 };

  it('is undone when the forecast has been below nine tenths for six hours without a break', () => {
    let state: LadderState = { taken: 2, changedAtMs: 0 };
    state = nextStep(state, facts);
    state = nextStep(state, { ...facts, nowMs: DAY_MS + 5 * HOUR_MS, forecastBytes: 91 });
    state = nextStep(state, { ...facts, nowMs: DAY_MS + 6 * HOUR_MS });
    expect(state.taken).toBe(2);
    expect(nextStep(state, { ...facts, nowMs: DAY_MS + 12 * HOUR_MS - 1 }).taken).toBe(2);
    expect(nextStep(state, { ...facts, nowMs: DAY_MS + 12 * HOUR_MS }).taken).toBe(1);
  });

  it('is the last at once when nothing but the reserve is left', () => {
    expect(nextStep(LADDER_BEGIN, { ...facts, usedBytes: 95, forecastBytes: undefined })).toEqual({
      taken: 4,
      changedAtMs: DAY_MS,
    });
  });

  it('is not held by a clock that was ahead when it was taken', () => {
    const ahead = { taken: 2, changedAtMs: 9 * DAY_MS, lowSinceMs: 9 * DAY_MS };
    const state = nextStep(ahead, facts);
    expect(state).toEqual({ taken: 2, changedAtMs: DAY_MS, lowSinceMs: DAY_MS });
    expect(nextStep(ahead, { ...facts, forecastBytes: undefined })).toEqual(state);
    expect(nextStep(state, { ...facts, nowMs: DAY_MS + 6 * HOUR_MS }).taken).toBe(1);
  });

  it('is not taken on no forecast', () => {
    expect(nextStep(LADDER_BEGIN, { ...facts, forecastBytes: undefined })).toEqual(LADDER_BEGIN);
  });
});

describe('a billing period', () => {
  it.each([
    ['2026-03-01T00:00:00Z', 1, '2026-03-01', '2026-04-01'],
    ['2026-02-27T23:59:59Z', 28, '2026-01-28', '2026-02-28'],
    ['2026-01-03T12:00:00Z', 15, '2025-12-15', '2026-01-15'],
    ['2026-12-15T00:00:00Z', 15, '2026-12-15', '2027-01-15'],
  ])('of %s with reset day %i is %s to %s', (at, resetDay, from, to) => {
    expect(periodAt(Date.parse(at), resetDay)).toEqual({ beginsAtMs: Date.parse(from), endsAtMs: Date.parse(to) });
  });
});

describe('a forecast', () => {
  it('tells when the month is used up, and nothing before an hour is known', () => {
    const facts = {
      nowMs: 10 * DAY_MS,
      endsAtMs: 30 * DAY_MS,
      usedBytes: 20,
      monthlyBytes: 50,
      seen: { bytes: 14, ms: 7 * DAY_MS },
    };
    expect(forecast(facts)).toEqual({ bytes: 60, reachesAtMs: 25 * DAY_MS });
    expect(forecast({ ...facts, monthlyBytes: 61 })).toEqual({ bytes: 60 });
    expect(forecast({ ...facts, seen: { bytes: 14, ms: HOUR_MS - 1 } })).toBeUndefined();
  });
});
