import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Backoff } from '../../../src/host/backoff.ts';
import { readWhole, setAside, writeDurably } from '../../../src/host/durable-file.ts';
import { AgentLog } from '../../../src/host/log.ts';
import { StateLock } from '../../../src/host/state-lock.ts';
import { TimeSync } from '../../../src/host/time-sync.ts';
import { FakeClock } from '../../support/fake-clock.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-host-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('a durable file', () => {
  it('is replaced whole, is private, and leaves nothing beside it', async () => {
    const path = join(folder, 'state.json');
    await writeDurably(path, 'first');
    await chmod(path, 0o666);
    await writeDurably(path, 'second');
    expect((await readWhole(path))?.toString()).toBe('second');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(['state.json']);
  });

  it('names the file and the fault when it cannot be written', async () => {
    await expect(writeDurably(join(folder, 'none', 'x'), '')).rejects.toMatchObject({
      code: 'host/write-failed',
      message: expect.stringContaining('ENOENT'),
    });
  });

  it('does not write through a link that somebody left at its temporary name', async () => {
    await writeFile(join(folder, 'victim'), 'untouched');
    await symlink(join(folder, 'victim'), join(folder, 'x.tmp'));
    await expect(writeDurably(join(folder, 'x'), 'new')).rejects.toMatchObject({ code: 'host/write-failed' });
    expect(await readFile(join(folder, 'victim'), 'utf8')).toBe('untouched');
  });

  it('is undefined when absent and refused when larger than its limit', async () => {
    expect(await readWhole(join(folder, 'none'))).toBeUndefined();
    await writeFile(join(folder, 'big'), 'x'.repeat(11));
    await expect(readWhole(join(folder, 'big'), 10)).rejects.toMatchObject({ code: 'host/read-failed' });
  });

  it('keeps its content when set aside', async () => {
    await writeFile(join(folder, 'x'), 'broken');
    expect(await readFile(await setAside(join(folder, 'x')), 'utf8')).toBe('broken');
  });
});

describe('the log', () => {
  it('shows no secret, wherever in a line it stands and however it is written there', () => {
    const lines: string[] = [];
    const log = new AgentLog({ level: 'debug', sink: { write: (line) => lines.push(line) } });
    log.hide('t0k en"é');
    log.error(
      { url: `http://host/api/v1/${encodeURIComponent('t0k en"é')}/rpc`, err: new Error('no answer for t0k en"é') },
      'token t0k en"é',
    );
    expect(lines.join('')).not.toMatch(/t0k/);
    expect(lines[0]).toContain('[secret]');
  });

  it('changes its level while it runs', () => {
    const lines: string[] = [];
    const log = new AgentLog({ level: 'warn', sink: { write: (line) => lines.push(line) } });
    log.info({}, 'unheard');
    log.level = 'info';
    log.info({ n: 1 }, 'heard');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ level: 'info', n: 1, msg: 'heard' }]);
  });
});

describe('backoff', () => {
  it('doubles its bound up to the greatest, draws below it, and starts again after a success', () => {
    const backoff = new Backoff({ firstMs: 100, maxMs: 1_000, random: () => 0.9999999 });
    expect([1, 2, 3, 4, 5, 6].map(() => Math.round(backoff.nextMs()))).toEqual([100, 200, 400, 800, 1_000, 1_000]);
    backoff.reset();
    expect(Math.round(backoff.nextMs())).toBe(100);
  });

  it('is never no delay at all, and never less than the server asked for', () => {
    const backoff = new Backoff({ firstMs: 100, maxMs: 1_000, random: () => 0 });
    expect(backoff.nextMs()).toBe(10);
    expect(backoff.nextMs(5_000)).toBe(5_000);
  });
});

describe('the lock of a state folder', () => {
  it('is refused to a second process, by the name of the first, and free again when that one is killed', async () => {
    const lock = await StateLock.take(folder);
    const module = resolve(import.meta.dirname, '../../../src/host/state-lock.ts');
    const second = () =>
      spawnSync(
        process.execPath,
        [
          '-e',
          `import('${module}').then((m) => m.StateLock.take(process.argv[1])).then(() => console.log('taken'), (e) => console.log(e.code, e.message))`,
          folder,
        ],
        {
          encoding: 'utf8',
        },
      ).stdout;
    expect(second()).toContain(`host/already-running another agent (process ${process.pid})`);
    await lock.close();
    expect(second()).toContain('taken');
    await (await StateLock.take(folder)).close();
  });
});

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
      sync.heardPlatformDate(clock.wallMs() + 3_600_000);
      expect(sync.isSynchronised()).toBe(false);
      sync.heardPlatformDate(clock.wallMs() + 2_000);
      expect(sync.isSynchronised()).toBe(expected);
      sync.close();
    }
    expect(clock.pending).toBe(0);
  });
});
