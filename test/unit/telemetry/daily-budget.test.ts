import { describe, expect, it } from 'vitest';
import { DailyBudget, sentTodayFrom } from '../../../src/telemetry/daily-budget.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const DAY_MS = 86_400_000;

function given(
  limitBytes: number | undefined,
  carried?: { day: number; bytes: number; ranMs?: number },
  isKnown = true,
) {
  const clock = new FakeClock({ wallMs: 100 * DAY_MS });
  const link = { sent: 5_000 };
  const time = { isKnown };
  const deps = { clock, isSynchronised: () => time.isKnown, bytesSent: () => link.sent, limitBytes: () => limitBytes };
  return { clock, link, time, budget: new DailyBudget(deps, carried && { ranMs: 0, ...carried }) };
}

describe('the daily budget', () => {
  it('counts what is sent from its start, and is spent at its limit', () => {
    const { link, budget } = given(1_000);
    link.sent += 999;
    expect(budget.isSpent()).toBe(false);
    link.sent += 1;
    expect(budget.isSpent()).toBe(true);
  });

  it('begins anew with the UTC day', () => {
    const { clock, link, budget } = given(1_000);
    link.sent += 2_000;
    clock.stepWall(DAY_MS);
    expect(budget.isSpent()).toBe(false);
    expect(budget.today()).toEqual({ day: 101, bytes: 0, ranMs: 0 });
  });

  it('forgets nothing of a day to which the clock comes back', () => {
    const { clock, link, budget } = given(1_000, { day: 100, bytes: 400 });
    link.sent += 700;
    expect(budget.isSpent()).toBe(true);
    clock.stepWall(-2 * DAY_MS);
    link.sent += 50;
    expect(budget.isSpent()).toBe(false);
    clock.stepWall(2 * DAY_MS);
    expect(budget.today()).toEqual({ day: 100, bytes: 1_150, ranMs: 0 });
    for (let day = 0; day < 20; day += 1) {
      clock.stepWall(DAY_MS);
      budget.today();
    }
    clock.stepWall(-20 * DAY_MS);
    expect(budget.today()).toEqual({ day: 100, bytes: 0, ranMs: 0 });
  });

  it('carries what an earlier run sent today, and nothing of yesterday', () => {
    expect(given(1_000, { day: 100, bytes: 1_000 }).budget.isSpent()).toBe(true);
    expect(given(1_000, { day: 99, bytes: 1_000 }).budget.isSpent()).toBe(false);
  });

  it('takes up what an earlier run left, and nothing that is not what it should be', () => {
    for (const bytes of [0, 5])
      expect(sentTodayFrom({ day: 100, bytes, ranMs: 7 })).toEqual({ day: 100, bytes, ranMs: 7 });
    for (const [kept, ranMs] of [
      [-7, 0],
      [1e300, DAY_MS],
    ] as const)
      expect(sentTodayFrom({ day: 100, bytes: 5, ranMs: kept })).toEqual({ day: 100, bytes: 5, ranMs });
    for (const wrong of [{ day: '100' }, { bytes: '5' }, { bytes: -5 }, { ranMs: '7' }, { ranMs: null }])
      expect(sentTodayFrom({ day: 100, bytes: 5, ranMs: 7, ...wrong })).toBeUndefined();
    for (const state of [undefined, {}]) expect(sentTodayFrom(state)).toBeUndefined();
  });

  it('of a clock that begins anew at each boot is that of the last day that was known, until the present one is', () => {
    const { clock, link, time, budget } = given(1_000, { day: 600, bytes: 1_000 }, false);
    expect([budget.isSpent(), budget.today().day]).toEqual([true, 600]);
    link.sent += 70;
    budget.today();
    link.sent += 7;
    clock.stepWall(501 * DAY_MS);
    time.isKnown = true;
    // What was sent meanwhile was sent today.
    expect(budget.today()).toEqual({ day: 601, bytes: 77, ranMs: 0 });
    link.sent += 3;
    expect(budget.today()).toEqual({ day: 601, bytes: 80, ranMs: 0 });
    clock.stepWall(-DAY_MS);
    expect(budget.today()).toEqual({ day: 600, bytes: 1_000, ranMs: 0 });
  });

  it('goes on counting the day that was known when the clock turns out to have been right', () => {
    const { link, time, budget } = given(1_000, { day: 100, bytes: 400 }, false);
    link.sent += 70;
    expect(budget.today()).toEqual({ day: 100, bytes: 470, ranMs: 0 });
    time.isKnown = true;
    expect(budget.today()).toEqual({ day: 100, bytes: 470, ranMs: 0 });
  });

  it('ends after a day of running while nobody knows the time, and each day after it', async () => {
    const { clock, link, budget } = given(1_000, { day: 600, bytes: 1_000 }, false);
    for (let day = 601; day < 605; day += 1) {
      await clock.advance(DAY_MS - 1);
      expect(budget.isSpent()).toBe(true);
      await clock.advance(1);
      expect(budget.today()).toEqual({ day, bytes: 0, ranMs: 0 });
      link.sent += 1_000;
    }
    // Nobody looked for days.
    await clock.advance(3 * DAY_MS);
    expect(budget.today()).toEqual({ day: 607, bytes: 0, ranMs: 0 });
  });

  it('ends after a day of running over restarts, too', async () => {
    let carried = { day: 600, bytes: 1_000, ranMs: 0 };
    for (let boot = 0; boot < 5; boot += 1) {
      const { clock, budget } = given(1_000, carried, false);
      await clock.advance(DAY_MS / 5 - (boot < 4 ? 0 : 1));
      expect(budget.isSpent()).toBe(true);
      carried = budget.today();
    }
    const { clock, budget } = given(1_000, carried, false);
    await clock.advance(1);
    expect(budget.today()).toEqual({ day: 601, bytes: 0, ranMs: 0 });
  });

  it('of a known time ends with its date alone', async () => {
    const { clock, budget } = given(1_000, { day: 100, bytes: 1_000, ranMs: DAY_MS - 5 });
    await clock.advance(60_000);
    expect(budget.isSpent()).toBe(true);
    await clock.advance(DAY_MS - 60_000);
    expect(budget.today()).toEqual({ day: 101, bytes: 0, ranMs: 0 });
    clock.stepWall(-1);
    expect(budget.isSpent()).toBe(true);
  });

  it('remembers no date of a day that ended by running', async () => {
    const { clock, link, time, budget } = given(1_000, { day: 600, bytes: 0 }, false);
    await clock.advance(DAY_MS);
    budget.today();
    link.sent += 1_000;
    budget.today();
    await clock.advance(DAY_MS);
    expect(budget.today().day).toBe(602);
    link.sent += 7;
    clock.stepWall(499 * DAY_MS);
    time.isKnown = true;
    expect(budget.today()).toEqual({ day: 601, bytes: 7, ranMs: 0 });
  });

  it('counts in one day only what was sent before anyone could say which day it is', () => {
    const { clock, link, time, budget } = given(1_000, undefined, false);
    link.sent += 500;
    budget.today();
    time.isKnown = true;
    expect(budget.today()).toMatchObject({ day: 100, bytes: 500 });
    clock.stepWall(DAY_MS);
    expect(budget.today()).toMatchObject({ day: 101, bytes: 0 });
  });

  it('forgets nothing of a day that a wrong clock passed over before its time had run', () => {
    const { clock, time, budget } = given(1_000, { day: 100, bytes: 800 }, false);
    clock.stepWall(DAY_MS);
    expect(budget.today()).toMatchObject({ day: 101, bytes: 0 });
    clock.stepWall(-DAY_MS);
    time.isKnown = true;
    expect(budget.today()).toMatchObject({ day: 100, bytes: 800 });
  });

  it('is never spent without a limit', () => {
    const { link, budget } = given(undefined);
    link.sent += 1e12;
    expect(budget.isSpent()).toBe(false);
  });
});
