import { describe, expect, it } from 'vitest';
import { DailyBudget, sentTodayFrom } from '../../../src/telemetry/daily-budget.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const DAY_MS = 86_400_000;

function given(limitBytes: number | undefined, carried?: { day: number; bytes: number }) {
  const clock = new FakeClock({ wallMs: 100 * DAY_MS });
  const link = { sent: 5_000 };
  const budget = new DailyBudget({ clock, bytesSent: () => link.sent, limitBytes: () => limitBytes }, carried);
  return { clock, link, budget };
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
    expect(budget.today()).toEqual({ day: 101, bytes: 0 });
  });

  it('carries what an earlier run sent today, and nothing of yesterday', () => {
    expect(given(1_000, { day: 100, bytes: 1_000 }).budget.isSpent()).toBe(true);
    expect(given(1_000, { day: 99, bytes: 1_000 }).budget.isSpent()).toBe(false);
  });

  it('takes up what an earlier run left, and nothing that is not what it should be', () => {
    expect(sentTodayFrom({ day: 100, bytes: 5 })).toEqual({ day: 100, bytes: 5 });
    for (const state of [undefined, {}, { day: '100', bytes: 5 }, { day: 100, bytes: -5 }]) expect(sentTodayFrom(state)).toBeUndefined();
  });

  it('is never spent without a limit', () => {
    const { link, budget } = given(undefined);
    link.sent += 1e12;
    expect(budget.isSpent()).toBe(false);
  });
});
