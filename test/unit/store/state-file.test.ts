import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import { sealJson } from '../../../src/store/sealed-json.ts';
import { StateFile, type StateFileDeps } from '../../../src/store/state-file.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { MemoryFiles } from '../../support/memory-files.ts';
import { everyDamage } from '../../support/one-bit.ts';
import { StandingAlerts } from '../devices/state-folder.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-state-'));
  path = join(folder, 'state.json');
});
afterEach(() => rm(folder, { recursive: true }));

const file = (more: Partial<StateFileDeps> = {}): StateFile =>
  new StateFile({
    path,
    format: 'turnstone/x',
    version: 1,
    files: systemFiles,
    clock: new FakeClock(),
    log: silentLog,
    ...more,
  });

function inMemory() {
  const clock = new FakeClock();
  const files = new MemoryFiles();
  return { clock, files, opened: (log = silentLog): StateFile => file({ path: '/state.json', files, clock, log }) };
}

const behindMark = '/run/behind/state.json';

function marked({ clock, files }: ReturnType<typeof inMemory>): StateFile {
  return file({ path: '/state.json', files, clock, behindMark });
}

describe('a state file', () => {
  it('gives back what was saved last, longs too', async () => {
    const saved = file();
    saved.save({ n: 1 });
    saved.save({ n: 2n ** 60n });
    await saved.flush();
    expect(await file().read()).toEqual({ n: 2n ** 60n });
    expect(await file({ path: join(folder, 'none.json') }).read()).toBeUndefined();
  });

  it('gives back what is nested deeper and is more than anybody else may send', async () => {
    const state = JSON.parse(`{"deep":${'['.repeat(200)}${']'.repeat(200)},"many":[${Array(100_001).fill(0)}]}`);
    const saved = file();
    saved.save(state);
    await saved.flush();
    expect(await file().read()).toEqual(state);
  });

  it('skips states that come faster than the disk, and never the last', async () => {
    const files = new MemoryFiles();
    const written: string[] = [];
    const gates: (() => void)[] = [];
    files.faults = {
      delay: (operation) => {
        if (operation !== 'sync') return undefined;
        written.push(files.contentOf('/state.json.tmp').toString());
        return new Promise<void>((resolve) => gates.push(resolve));
      },
    };
    const slow = file({ path: '/state.json', files });
    for (let n = 1; n <= 100; n += 1) slow.save({ n });
    const flushed = slow.flush();
    await new Promise((resolve) => setImmediate(resolve));
    gates[0]?.();
    await new Promise((resolve) => setImmediate(resolve));
    gates[1]?.();
    await flushed;
    expect(written.map((content) => (JSON.parse(content) as { state: { n: number } }).state.n)).toEqual([1, 100]);
  });

  it.each(['open', 'write', 'sync', 'rename', 'sync-folder'] as const)(
    'is tried again until it is on disk after a failed %s',
    async (failing) => {
      const { clock, files, opened } = inMemory();
      const lines: string[] = [];
      const log = {
        ...silentLog,
        warn: (_: object, message: string) => lines.push(message),
        info: (_: object, message: string) => lines.push(message),
      };
      files.faults = { fail: (operation) => (operation === failing ? { code: 'ENOSPC' } : undefined) };
      const state = opened(log);
      state.save({ n: 1 });
      await state.flush();
      await clock.advance(3_600_000);
      expect(lines).toEqual(['a state file was not written and is tried again']);
      files.faults = {};
      await clock.advance(60_000);
      expect(lines.slice(1)).toEqual(['a state file is written again']);
      files.cutPower(() => false);
      expect([await opened().read(), clock.pending]).toEqual([{ n: 1 }, 0]);
    },
  );

  it('has the newest state written when the disk is well again, and seldom tries until then', async () => {
    const { clock, files, opened } = inMemory();
    let tries = 0;
    files.faults = { fail: (operation) => (operation === 'write' && ++tries > 0 ? { code: 'EROFS' } : undefined) };
    const state = opened();
    state.save({ n: 1 });
    await clock.advance(0);
    state.save({ n: 2 });
    await clock.advance(3_600_000);
    expect(tries).toBeGreaterThan(60);
    expect(tries).toBeLessThan(700);
    files.faults = {};
    await clock.advance(60_000);
    expect(await opened().read()).toEqual({ n: 2 });
  });

  it('is tried once more when it is closed, and not after that', async () => {
    const { clock, files, opened } = inMemory();
    let tries = 0;
    files.faults = { fail: (operation) => (operation === 'write' && ++tries > 0 ? { code: 'EIO' } : undefined) };
    const state = opened();
    state.save({ n: 1 });
    await clock.advance(0);
    await state.close();
    await state.close();
    expect([tries, clock.pending]).toEqual([3, 0]);
  });

  it.each(['EMFILE', 'ENFILE', 'EIO', 'ENOMEM', 'EACCES'])(
    'stays where it is when it cannot be read for %s, and is lost to this run',
    async (code) => {
      const { clock, files, opened } = inMemory();
      const earlier = opened();
      earlier.save({ n: 1 });
      await earlier.close();
      files.faults = { fail: (operation) => (operation === 'open' || operation === 'read' ? { code } : undefined) };
      const unread = opened();
      const reading = unread.read();
      await clock.advance(1_000);
      expect([await reading, unread.isLost]).toEqual([undefined, true]);
      files.faults = {};
      expect([files.paths, await opened().read()]).toEqual([['/state.json'], { n: 1 }]);
    },
  );

  it('is read when what stood in the way has passed', async () => {
    const { clock, files, opened } = inMemory();
    const earlier = opened();
    earlier.save({ n: 1 });
    await earlier.close();
    files.faults = { fail: (operation) => (operation === 'open' ? { code: 'EMFILE' } : undefined) };
    const late = opened();
    const reading = late.read();
    await clock.advance(300);
    files.faults = {};
    await clock.advance(700);
    expect([await reading, late.isLost]).toEqual([{ n: 1 }, false]);
  });

  it('is done without while the disk hangs, and kept for a person', async () => {
    const { clock, files, opened } = inMemory();
    const earlier = opened();
    earlier.save({ n: 1 });
    await earlier.close();
    files.faults = { delay: (operation) => (operation === 'read' ? new Promise(() => {}) : undefined) };
    const hung = opened();
    const reading = hung.read();
    await clock.advance(10_000);
    expect([await reading, hung.isLost, clock.pending]).toEqual([undefined, true, 0]);
    files.faults = {};
    hung.save({ n: 2 });
    await hung.close();
    expect(JSON.parse(files.contentOf('/state.json.corrupt').toString()).state).toEqual({ n: 1 });
  });

  it('is not lost when there never was one, and is when it holds nonsense', async () => {
    const none = file();
    expect([await none.read(), none.isLost]).toEqual([undefined, false]);
    await writeFile(path, 'nonsense');
    const damaged = file();
    expect([await damaged.read(), damaged.isLost]).toEqual([undefined, true]);
  });

  it('that cannot be read is no reason not to start', async () => {
    await mkdir(path);
    expect(await file().read()).toBeUndefined();
  });

  it.each([
    '',
    '{"format":"turn',
    '[]',
    '{"format":"other","version":1,"state":{}}',
    '{"format":"turnstone/x","version":2,"state":{}}',
  ])('is set aside, not overwritten, when it holds %j', async (content) => {
    await writeFile(path, content);
    const damaged = file();
    expect(await damaged.read()).toBeUndefined();
    damaged.save({ n: 1 });
    await damaged.flush();
    expect((await readdir(folder)).sort()).toEqual(['state.json', 'state.json.corrupt']);
    expect(await readFile(`${path}.corrupt`, 'utf8')).toBe(content);
    expect(await file().read()).toEqual({ n: 1 });
  });

  it('is set aside with any of its bits wrong', async () => {
    const { files, opened } = inMemory();
    const earlier = opened();
    earlier.save({ n: 1 });
    await earlier.close();
    for (const damaged of everyDamage(files.contentOf('/state.json').toString())) {
      files.put('/state.json', damaged);
      const one = opened();
      expect([await one.read(), one.isLost, one.liesUnread]).toEqual([undefined, true, false]);
      expect(files.contentOf('/state.json.corrupt')).toEqual(damaged);
    }
  });

  it.each([
    ['without a check value', (text: string) => text.replace(/,"crc32":"\w+"/, '')],
    ['with another check value', (text: string) => text.replace(/"crc32":"\w+"/, '"crc32":"00000000"')],
  ])('%s is set aside', async (_what, damaged) => {
    const { files, opened } = inMemory();
    files.put('/state.json', damaged(sealJson({ format: 'turnstone/x', version: 1, state: { n: 1 } })));
    const state = opened();
    expect([await state.read(), state.isLost, files.paths]).toEqual([undefined, true, ['/state.json.corrupt']]);
  });

  it('is done without where nobody says whether it was set aside, and no alert tells of what may be whole', async () => {
    const { clock, files } = inMemory();
    const standing = new StandingAlerts();
    files.faults = { delay: (operation) => (operation === 'facts' ? new Promise(() => {}) : undefined) };
    const state = file({ path: '/state.json', files, clock, alerts: standing });
    const reading = state.read();
    await clock.advance(10_000);
    expect([await reading, state.isLost, standing.standing.size, clock.pending]).toEqual([undefined, true, 0, 0]);
  });

  it('that was set aside is lost to each process until one has written anew, and a person is told for a day', async () => {
    const { clock, files, opened } = inMemory();
    const standing = new StandingAlerts();
    const told = (): StateFile => file({ path: '/state.json', files, clock, alerts: standing });
    expect([await told().read(), standing.standing.size]).toEqual([undefined, 0]);
    files.put('/state.json', 'nonsense');
    for (let start = 0; start < 2; start += 1) {
      const state = told();
      expect([await state.read(), state.isLost, [...standing.standing.keys()]]).toEqual([
        undefined,
        true,
        ['lost /state.json'],
      ]);
    }
    await clock.advance(86_399_999);
    expect(standing.standing.size).toBe(1);
    await clock.advance(1);
    expect(standing.standing.size).toBe(0);
    const state = told();
    await state.read();
    state.save({ n: 1 });
    await state.close();
    const after = opened();
    expect([await after.read(), after.isLost, clock.pending]).toEqual([{ n: 1 }, false, 0]);
  });

  it('keeps a copy of what it could not read before it writes in its place', async () => {
    const { clock, files, opened } = inMemory();
    const precious = JSON.stringify({ format: 'turnstone/x', version: 1, state: { precious: 42 } });
    files.put('/state.json', precious);
    files.faults = { fail: (operation) => (operation === 'open' ? { code: 'EMFILE' } : undefined) };
    const one = opened();
    const reading = one.read();
    await clock.advance(5_000);
    expect(await reading).toBeUndefined();
    files.faults = {};
    one.save({ fresh: 1 });
    await one.flush();
    expect(files.contentOf('/state.json.corrupt').toString()).toBe(precious);
    expect(await opened().read()).toEqual({ fresh: 1 });
    one.save({ fresh: 2 });
    await one.flush();
    expect(files.contentOf('/state.json.corrupt').toString()).toBe(precious);
  });

  describe('that is behind what was known last', () => {
    it.each([
      ['cannot be written', { fail: (operation: string) => (operation === 'sync' ? { code: 'ENOSPC' } : undefined) }],
      [
        'is being written for ever',
        { delay: (operation: string) => (operation === 'sync' ? new Promise<void>(() => {}) : undefined) },
      ],
    ])('as it %s is not believed by the next process, and is again once it has been written', async (_what, faults) => {
      const world = inMemory();
      const first = marked(world);
      await first.read();
      first.save({ n: 1 });
      await first.flush();
      world.files.faults = faults;
      first.save({ n: 2 });
      await world.clock.advance(1_000);
      world.files.faults = {};
      const next = marked(world);
      expect([await next.read(), next.isLost]).toEqual([{ n: 1 }, true]);
      next.save({ n: 3 });
      await next.flush();
      const after = marked(world);
      expect([await after.read(), after.isLost, world.files.paths]).toEqual([{ n: 3 }, false, ['/state.json']]);
    });

    it('as it is too large to be kept is not believed by the next process, nor after a reboot', async () => {
      const world = inMemory();
      const first = marked(world);
      await first.read();
      first.save({ n: 1 });
      await first.flush();
      first.save({ text: 'v'.repeat(9_000_000) });
      await first.flush();
      const next = marked(world);
      expect([await next.read(), next.isLost]).toEqual([{ n: 1 }, true]);
      const later = rebooted(world);
      expect([await later.read(), later.isLost]).toEqual([{ n: 1 }, true]);
    });

    const rebooted = (world: ReturnType<typeof inMemory>): StateFile => {
      world.files.unlinkNow(behindMark);
      world.files.cutPower(() => false);
      return marked(world);
    };

    /** Whose first state a full disk did not take; it has room from here on. */
    const marksOnce = async (): Promise<{ readonly world: ReturnType<typeof inMemory>; readonly first: StateFile }> => {
      const world = inMemory();
      const first = marked(world);
      const full = world.files.addFaults({
        fail: (operation) => (operation === 'write' ? { code: 'ENOSPC' } : undefined),
      });
      first.save({ n: 0 });
      await first.flush();
      full();
      return { world, first };
    };

    it.each(['open', 'write', 'sync', 'rename'] as const)(
      'is not believed after a reboot either, when every %s of a new one failed',
      async (failing) => {
        const world = inMemory();
        const first = marked(world);
        first.save({ n: 1 });
        await first.flush();
        world.files.faults = {
          fail: (operation, path) =>
            operation === failing && path === '/state.json.tmp' ? { code: 'ENOSPC' } : undefined,
        };
        first.save({ n: 2 });
        await first.flush();
        world.files.faults = {};
        const next = rebooted(world);
        expect([await next.read(), next.isLost]).toEqual([{ n: 1 }, true]);
        next.save({ n: 3 });
        await next.flush();
        const after = rebooted(world);
        expect([await after.read(), after.isLost, world.files.paths]).toEqual([{ n: 3 }, false, ['/state.json']]);
      },
    );

    it('is missed after a reboot also when it was never whole', async () => {
      const world = inMemory();
      world.files.faults = {
        fail: (operation) => (operation === 'write' ? { code: 'ENOSPC', short: true } : undefined),
      };
      const first = marked(world);
      first.save({ n: 1 });
      await first.flush();
      world.files.faults = {};
      const next = rebooted(world);
      expect([await next.read(), next.isLost]).toEqual([undefined, true]);
    });

    it('stays so when it fails once more after it was written, whatever was waiting then', async () => {
      const { world, first } = await marksOnce();
      let synced = 0;
      world.files.faults = {
        fail: (operation) => (operation === 'sync' && ++synced > 1 ? { code: 'ENOSPC' } : undefined),
      };
      first.save({ n: 1 });
      first.save({ n: 2 });
      await first.flush();
      expect(synced).toBeGreaterThan(1);
      world.files.faults = {};
      const next = rebooted(world);
      await next.read();
      expect(next.isLost).toBe(true);
    });

    it('keeps its mark while something newer is being written', async () => {
      const { world, first } = await marksOnce();
      let synced = 0;
      world.files.faults = {
        delay: (operation) => (operation === 'sync' && ++synced > 1 ? new Promise(() => {}) : undefined),
      };
      first.save({ n: 1 });
      first.save({ n: 2 });
      await world.clock.advance(10);
      expect([synced, world.files.isThereNow(behindMark)]).toEqual([2, true]);
    });

    it('is written as it was known last when an older state failed meanwhile', async () => {
      const { clock, files, opened } = inMemory();
      let fail = (): void => {};
      files.faults = {
        delay: (operation) =>
          operation === 'sync' ? new Promise((_, reject) => (fail = () => reject(new Error('EIO')))) : undefined,
      };
      const one = opened();
      one.save({ n: 1 });
      await clock.advance(0);
      one.save({ n: 2 });
      files.faults = {};
      fail();
      await one.close();
      expect(await opened().read()).toEqual({ n: 2 });
    });

    it('or may be is not believed', async () => {
      const world = inMemory();
      world.files.faults = { fail: (operation) => (operation === 'facts' ? { code: 'EIO' } : undefined) };
      const doubtful = marked(world);
      expect([await doubtful.read(), doubtful.isLost]).toEqual([undefined, true]);
    });
  });

  it('writes nothing that it could not read back', async () => {
    const { opened } = inMemory();
    const one = opened();
    one.save({ text: 'v'.repeat(7_000_000) });
    await one.flush();
    expect(Object.keys((await opened().read()) ?? {})).toEqual(['text']);
    one.save({ text: 'v'.repeat(9_000_000) });
    await one.flush();
    expect(String((await opened().read())?.text)).toHaveLength(7_000_000);
  });
});
