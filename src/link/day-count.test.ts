/** The bytes of a day, over restarts and with clocks that are wrong. */
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../test/support/fake-clock.ts';
import { daysFrom } from './day-count.ts';
import { accountFrom, type FeatureBytes, openLinkAccount } from './link-account.ts';

const DAY_MS = 86_400_000;
const CARRIED: FeatureBytes = { telemetry: 5_000, polls: 0, calls: 0, firmware: 0 };

interface Carried {
  readonly day: number;
  readonly bytes: number;
  /** Time that had run of it. */
  readonly ranMs?: number;
}

function given(carried?: Carried, isKnown = true) {
  const clock = new FakeClock({ wallMs: 100 * DAY_MS });
  const link = { sent: 0 };
  const time = { isKnown };
  const before = carried && {
    atMs: carried.day * DAY_MS + (carried.ranMs ?? 0),
    isSure: true,
    resetDay: 1,
    features: CARRIED,
    totalBytes: 0,
    sinceMs: 0,
    hours: [],
    days: [[carried.day, carried.bytes]] as const,
  };
  const account = openLinkAccount(
    {
      clock,
      isSynchronised: () => time.isKnown,
      counted: () => ({ telemetry: link.sent, polls: 0, calls: 0, firmware: 0 }),
      resetDay: () => 1,
    },
    before,
  );
  const today = () => {
    const { nowMs, todayBytes } = account.look();
    return { day: Math.floor(nowMs / DAY_MS), bytes: todayBytes };
  };
  today();
  return { clock, link, time, account, today };
}

describe('the day of a link', () => {
  it('counts what is carried from its start, and begins anew with the UTC day', () => {
    const { clock, link, today } = given();
    link.sent += 999;
    expect(today()).toEqual({ day: 100, bytes: 999 });
    link.sent += 2_000;
    clock.stepWall(DAY_MS);
    expect(today()).toEqual({ day: 101, bytes: 0 });
  });

  it('forgets nothing of a day to which the clock comes back', () => {
    const { clock, link, today } = given({ day: 100, bytes: 400 });
    link.sent += 700;
    expect(today().bytes).toBe(1_100);
    clock.stepWall(-2 * DAY_MS);
    link.sent += 50;
    expect(today()).toEqual({ day: 98, bytes: 0 });
    clock.stepWall(2 * DAY_MS);
    expect(today()).toEqual({ day: 100, bytes: 1_150 });
    for (let day = 0; day < 20; day += 1) {
      clock.stepWall(DAY_MS);
      today();
    }
    clock.stepWall(-20 * DAY_MS);
    expect(today()).toEqual({ day: 100, bytes: 0 });
  });

  it('goes on after a restart, and has nothing of yesterday', () => {
    expect(given({ day: 100, bytes: 1_000 }).today().bytes).toBe(1_000);
    expect(given({ day: 99, bytes: 1_000 }).today().bytes).toBe(0);
    const { link, today, account } = given({ day: 100, bytes: 400 });
    link.sent += 70;
    today();
    expect(accountFrom(JSON.parse(JSON.stringify(account.kept())))?.days).toEqual([[100, 470]]);
  });

  it('takes up what an earlier run left, and nothing that is not what it should be', () => {
    for (const bytes of [0, 5]) expect(daysFrom([[100, bytes]]).days).toEqual([[100, bytes]]);
    for (const wrong of [['100', 5], [100, '5'], [100, -5], [100], [100.5, 5], null])
      expect(daysFrom([wrong, [99, 1]]).days).toEqual([[99, 1]]);
    for (const state of [undefined, {}, 'x']) expect(daysFrom(state).days).toEqual([]);
  });

  it('of a clock that begins anew at each boot is the last one that was known, until the present one is', () => {
    const { clock, link, time, today } = given({ day: 600, bytes: 1_000 }, false);
    expect(today()).toEqual({ day: 600, bytes: 1_000 });
    link.sent += 70;
    today();
    link.sent += 7;
    clock.stepWall(501 * DAY_MS);
    time.isKnown = true;
    // All that was carried meanwhile counts as of today.
    expect(today()).toEqual({ day: 601, bytes: 77 });
    link.sent += 3;
    expect(today()).toEqual({ day: 601, bytes: 80 });
    clock.stepWall(-2 * DAY_MS);
    today();
    clock.stepWall(DAY_MS);
    expect(today()).toEqual({ day: 600, bytes: 1_000 });
  });

  it('goes on counting the day that was known when the clock turns out to have been right', () => {
    const { link, time, today } = given({ day: 100, bytes: 400 }, false);
    link.sent += 70;
    expect(today()).toEqual({ day: 100, bytes: 470 });
    time.isKnown = true;
    expect(today()).toEqual({ day: 100, bytes: 470 });
  });

  it('ends after a day of running while nobody knows the time, and each day after it', async () => {
    const { clock, link, today } = given({ day: 600, bytes: 1_000 }, false);
    for (let day = 601; day < 605; day += 1) {
      await clock.advance(DAY_MS - 1);
      expect(today().bytes).toBe(1_000);
      await clock.advance(1);
      expect(today()).toEqual({ day, bytes: 0 });
      link.sent += 1_000;
    }
    today();
    // Nobody looked for days.
    await clock.advance(3 * DAY_MS);
    expect(today()).toEqual({ day: 607, bytes: 0 });
  });

  it('ends after a day of running over restarts, too', async () => {
    let ranMs = 0;
    for (let boot = 0; boot < 5; boot += 1) {
      const { clock, today, account } = given({ day: 600, bytes: 1_000, ranMs }, false);
      await clock.advance(DAY_MS / 5 - (boot < 4 ? 0 : 1));
      expect(today().bytes).toBe(1_000);
      ranMs = (accountFrom(account.kept())?.atMs ?? 0) - 600 * DAY_MS;
    }
    const { clock, today } = given({ day: 600, bytes: 1_000, ranMs }, false);
    await clock.advance(1);
    expect(today()).toEqual({ day: 601, bytes: 0 });
  });

  it('remembers no date of a day that ended by running', async () => {
    const { clock, link, time, today } = given({ day: 600, bytes: 0 }, false);
    await clock.advance(DAY_MS);
    today();
    link.sent += 1_000;
    today();
    await clock.advance(DAY_MS);
    expect(today().day).toBe(602);
    link.sent += 7;
    clock.stepWall(498 * DAY_MS);
    time.isKnown = true;
    expect(today()).toEqual({ day: 600, bytes: 7 });
  });

  it('has only once what was carried before anyone could say which day it is', () => {
    const { clock, link, time, today } = given(undefined, false);
    link.sent += 500;
    today();
    time.isKnown = true;
    expect(today()).toEqual({ day: 100, bytes: 500 });
    clock.stepWall(DAY_MS);
    expect(today()).toEqual({ day: 101, bytes: 0 });
  });

  it('is not ended by a clock that is not known to be right', () => {
    const { clock, time, today } = given({ day: 100, bytes: 800 }, false);
    clock.stepWall(DAY_MS);
    expect(today()).toEqual({ day: 100, bytes: 800 });
    clock.stepWall(-DAY_MS);
    time.isKnown = true;
    expect(today()).toEqual({ day: 100, bytes: 800 });
  });
});
