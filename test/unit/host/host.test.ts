import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Backoff } from '../../../src/host/backoff.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { AgentLog } from '../../../src/host/log.ts';
import { takeLock } from '../../../src/host/state-lock.ts';
import { TimeSync } from '../../../src/host/time-sync.ts';
import { readWhole } from '../../../src/host/whole-file.ts';
import { setAside, writeDurably } from '../../../src/store/durable-file.ts';
import { FakeClock } from '../../support/fake-clock.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-host-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('a durable file', () => {
  it('is replaced whole, is private, and leaves nothing beside it', async () => {
    const path = join(folder, 'state.json');
    await writeDurably(systemFiles, path, 'first');
    await chmod(path, 0o666);
    await writeDurably(systemFiles, path, 'second');
    expect((await readWhole(systemFiles, path))?.toString()).toBe('second');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(['state.json']);
  });

  it('names the file and the fault when it cannot be written', async () => {
    await expect(writeDurably(systemFiles, join(folder, 'none', 'x'), '')).rejects.toMatchObject({
      code: 'host/write-failed',
      message: expect.stringContaining('ENOENT'),
    });
  });

  it('does not write through a link that somebody left at its temporary name', async () => {
    await writeFile(join(folder, 'victim'), 'untouched');
    await symlink(join(folder, 'victim'), join(folder, 'x.tmp'));
    await expect(writeDurably(systemFiles, join(folder, 'x'), 'new')).rejects.toMatchObject({
      code: 'host/write-failed',
    });
    expect(await readFile(join(folder, 'victim'), 'utf8')).toBe('untouched');
  });

  it('is undefined when absent and refused when larger than its limit', async () => {
    expect(await readWhole(systemFiles, join(folder, 'none'))).toBeUndefined();
    await writeFile(join(folder, 'big'), 'x'.repeat(11));
    await expect(readWhole(systemFiles, join(folder, 'big'), { limitBytes: 10 })).rejects.toMatchObject({
      code: 'host/read-failed',
    });
  });

  it('keeps its content when set aside', async () => {
    await writeFile(join(folder, 'x'), 'broken');
    expect(await readFile(await setAside(systemFiles, join(folder, 'x')), 'utf8')).toBe('broken');
  });
});

describe('the log', () => {
  it('shows no secret, wherever in a line it stands and however it is written there', () => {
    const lines: string[] = [];
    const log = new AgentLog({ clock: systemClock, level: 'debug', sink: { write: (line) => lines.push(line) } });
    log.hide('t0k en"é');
    log.error(
      { url: `http://host/api/v1/${encodeURIComponent('t0k en"é')}/rpc`, err: new Error('no answer for t0k en"é') },
      'token t0k en"é',
    );
    expect(lines.join('')).not.toMatch(/t0k/);
    expect(lines[0]).toContain('[secret]');
  });

  it('is not flooded by one message, and says at its end how often that came', () => {
    const lines: string[] = [];
    const log = new AgentLog({ clock: new FakeClock(), level: 'info', sink: { write: (line) => lines.push(line) } });
    for (let n = 0; n < 600; n += 1) log.error({ error: `fault ${n}` }, 'readings could not be kept');
    for (let n = 0; n < 600; n += 1) log.debug({}, 'nobody asked for it');
    log.info({}, 'another');
    log.close();
    expect(lines).toHaveLength(22);
    expect(lines.slice(-2).map((line) => JSON.parse(line))).toMatchObject([
      { msg: 'another' },
      { level: 'error', message: 'readings could not be kept', times: 580, msg: 'more of the same' },
    ]);
  });

  it('changes its level while it runs', () => {
    const lines: string[] = [];
    const log = new AgentLog({ clock: systemClock, level: 'warn', sink: { write: (line) => lines.push(line) } });
    log.info({}, 'unheard');
    log.level = 'info';
    log.info({ n: 1 }, 'heard');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ level: 'info', n: 1, msg: 'heard' }]);
  });
});

describe('backoff', () => {
  it('doubles its bound up to the greatest, draws below it, and starts again after a success', () => {
    const backoff = new Backoff({ firstMs: 100, maxMs: 1_000 }, { jitter: () => 0.9999999 });
    expect([1, 2, 3, 4, 5, 6].map(() => Math.round(backoff.nextMs()))).toEqual([100, 200, 400, 800, 1_000, 1_000]);
    backoff.reset();
    expect(Math.round(backoff.nextMs())).toBe(100);
  });

  it('is never no delay at all, and never less than the server asked for', () => {
    const backoff = new Backoff({ firstMs: 100, maxMs: 1_000 }, { jitter: () => 0 });
    expect(backoff.nextMs()).toBe(10);
    expect(backoff.nextMs(5_000)).toBe(5_000);
  });

  it('spreads those whom a server told the same time', () => {
    const told = [0, 0.5, 0.9999999].map((draw) =>
      new Backoff({ firstMs: 100, maxMs: 1_000 }, { jitter: () => draw }).nextMs(60_000),
    );
    expect(told.map(Math.round)).toEqual([60_000, 67_500, 75_000]);
  });
});

describe('the lock of a state folder', () => {
  it('is refused to a second process, by the name of the first, and free again when that one is killed', async () => {
    const lock = await takeLock(folder);
    const module = resolve(import.meta.dirname, '../../../src/host/state-lock.ts');
    const second = () =>
      spawnSync(
        process.execPath,
        [
          '-e',
          `import('${module}').then((m) => m.takeLock(process.argv[1])).then(() => console.log('taken'), (e) => console.log(e.code, e.message))`,
          folder,
        ],
        {
          encoding: 'utf8',
        },
      ).stdout;
    expect(second()).toContain(`host/already-running another agent (process ${process.pid})`);
    await lock.close();
    expect(second()).toContain('taken');
    await (await takeLock(folder)).close();
  });
});

it('the lock of a state folder is taken on a disk that has no room for the name of its holder', () => {
  const module = resolve(import.meta.dirname, '../../../src/host/state-lock.ts');
  const script = `import('${module}').then((m) => m.takeLock(process.argv[1])).then(() => console.log('taken'), (e) => console.log(e.message))`;
  // A limit of 0 on what may be written stands for the full disk.
  const { stdout } = spawnSync('bash', ['-c', 'ulimit -f 0; exec "$0" "$@"', process.execPath, '-e', script, folder], {
    encoding: 'utf8',
  });
  expect(stdout).toBe('taken\n');
});

/** Containers refuse a mount, or a remount, of their own. */
const canRemount =
  spawnSync('unshare', ['-rm', 'sh', '-c', 'mount -t tmpfs none /mnt && mount -o remount,ro /mnt']).status === 0;

it.runIf(canRemount)(
  'the lock of a state folder is taken once on a card that has become read-only, and not where no agent ever ran',
  () => {
    const module = resolve(import.meta.dirname, '../../../src/host/state-lock.ts');
    const script = `import('${module}').then(async ({ takeLock }) => {
    const take = () => takeLock(process.argv[1]).then((lock) => (console.log('taken'), lock), (e) => console.log(e.code, e.message));
    const lock = await take();
    await take();
    await lock?.close();
    (await take())?.close();
  })`;
    const after = (before: string): string =>
      spawnSync(
        'unshare',
        [
          '-rm',
          'bash',
          '-c',
          `mount -t tmpfs none "$1" && ${before} && mount -o remount,ro "$1" && exec "$0" -e "$2" "$1"`,
          process.execPath,
        ].concat(folder, script),
        { encoding: 'utf8' },
      ).stdout;
    expect(after('touch "$1/agent.lock"')).toMatch(/^taken\nhost\/already-running .*\ntaken\n$/);
    expect(after('true')).toMatch(/^(host\/write-failed .*: EROFS\n){3}$/);
  },
);

describe('time synchronisation', () => {
  it('is looked for until it is there, and told once', async () => {
    const clock = new FakeClock();
    const answers = [false, false, true];
    const sync = new TimeSync({ clock, policy: 'system', ask: async () => answers.shift() ?? false });
    let told = 0;
    sync.onChange(() => {
      told += 1;
    });
    await sync.start();
    expect(sync.isSynchronised()).toBe(false);
    await clock.advance(10_000);
    expect([sync.isSynchronised(), told, clock.pending]).toEqual([true, 1, 0]);
  });

  it('takes the word of a plausible platform only when the policy says so', async () => {
    const clock = new FakeClock();
    for (const [policy, expected] of [
      ['platform', true],
      ['system', false],
    ] as const) {
      const sync = new TimeSync({ clock, policy, ask: async () => false });
      await sync.start();
      sync.heardPlatformDate(clock.wallMs() + 3_600_000, 0);
      expect(sync.isSynchronised()).toBe(false);
      sync.heardPlatformDate(clock.wallMs() + 2_000, 0);
      expect(sync.isSynchronised()).toBe(expected);
      sync.close();
    }
    expect(clock.pending).toBe(0);
  });

  it('takes the date of the platform for a clock that is far off, when nobody sets it within a minute', async () => {
    const clock = new FakeClock();
    clock.stepWall(-3_600_000);
    const sync = new TimeSync({ clock, policy: 'platform', ask: async () => false });
    let told = 0;
    sync.onChange(() => {
      told += 1;
    });
    await sync.start();
    const truthMs = (): number => clock.wallMs() + 3_600_000;
    for (const lateMs of [900, 100, 700]) {
      sync.heardPlatformDate(truthMs() - lateMs, 0);
      await clock.advance(19_000);
    }
    expect([sync.isSynchronised(), sync.correctionMs()]).toEqual([false, 0]);
    await clock.advance(3_001);
    expect([sync.isSynchronised(), sync.correctionMs(), told]).toEqual([true, 3_599_900, 1]);
    // The system's own word is better, and ends it.
    clock.stepWall(3_600_000);
    sync.heardPlatformDate(clock.wallMs(), 0);
    expect([sync.isSynchronised(), sync.correctionMs(), told]).toEqual([true, 0, 2]);
    await clock.advance(60_000);
    expect(clock.pending).toBe(0);
  });

  it('does not believe a clock that is off by more than the dates leave room for, and corrects it', async () => {
    const clock = new FakeClock();
    clock.stepWall(-16_000);
    const sync = new TimeSync({ clock, policy: 'platform', ask: async () => false });
    await sync.start();
    sync.heardPlatformDate(clock.wallMs() + 16_000 - 900, 100);
    expect(sync.isSynchronised()).toBe(false);
    await clock.advance(60_000);
    expect([sync.isSynchronised(), sync.correctionMs()]).toEqual([true, 15_100]);
    sync.close();
  });

  it.each([1_000, 2_000, 5_000])(
    'is corrected by dates that lag by up to two seconds, asked for every %i ms',
    async (everyMs) => {
      const clock = new FakeClock();
      clock.stepWall(-3_600_000);
      const sync = new TimeSync({ clock, policy: 'platform', ask: async () => false });
      await sync.start();
      // Made anew only when it is more than a second old, in whole seconds.
      let date = { madeAtMs: Number.NEGATIVE_INFINITY, saysMs: 0 };
      for (let n = 0; n * everyMs < 120_000; n += 1) {
        const truthMs = clock.wallMs() + 3_600_000 + 7 * (n % 13);
        if (truthMs - date.madeAtMs > 1_000) date = { madeAtMs: truthMs, saysMs: Math.floor(truthMs / 1_000) * 1_000 };
        sync.heardPlatformDate(date.saysMs, 40);
        await clock.advance(everyMs);
      }
      expect(sync.isSynchronised()).toBe(true);
      expect(Math.abs(sync.correctionMs() - 3_600_000)).toBeLessThan(2_000);
      sync.close();
    },
  );

  it('goes on with two servers whose clocks are a little apart', async () => {
    const clock = new FakeClock();
    clock.stepWall(-3_600_000);
    const sync = new TimeSync({ clock, policy: 'platform', ask: async () => false });
    await sync.start();
    for (let n = 0; n < 40; n += 1) {
      sync.heardPlatformDate(clock.wallMs() + 3_600_000 + (n % 2) * 3_500, 40);
      await clock.advance(2_000);
    }
    expect(sync.isSynchronised()).toBe(true);
    sync.close();
  });

  it('lets slow answers confirm a clock only together, or when nothing contradicts it for a minute', async () => {
    const clock = new FakeClock();
    const sync = new TimeSync({ clock, policy: 'platform', ask: async () => false });
    await sync.start();
    sync.heardPlatformDate(clock.wallMs() - 10_000, 10_000);
    expect(sync.isSynchronised()).toBe(false);
    sync.heardPlatformDate(clock.wallMs() - 1_000, 10_000);
    expect(sync.isSynchronised()).toBe(true);
    const other = new TimeSync({ clock, policy: 'platform', ask: async () => false });
    await other.start();
    other.heardPlatformDate(clock.wallMs() - 10_000, 10_000);
    await clock.advance(60_000);
    expect(other.isSynchronised()).toBe(false);
    other.heardPlatformDate(clock.wallMs() - 10_000, 10_000);
    expect(other.isSynchronised()).toBe(true);
  });

  it.each([
    ['fast', -50e-6, 0],
    ['slow', 50e-6, 0],
    ['slow, and wrong from the start', 50e-6, 3_600_000],
    ['fast, and wrong from the start', -50e-6, 3_600_000],
  ])(
    'goes on correcting a clock that is %s, by no more than it is wrong and without end',
    async (_name, drift, wrongMs) => {
      const clock = new FakeClock();
      const sync = new TimeSync({ clock, policy: 'platform', ask: async () => false });
      await sync.start();
      const [startMs, startWallMs] = [clock.monotonicMs(), clock.wallMs() + wrongMs];
      const truthMs = (): number => startWallMs + (clock.monotonicMs() - startMs) * (1 + drift);
      const errorMs = (): number => clock.wallMs() + sync.correctionMs() - truthMs();
      const steps: number[] = [];
      let [before, worstMs] = [0, 0];
      for (let n = 0; n < 8 * 96; n += 1) {
        sync.heardPlatformDate(Math.floor(truthMs() / 1_000) * 1_000, 50);
        await clock.advance(899_000 + 7 * (n % 13));
        if (sync.correctionMs() !== before && n > 4) steps.push(sync.correctionMs() - before);
        before = sync.correctionMs();
        if (n > 4) worstMs = Math.max(worstMs, Math.abs(errorMs()));
      }
      expect(sync.isSynchronised()).toBe(true);
      expect(worstMs).toBeLessThan(5_000);
      // 35 s of drift in eight days.
      expect(steps.length).toBeGreaterThan(5);
      expect(steps.length).toBeLessThan(20);
      expect(Math.max(...steps.map(Math.abs))).toBeLessThan(5_000);
      expect(new Set(steps.map(Math.sign))).toEqual(new Set([Math.sign(drift)]));
      sync.close();
    },
  );

  it('asks the system before it corrects a clock that it confirmed', async () => {
    const clock = new FakeClock();
    let isSet = false;
    const sync = new TimeSync({ clock, policy: 'platform', ask: async () => isSet });
    await sync.start();
    sync.heardPlatformDate(clock.wallMs(), 0);
    await clock.advance(10_000);
    expect([sync.isSynchronised(), clock.pending]).toEqual([true, 0]);
    isSet = true;
    sync.heardPlatformDate(clock.wallMs() + 60_000, 0);
    await clock.advance(61_000);
    expect([sync.isSynchronised(), sync.correctionMs(), clock.pending]).toEqual([true, 0, 0]);
  });

  it('follows the date of the platform after the machine stood still', async () => {
    const clock = new FakeClock();
    const sync = new TimeSync({ clock, policy: 'platform', ask: async () => false });
    await sync.start();
    const dateMs = clock.wallMs() + 3_600_000 - clock.monotonicMs();
    sync.heardPlatformDate(dateMs + clock.monotonicMs(), 0);
    await clock.advance(61_000);
    sync.heardPlatformDate(dateMs + clock.monotonicMs() + 600_000, 0);
    await clock.advance(61_000);
    expect(sync.correctionMs()).toBe(4_200_000);
    sync.close();
    expect(clock.pending).toBe(0);
  });

  it.each([
    ['a date before there was such an agent', 'platform', Date.UTC(2024, 0, 1)],
    ['a date that no server can mean', 'platform', Date.UTC(9999, 0, 1)],
    ['any date, when only the system counts', 'system', 1_780_003_600_000],
  ] as const)('never takes %s', async (_name, policy, dateMs) => {
    const clock = new FakeClock();
    const sync = new TimeSync({ clock, policy, ask: async () => false });
    await sync.start();
    sync.heardPlatformDate(dateMs, 0);
    await clock.advance(600_000);
    expect([sync.isSynchronised(), sync.correctionMs()]).toEqual([false, 0]);
    sync.close();
  });

  it('goes on asking the system while the date of the platform stands in', async () => {
    const clock = new FakeClock();
    let isSet = false;
    const sync = new TimeSync({ clock, policy: 'platform', ask: async () => isSet });
    await sync.start();
    sync.heardPlatformDate(clock.wallMs() + 3_600_000, 0);
    await clock.advance(61_000);
    expect(sync.correctionMs()).toBe(3_600_000);
    isSet = true;
    clock.stepWall(3_600_000);
    await clock.advance(5_000);
    expect([sync.isSynchronised(), sync.correctionMs(), clock.pending]).toEqual([true, 0, 0]);
  });
});
