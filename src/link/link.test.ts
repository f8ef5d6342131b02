/** The account of a month, over restarts and with clocks that are wrong, and the steps with what they are told by. */
import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../test/support/fake-clock.ts';
import { MemoryFiles } from '../../test/support/memory-files.ts';
import { configSchema } from '../config/schema/agent-config.ts';
import { AlertList } from '../host/alert-list.ts';
import { silentLog } from '../host/log.ts';
import { type Link, openLink } from './link.ts';
import { wakeWords } from './link-words.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

let clock: FakeClock;
let files: MemoryFiles;
let alerts: AlertList;
let isSynchronised: boolean;
let carried: { upload: number; calls: number; 'attribute-poll': number; 'rpc-poll': number; download: number };

beforeEach(async () => {
  clock = new FakeClock({ wallMs: Date.parse('2026-03-02T00:00:00Z') });
  files = new MemoryFiles();
  await files.makeFolder('/state');
  alerts = new AlertList(silentLog);
  isSynchronised = true;
  carried = { upload: 0, calls: 0, 'attribute-poll': 0, 'rpc-poll': 0, download: 0 };
});

function configured(link: object) {
  return configSchema.parse({
    version: 1,
    platform: { url: 'http://platform', accessToken: 'token' },
    stateFolder: '/state',
    link,
  });
}

function open(link: object = { metered: true, monthly: '50MB' }): Promise<Link> {
  const config = configured(link);
  const traffic = () => ({ sentBytes: 0, receivedBytes: 0, lanes: { ...carried } });
  const timeSync = { isSynchronised: () => isSynchronised };
  return openLink({
    config: () => config,
    clock,
    files,
    log: silentLog,
    alerts,
    timeSync,
    traffic,
  });
}

/** Carries so many bytes an hour, by the hour. */
async function carry(hours: number, bytesPerHour: number): Promise<void> {
  for (let hour = 0; hour < hours; hour += 1) {
    carried.upload += bytesPerHour;
    await clock.advance(HOUR_MS);
  }
}

describe('the month of a link', () => {
  it('is counted by what it was for, and goes on after a restart', async () => {
    const first = await open();
    carried = { upload: 100, calls: 20, 'attribute-poll': 3, 'rpc-poll': 4, download: 5 };
    await first.close();
    carried = { upload: 0, calls: 0, 'attribute-poll': 0, 'rpc-poll': 0, download: 0 };
    const second = await open();
    carried.upload = 1;
    second.noteDownload(1_000);
    second.look();
    expect(second.status()).toMatchObject({
      usedBytes: 1_133,
      features: { telemetry: 101, calls: 20, polls: 7, firmware: 1_005 },
    });
    await second.close();
  });

  it('begins anew on its reset day, at midnight UTC', async () => {
    const link = await open({ metered: true, monthly: '50MB', resetDay: 3 });
    await carry(23, 1_000);
    expect(link.status().usedBytes).toBe(23_000);
    await clock.advance(2 * HOUR_MS);
    expect(link.status()).toMatchObject({
      usedBytes: 0,
      beginsAtMs: Date.parse('2026-03-03'),
      endsAtMs: Date.parse('2026-04-03'),
    });
    await link.close();
  });

  it('is not begun by a clock that is not known to be right', async () => {
    const first = await open();
    carried.upload = 100;
    await first.close();
    isSynchronised = false;
    clock.stepWall(40 * DAY_MS);
    carried.upload = 0;
    const second = await open();
    carried.upload = 10;
    second.look();
    expect(second.status().usedBytes).toBe(110);
    isSynchronised = true;
    carried.upload = 15;
    second.look();
    expect(second.status()).toMatchObject({ usedBytes: 5, beginsAtMs: Date.parse('2026-04-01') });
    await second.close();
  });

  it('keeps what was counted before the clock was right', async () => {
    clock.stepWall(-20_000 * DAY_MS);
    isSynchronised = false;
    const link = await open();
    carried.upload = 10;
    await clock.advance(60_000);
    clock.stepWall(20_000 * DAY_MS);
    isSynchronised = true;
    link.look();
    expect(link.status()).toMatchObject({ usedBytes: 10, beginsAtMs: Date.parse('2026-03-01') });
    await link.close();
  });

  it('is forecast after an hour, without what a download took', async () => {
    const link = await open();
    expect(link.status().forecastBytes).toBeUndefined();
    carried.download = 10_000_000;
    await carry(24, 25_000);
    link.look();
    const { forecastBytes = 0, reachesAtMs, words } = link.status();
    expect(forecastBytes / (10_600_000 + 29 * 24 * 25_000)).toBeCloseTo(1, 2);
    expect(reachesAtMs).toBeUndefined();
    expect(words).toBe('10.6 MB of 50.0 MB since 2026-03-01Z, 28.0 MB by 2026-04-01Z');
    await link.close();
  });
});

describe('a month that would not suffice', () => {
  it('is told, takes its steps one after the other, and undoes them', async () => {
    const link = await open();
    expect([link.wakes('attributes'), link.wakes('commands')]).toEqual([undefined, undefined]);
    await carry(1, 200_000);
    expect(link.status()).toMatchObject({ step: 'attributes-at-wakes' });
    expect([link.wakes('attributes'), link.wakes('commands')]).toEqual([15 * 60_000, undefined]);
    expect(alerts.list()[0]).toBe(
      'the link: shared attributes are asked for every 15 min, not waited for; report less often, or raise link.monthly',
    );
    carried.upload += 200_000;
    // Traffic before the first wake is no habit of the step.
    await clock.advance(HOUR_MS / 2);
    expect(link.wakes('commands')).toBeUndefined();
    carried.upload += 200_000;
    await clock.advance(HOUR_MS / 2);
    expect(link.wakes('commands')).toBe(15 * 60_000);
    expect(link.uploads()).toMatchObject({ present: true, waitMs: 0 });
    carried.upload += 400_000;
    await clock.advance(HOUR_MS / 2);
    carried.upload += 400_000;
    await clock.advance(HOUR_MS / 2);
    expect(link.status().step).toBe('readings-at-wakes');
    expect(link.uploads()).toMatchObject({ history: false, present: true });
    expect(link.uploads().waitMs).toBeGreaterThan(0);
    await carry(24, 10_000);
    expect(link.status().step).toBe('everything');
    expect(alerts.list()).toEqual([]);
    await link.close();
  });

  it('carries alarms only once it is used up, also after a restart, until the next one', async () => {
    const first = await open();
    carried.upload = 49_500_000;
    first.look();
    expect(first.uploads()).toMatchObject({ history: false, present: false });
    expect([first.wakes('commands'), first.wakes('attributes')]).toEqual([Number.POSITIVE_INFINITY, 6 * HOUR_MS]);
    await first.close();
    carried.upload = 0;
    alerts.clear('link');
    const second = await open();
    expect(second.uploads()).toMatchObject({ history: false, present: false });
    expect(alerts.list()[0]).toMatch(/only alarms are sent, and no command comes, until 2026-04-01Z at the latest/);
    await clock.advance(31 * DAY_MS);
    expect(second.uploads()).toMatchObject({ history: true, present: true });
    await second.close();
  });

  it('takes no step where the link is not metered', async () => {
    const link = await open({ monthly: '50MB' });
    carried.upload = 60_000_000;
    await clock.advance(DAY_MS);
    expect(link.uploads()).toMatchObject({ history: true, present: true });
    expect(link.waitsFor(1e9)).toBeUndefined();
    await link.close();
  });

  it('has downloads wait that it does not suffice for, unless they are wanted now', async () => {
    const link = await open();
    await carry(2, 10_000);
    expect(link.waitsFor(10_000_000)).toBeUndefined();
    carried.download += 20_000_000;
    link.look();
    expect(link.waitsFor(31_000_000)).toMatch(/^for 2026-04-01T00:00:00.000Z, when the month of the link begins/);
    expect(link.waitsFor(45_000_000)).toBe(
      'for link.firmware: now, as no month of the link has room for it beside the rest',
    );
    await link.close();
    const other = await open({ metered: true, monthly: '50MB', firmware: 'now' });
    expect(other.waitsFor(60_000_000)).toBeUndefined();
    await other.close();
  });
});

describe('the day of a link', () => {
  it.each([
    ['alone', { daily: '100kB' }],
    ['beside a month', { metered: true, monthly: '50MB', daily: '100kB' }],
  ])('holds history once its bytes are used up, and nothing else, %s', async (_where, terms) => {
    const link = await open(terms);
    await clock.advance(2 * HOUR_MS);
    carried.upload = 50_000;
    carried['rpc-poll'] = 49_999;
    expect(link.uploads()).toMatchObject({ history: true, present: true });
    carried.calls = 1;
    expect(link.uploads()).toMatchObject({ history: false, present: true });
    expect(link.status()).toMatchObject({ todayBytes: 100_000, dailyBytes: 100_000, historyWaitsFor: 'tomorrow' });
    expect(link.status().words).toContain(', 0.10 MB of 0.10 MB today');
    await clock.advance(22 * HOUR_MS);
    expect(link.uploads()).toMatchObject({ history: true, present: true });
    expect(link.status().historyWaitsFor).toBeUndefined();
    await link.close();
  });

  it('is never used up without a bound', async () => {
    const link = await open({});
    carried.upload = 1e12;
    link.look();
    expect(link.uploads()).toMatchObject({ history: true, present: true });
    await link.close();
  });

  it('is known after a kill: its first upload at once, then but for half a minute, and costs the card nothing while nothing is sent', async () => {
    let writes = 0;
    files.faults = {
      fail: (operation, path) => {
        if (operation === 'rename' && path.includes('link.json')) writes += 1;
        return undefined;
      },
    };
    const keptBytes = (): number =>
      JSON.parse(files.contentOf('/state/link.json').toString()).state.account.days.at(-1)[1];
    const killed = await open({ daily: '100kB' });
    carried.upload = 700;
    killed.uploads();
    await clock.advance(0);
    expect(keptBytes()).toBe(700);
    for (let look = 0; look < 10; look += 1) {
      const before = carried.upload;
      carried.upload += 2_000;
      killed.uploads();
      await clock.advance(30_000);
      expect(keptBytes()).toBeGreaterThanOrEqual(before);
    }
    expect(writes).toBeLessThanOrEqual(11);
    files.cutPower(() => false);
    carried.upload = 0;
    const next = await open({ daily: '100kB' });
    expect(next.status().todayBytes).toBe(20_700);
    const before = writes;
    await clock.advance(4 * 60_000);
    expect(writes - before).toBeLessThanOrEqual(1);
    await killed.close();
    await next.close();
  });

  it('is written each hour where nothing bounds it, however much is carried', async () => {
    let writes = 0;
    files.faults = {
      fail: (operation, path) => {
        if (operation === 'rename' && path.includes('link.json')) writes += 1;
        return undefined;
      },
    };
    const link = await open({});
    for (let minute = 0; minute < 120; minute += 1) {
      carried.upload += 400_000;
      await clock.advance(60_000);
    }
    // The first of them follows the start by half a minute.
    expect(writes).toBe(2);
    await link.close();
    const next = await open({});
    expect(next.status().usedBytes).toBe(48_000_000);
    await next.close();
  });
});

it('a check tells what a wake does to commands', () => {
  const { link, rpc } = configured({ metered: true, monthly: '50MB' });
  expect(wakeWords({ link, rpc })).toMatch(/commands come within 15m; one-way RPC is lost, persistent ones wait/);
  expect(wakeWords({ link: { ...link, metered: false }, rpc })).toBeUndefined();
});
