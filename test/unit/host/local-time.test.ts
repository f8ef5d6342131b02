/** Hours and weekdays over the weeks in which Europe/Berlin changes its clocks, minute by minute against a table. */
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { isWithinHours, localTime, machineZone, WEEKDAYS } from '../../../src/host/local-time.ts';

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;
/** Summer time of 2026 in Berlin: two hours before UTC, and one hour outside it. */
const [SUMMER_FROM, SUMMER_TO] = [Date.UTC(2026, 2, 29, 1), Date.UTC(2026, 9, 25, 1)];
const [SPRING, AUTUMN] = [Date.UTC(2026, 2, 26), Date.UTC(2026, 9, 22)];

/** Each minute of a week: the wall clock by arithmetic, and as it is shown. */
function tableOf(fromMs: number) {
  return Array.from({ length: 7 * DAY_MINUTES }, (_, minute) => {
    const atMs = fromMs + minute * MINUTE_MS;
    const wall = new Date(atMs + (atMs >= SUMMER_FROM && atMs < SUMMER_TO ? 120 : 60) * MINUTE_MS);
    const minuteOfDay = wall.getUTCHours() * 60 + wall.getUTCMinutes();
    return {
      minuteOfDay,
      wall: wall.toISOString(),
      weekday: WEEKDAYS[(wall.getUTCDay() + 6) % 7],
      shown: localTime(atMs, 'Europe/Berlin'),
    };
  });
}
const textOf = (minute: number): string => new Date(minute * MINUTE_MS).toISOString().slice(11, 16);

describe.each([
  ['spring', SPRING, 6],
  ['autumn', AUTUMN, 8],
])('in the week of %s', (_name, fromMs, hoursAtTwo) => {
  const table = tableOf(fromMs);

  it('time, date and weekday are those of the wall clock', () => {
    const wrong = table.filter(({ wall, weekday, shown: { time, date, weekday: shown } }) => {
      return time !== wall.slice(11, 16) || date !== wall.slice(5, 10) || shown !== weekday;
    });
    expect(wrong).toEqual([]);
  });

  it('hours hold in the minutes that the wall clock shows between them, over midnight too', () => {
    const minute = fc.integer({ min: 0, max: DAY_MINUTES - 1 });
    fc.assert(
      fc.property(minute, minute, (from, to) => {
        fc.pre(from !== to);
        const length = (to - from + DAY_MINUTES) % DAY_MINUTES;
        const due = new Set(Array.from({ length }, (_, n) => (from + n) % DAY_MINUTES));
        const span = { from: textOf(from), to: textOf(to) };
        expect(table.filter(({ minuteOfDay, shown }) => isWithinHours(span, shown) !== due.has(minuteOfDay))).toEqual(
          [],
        );
      }),
      { numRuns: 40 },
    );
  });

  it('the hour that is left out has no minutes, and the one that comes twice has them twice', () => {
    expect(table.filter(({ shown }) => isWithinHours({ from: '02:00', to: '03:00' }, shown))).toHaveLength(
      hoursAtTwo * 60,
    );
  });
});

it('goes by the zone that the machine is set to while it runs (row 63)', async () => {
  vi.stubEnv('TZ', undefined);
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-zone-'));
  const zoneOf = async (target: string): Promise<string | undefined> => {
    const link = join(folder, target.replaceAll('/', '-'));
    await symlink(target, link);
    return machineZone(link);
  };
  try {
    expect(await zoneOf('/usr/share/zoneinfo/Europe/Berlin')).toBe('Europe/Berlin');
    expect(await zoneOf('../usr/share/zoneinfo/posix/America/New_York')).toBe('America/New_York');
    expect(await zoneOf('/usr/share/zoneinfo/Nowhere/Land')).toBeUndefined();
    expect(machineZone(join(folder, 'missing'))).toBeUndefined();
    vi.stubEnv('TZ', 'Asia/Tokyo');
    expect(machineZone(join(folder, '-usr-share-zoneinfo-Europe-Berlin'))).toBeUndefined();
  } finally {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true });
  }
});
