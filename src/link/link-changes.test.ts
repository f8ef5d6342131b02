/** Account and ladder of a month with kills, with a clock that was wrong for a while, with history that waited, and under other terms. */
import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../test/support/fake-clock.ts';
import { MemoryFiles } from '../../test/support/memory-files.ts';
import { configSchema } from '../config/schema/agent-config.ts';
import { AlertList } from '../host/alert-list.ts';
import { silentLog } from '../host/log.ts';
import { sealJson } from '../store/sealed-json.ts';
import { type Link, openLink } from './link.ts';
import { LINK_FORMAT } from './link-account.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

let clock: FakeClock;
let files: MemoryFiles;
let alerts: AlertList;
let carried: { upload: number; calls: number; 'attribute-poll': number; 'rpc-poll': number; download: number };
let link: object;
let told: string[];

const log = { ...silentLog, error: (_fields: object, message: string) => void told.push(message) };

beforeEach(async () => {
  clock = new FakeClock({ wallMs: Date.parse('2026-03-20T00:00:00Z') });
  files = new MemoryFiles();
  await files.makeFolder('/state');
  alerts = new AlertList(silentLog);
  carried = { upload: 0, calls: 0, 'attribute-poll': 0, 'rpc-poll': 0, download: 0 };
  link = { metered: true, monthly: '50MB' };
  told = [];
});

function open(): Promise<Link> {
  const base = { version: 1, platform: { url: 'http://platform', accessToken: 'token' }, stateFolder: '/state' };
  const traffic = () => ({ sentBytes: 0, receivedBytes: 0, lanes: { ...carried } });
  const known = new Map<object, ReturnType<typeof configSchema.parse>>();
  const config = () => {
    const parsed = known.get(link) ?? configSchema.parse({ ...base, link });
    known.set(link, parsed);
    return parsed;
  };
  const timeSync = { isSynchronised: () => true };
  return openLink({ config, clock, files, log, alerts, timeSync, traffic });
}

async function carry(hours: number, bytesPerHour: number): Promise<void> {
  for (let hour = 0; hour < hours; hour += 1) {
    carried.upload += bytesPerHour;
    await clock.advance(HOUR_MS);
  }
}

describe('a process that is killed', () => {
  it('before its fifth minute has its bytes counted all the same', async () => {
    for (let lives = 0; lives < 10; lives += 1) {
      await open();
      carried.upload += 3_000_000;
      await clock.advance(4 * MINUTE_MS);
      // Killed: nothing of it runs on.
      clock.reboot({ bootId: `boot-${lives}`, monotonicMs: clock.monotonicMs() });
      carried.upload = 0;
    }
    const last = await open();
    expect(last.status().usedBytes).toBeGreaterThan(27_000_000);
    await last.close();
  });

  it('loses a hundredth of the month at most, and half a minute', async () => {
    await open();
    await clock.advance(30_000);
    carried.upload += 500_000;
    await clock.advance(30_000);
    carried.upload += 400_000;
    await clock.advance(30_000);
    clock.reboot({ bootId: 'boot-2', monotonicMs: clock.monotonicMs() });
    carried.upload = 0;
    const last = await open();
    expect(last.status().usedBytes).toBe(500_000);
    await last.close();
  });
});

describe('a file that is whole, but no account', () => {
  it.each([
    ['of no form', { atMs: 'never' }],
    [
      'of other bytes',
      { atMs: 0, isSure: true, resetDay: 1, features: { telemetry: -1 }, totalBytes: 0, sinceMs: 0, hours: [] },
    ],
  ])('%s is told', async (_what, account) => {
    files.writeNow('/state/link.json', sealJson({ ...LINK_FORMAT, state: { account } }));
    await (await open()).close();
    expect(told).toEqual(['link.json cannot be used: the month of the link is counted from now on']);
  });
});

describe('a clock that was wrong for an hour', () => {
  it('and ahead over the reset day gives no second month', async () => {
    const one = await open();
    carried.upload = 40_000_000;
    one.look();
    clock.stepWall(40 * DAY_MS);
    await clock.advance(MINUTE_MS);
    clock.stepWall(-40 * DAY_MS);
    await clock.advance(MINUTE_MS);
    expect(one.status().beginsAtMs).toBe(Date.parse('2026-03-01'));
    expect(one.status().usedBytes).toBe(40_000_000);
    await one.close();
  });

  it('does not hold a step for as long as it was ahead', async () => {
    clock.stepWall(5 * DAY_MS);
    const one = await open();
    await carry(2, 1_000_000);
    expect(one.status().step).not.toBe('everything');
    clock.stepWall(-5 * DAY_MS);
    await carry(48, 100);
    expect(one.status().step).toBe('everything');
    await one.close();
  });
});

describe('history that waited', () => {
  it.each([
    ['for the month to begin', '2026-03-31T23:00:00Z'],
    ['for a line that was away', '2026-04-10T00:00:00Z'],
  ])('%s does not take half of the month on its first day', async (_what, at) => {
    clock = new FakeClock({ wallMs: Date.parse(at) });
    const one = await open();
    await carry(2, 10_000);
    let waitingBytes = 60_000_000;
    // The default of 200 entries a second, 25 B each.
    for (let minutes = 0; minutes < 24 * 60; minutes += 1) {
      const { history } = one.uploads();
      if (history && waitingBytes > 0) {
        carried.upload += 300_000;
        waitingBytes -= 300_000;
      }
      await clock.advance(MINUTE_MS);
    }
    expect(one.status().usedBytes).toBeLessThan(25_000_000);
    await one.close();
  });
});

describe('other terms', () => {
  it('such as a month that was raised are judged at once, also after a restart', async () => {
    const one = await open();
    await carry(10 * 24, 200_000);
    carried.upload += 2_000_000;
    one.look();
    expect(one.status().step).toBe('alarms-only');
    link = { metered: true, monthly: '500MB' };
    one.look();
    expect(one.status().step).toBe('everything');
    link = { metered: true, monthly: '50MB' };
    one.look();
    await one.close();
    link = { metered: true, monthly: '500MB' };
    carried.upload = 0;
    const other = await open();
    expect(other.status().step).toBe('everything');
    expect(alerts.list()).toEqual([]);
    await other.close();
  });

  it('such as a month that began while the gateway was off are, too', async () => {
    const one = await open();
    carried.upload = 49_900_000;
    await one.close();
    clock.stepWall(20 * DAY_MS);
    carried.upload = 0;
    const other = await open();
    expect(other.status()).toMatchObject({ usedBytes: 0, step: 'everything' });
    await other.close();
  });
});

describe('a download', () => {
  it('that no month has room for beside its habits is not promised for the next one', async () => {
    const one = await open();
    await carry(12 * 24 + 1, 35_000);
    const said: (string | undefined)[] = [];
    for (let weeks = 0; weeks < 6; weeks += 1) {
      said.push(one.waitsFor(31_000_000));
      await carry(7 * 24, 35_000);
    }
    expect(said.filter((words) => words?.includes('when the month of the link begins'))).toEqual([]);
    await one.close();
  });
});
