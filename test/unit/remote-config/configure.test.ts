/** Root's part of a configuration from afar: nothing in the service's folder is believed. */
import { spawn } from 'node:child_process';
import { chmod, chown, mkdir, open, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { configure, isConfigurationOnTrial } from '../../../src/remote-config/root/configure.ts';
import { settle } from '../../../src/remote-config/root/end-trial.ts';
import { AFTER, BEFORE, hashOf, RootConfigBench } from '../../support/root-config-bench.ts';

const MB = 1024 * 1024;
const isRoot = process.getuid?.() === 0;
let bench: RootConfigBench;
beforeEach(async () => {
  bench = await RootConfigBench.make();
});
afterEach(() => bench.remove());

const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o777).toString(8);

async function expectRefused(reason: RegExp, inPlace = BEFORE): Promise<void> {
  expect(await bench.seen()).toEqual({
    inPlace,
    trial: undefined,
    result: expect.objectContaining({ id: 'one', outcome: 'refused', reason: expect.stringMatching(reason) }),
  });
  expect(bench.done.filter((one) => one !== 'stop timer')).toEqual([]);
  expect(await bench.left()).toEqual([]);
}

describe('a configuration that is asked for', () => {
  it('is installed on trial: timed, laid, replaced, told, and taken up', async () => {
    const { changes } = await bench.ask();
    expect(await bench.seen()).toMatchObject({
      inPlace: AFTER,
      trial: 'one',
      result: { id: 'one', outcome: 'trying', hash: hashOf(AFTER), reason: '', atMs: bench.clock.wallMs() },
    });
    expect(bench.done).toEqual(['timer 330', 'reload']);
    const guard = 'var/lib/turnstone-guard/configuration';
    const order = changes
      .map((change) => change.trim())
      .filter((change) => /state|timer|on-trial$|turnstone.yaml$|result$|reload/.test(change));
    expect(order).toEqual([
      'timer 330',
      `write ${guard}/state`,
      'write etc/turnstone/.turnstone.yaml.on-trial',
      'rename etc/turnstone/turnstone.yaml',
      `write ${guard}/result`,
      'reload',
    ]);
    expect(await isConfigurationOnTrial(bench.deps())).toBe(true);
  });

  it('lays all that the way back needs before the trial begins', async () => {
    const { changes } = await bench.ask();
    const laid = changes.slice(
      0,
      changes.findIndex((change) => change.endsWith('/state')),
    );
    for (const name of [
      'configuration/before',
      '.turnstone.yaml.before-trial',
      'configuration/trial',
      'result.back',
      'starts',
    ])
      expect(
        laid.some((change) => change.endsWith(name)),
        name,
      ).toBe(true);
  });

  it('has the mode of the file in place, and so have all its copies; what is told can be read by all', async () => {
    await chmod(bench.file, 0o600);
    await bench.ask();
    for (const path of [bench.file, bench.wayBack, bench.paths.before, bench.paths.trial])
      expect(await modeOf(path), path).toBe('600');
    for (const path of [bench.paths.state, bench.paths.result]) expect(await modeOf(path), path).toBe('644');
    for (const path of [bench.paths.folder, bench.paths.history]) expect(await modeOf(path), path).toBe('755');
  });

  it.skipIf(!isRoot)('has the group of the file in place, and so have all its copies, and the history', async () => {
    await chown(bench.file, 0, 4242);
    await bench.ask();
    for (const path of [bench.file, bench.wayBack, bench.paths.before, bench.paths.trial])
      expect((await stat(path)).gid, path).toBe(4242);
    await bench.settle('returned');
    for (const path of [bench.file, join(bench.paths.history, '0001.yaml')])
      expect((await stat(path)).gid, path).toBe(4242);
    expect(process.getegid?.()).toBe(0);
  });

  it('is restarted for where that is needed', async () => {
    await bench.ask({ needs: 'restart' });
    await bench.settle('returned');
    expect(bench.done).toEqual(['timer 330', 'restart', 'restart', 'stop timer']);
  });

  it('may be asked for again while it is on trial: its time does not begin anew', async () => {
    await bench.ask();
    bench.clock.advance(60_000);
    await rm(bench.candidate);
    await bench.configure();
    expect(bench.done).toEqual(['timer 330', 'reload', 'reload']);
    expect(await bench.seen()).toMatchObject({ inPlace: AFTER, trial: 'one', result: { outcome: 'trying' } });
  });

  it.each(['kept', 'returned'] as const)('is not tried again by a request that has ended: %s', async (outcome) => {
    await bench.ask();
    await bench.settle(outcome);
    const [seen, done] = [await bench.seen(), bench.done.length];
    await bench.ask();
    expect([await bench.seen(), bench.done.length]).toEqual([seen, done]);
  });

  it('ends a trial before that the machine went down in, and nobody ended', async () => {
    await bench.ask();
    await bench.setBoot('boot-2');
    await bench.ask({ id: 'two', hash: hashOf(`${AFTER}#\n`) }, `${AFTER}#\n`);
    expect(await bench.seen()).toMatchObject({ inPlace: `${AFTER}#\n`, trial: 'two' });
    expect(await bench.historyText('0001')).toMatch(
      /outcome=returned\nreason=the machine went down during the trial\n/,
    );
  });
});

describe('a configuration is refused', () => {
  it('where its bytes are not those of the request', async () => {
    await bench.ask({}, `${AFTER} `);
    await expectRefused(/not the one that was asked for/);
  });

  it('where another file is in place than the one that was to be changed', async () => {
    await bench.ask({ before: hashOf('another') });
    await expectRefused(/not the one that was to be changed/);
  });

  it('where it is in place already', async () => {
    await bench.ask({ hash: hashOf(BEFORE) }, BEFORE);
    await expectRefused(/in place already/);
  });

  it.each([
    'version: 1\n',
    'remoteConfiguration: { enabled: false }\n',
    'remoteConfiguration: { enabled: "true" }\n',
    `remoteConfiguration: { enabled: "\${YES}" }\n`,
    'remoteConfiguration: true\n',
    'remoteConfiguration: [enabled]\n',
  ])('where the file in place does not allow it: %j', async (before) => {
    await bench.put('etc/turnstone/turnstone.yaml', before);
    await bench.ask({ before: hashOf(before) });
    await expectRefused(/enabled is not true/, before);
  });

  it('where it changes what is locked, with the first three by name', async () => {
    bench.locked = ['a', 'b', 'c', 'd'].map((path) => ({ path, words: 'is locked' }));
    await bench.ask();
    await expectRefused(/^4 changes are locked: a: is locked; b: is locked; c: is locked$/);
  });

  it('by what the file in place allows, and not by what it asks for itself', async () => {
    const before = 'remoteConfiguration: { enabled: true, allow: [outputs, everything, 7] }\n';
    const after = 'remoteConfiguration: { enabled: true, allow: [platform, programs, outputs] }\n';
    await bench.put('etc/turnstone/turnstone.yaml', before);
    await bench.put('var/lib/turnstone/firmware/configuration', after);
    const asked: unknown[] = [];
    const lockedChanges = (...words: unknown[]) => {
      asked.push(words);
      return [];
    };
    await configure(
      Object.assign(bench.deps(), { lockedChanges }),
      bench.request({ hash: hashOf(after), before: hashOf(before) }),
    );
    expect(asked).toEqual([
      [
        { remoteConfiguration: { enabled: true, allow: ['outputs', 'everything', 7] } },
        { remoteConfiguration: { enabled: true, allow: ['platform', 'programs', 'outputs'] } },
      ],
    ]);
  });

  it('while a release is on trial', async () => {
    bench.isReleaseOnTrial = true;
    await bench.ask();
    await expectRefused(/release is on trial/);
  });

  it('while another configuration is on trial, which goes on', async () => {
    await bench.ask();
    await bench.ask({ id: 'two', before: hashOf(AFTER), hash: hashOf('a: 1\n') }, 'a: 1\n');
    expect(await bench.seen()).toMatchObject({
      inPlace: AFTER,
      trial: 'one',
      result: { id: 'two', outcome: 'refused' },
    });
    await bench.settle('returned');
    expect((await bench.seen()).inPlace).toBe(BEFORE);
  });

  it('while the same request has another file', async () => {
    await bench.ask();
    await bench.ask({ hash: hashOf('a: 1\n') }, 'a: 1\n');
    expect(await bench.seen()).toMatchObject({ inPlace: AFTER, trial: 'one' });
  });

  it('where no timer can be started', async () => {
    bench.hasNoTimer = true;
    await bench.ask();
    await expectRefused(/no timer/);
  });

  it.skipIf(!isRoot)('where the file in place belongs to another user', async () => {
    await chown(bench.file, 4242, 0);
    await bench.ask();
    await expectRefused(/does not belong to root/);
  });

  it('where the file in place is a link, or none', async () => {
    await bench.put('etc/other.yaml', BEFORE);
    await rm(bench.file);
    await bench.ask();
    await expectRefused(/no regular file/, '');
    await symlink('../other.yaml', bench.file);
    await bench.ask();
    await expectRefused(/no regular file/);
  });

  it.each(['lockedChanges', 'isReleaseOnTrial'] as const)('where %s fails', async (name) => {
    await bench.put('var/lib/turnstone/firmware/configuration', AFTER);
    const failing = () => {
      throw new Error('it fails');
    };
    await configure(Object.assign(bench.deps(), { [name]: failing }), bench.request());
    await expectRefused(/it fails/);
  });
});

describe('what a person does meanwhile', () => {
  const SITE = `${BEFORE}# saved on site\n`;

  it('is not overwritten, where they save the file just before it is replaced: the change is refused', async () => {
    await bench.put('var/lib/turnstone/firmware/configuration', AFTER);
    const deps = bench.deps();
    const write: typeof deps.files.write = async (path, content, mode) => {
      await deps.files.write(path, content, mode);
      if (path.startsWith(join(bench.root, 'etc')) && path.endsWith('.on-trial')) await writeFile(bench.file, SITE);
    };
    await configure(Object.assign({}, deps, { files: Object.assign({}, deps.files, { write }) }), bench.request());
    expect(bench.done.splice(0)).toEqual(['timer 330', 'stop timer']);
    await expectRefused(/was changed meanwhile, and stays/, SITE);
  });

  it('is not touched, where a file of theirs has a name like the copies beside it', async () => {
    const own = ['turnstone.yaml.back', 'turnstone.yaml.tmp'];
    for (const outcome of ['kept', 'returned'] as const) {
      for (const name of own) await bench.put(`etc/turnstone/${name}`, 'of a person');
      const before = await bench.inPlace();
      const after = `${before}# ${outcome}\n`;
      await bench.ask({ id: outcome, before: hashOf(before), hash: hashOf(after) }, after);
      await bench.settle(outcome, { id: outcome });
      expect(await bench.seen()).toMatchObject({ trial: undefined, result: { id: outcome, outcome } });
      for (const name of own)
        expect(await readFile(join(bench.root, 'etc/turnstone', name), 'utf8')).toBe('of a person');
    }
  });

  it('is not touched, where a file that no trial made has the name of the way back: the change is refused', async () => {
    await writeFile(bench.wayBack, 'of a person');
    await bench.ask();
    expect(await bench.seen()).toMatchObject({
      inPlace: BEFORE,
      trial: undefined,
      result: { outcome: 'refused', reason: expect.stringContaining('is no file of a trial') },
    });
    expect(await readFile(bench.wayBack, 'utf8')).toBe('of a person');
    expect(await bench.left()).toEqual(['.turnstone.yaml.before-trial']);
    await rm(bench.wayBack);
    await bench.ask();
    expect((await bench.seen()).trial).toBe('one');
  });

  it('is not touched, where they have put it there during the trial', async () => {
    await bench.ask();
    await writeFile(bench.wayBack, 'of a person');
    await bench.settle('returned');
    expect(await bench.seen()).toMatchObject({ inPlace: BEFORE, trial: undefined });
    expect(await readFile(bench.wayBack, 'utf8')).toBe('of a person');
  });

  it('takes nothing from a change that comes after one that was cut short', async () => {
    const { changes } = await bench.ask();
    await bench.settle('returned');
    const at = changes.findIndex((change) => change.endsWith('configuration/state'));
    await bench.ask({ id: 'cut' }, AFTER, { at, when: 'before' });
    expect(await bench.left()).toContain('.turnstone.yaml.before-trial');
    await writeFile(bench.file, SITE);
    await bench.ask({ id: 'two', before: hashOf(SITE) });
    expect(await bench.seen()).toMatchObject({ inPlace: AFTER, trial: 'two' });
  });
});

describe("what lies in the service's folder", () => {
  const secret = (): string => join(bench.root, 'etc/secret');
  beforeEach(() => writeFile(secret(), AFTER, { mode: 0o600 }));

  it('is not followed where it is a link', async () => {
    await symlink(secret(), bench.candidate);
    await bench.configure();
    await expectRefused(/ELOOP/);
  });

  it('is not waited for where it is a pipe, nor read where it is a folder', async () => {
    await new Promise((resolve) => spawn('mkfifo', [bench.candidate]).once('exit', resolve));
    await bench.configure();
    await expectRefused(/not a regular file/);
    await rm(bench.candidate);
    await mkdir(bench.candidate);
    await bench.configure();
    await expectRefused(/not a regular file|EISDIR/);
  });

  it('is read to 1 MB and a byte, however long it is', async () => {
    await (await open(bench.candidate, 'w')).close();
    await truncate(bench.candidate, 1024 ** 4);
    await bench.configure();
    await expectRefused(/more than 1048576 bytes/);
  });

  it('may have 1 MB, and not a byte more', async () => {
    const text = (bytes: number): string => `${AFTER}#${'x'.repeat(bytes - AFTER.length - 1)}`;
    await bench.ask({ hash: hashOf(text(MB + 1)) }, text(MB + 1));
    await expectRefused(/more than 1048576 bytes/);
    await bench.ask({ id: 'two', hash: hashOf(text(MB)) }, text(MB));
    expect(await bench.seen()).toMatchObject({ trial: 'two' });
  });

  it('is read no further than that while it grows', async () => {
    await bench.put('var/lib/turnstone/firmware/configuration', AFTER);
    const deps = bench.deps();
    let read = 0;
    const endless = {
      read: async (into: Uint8Array) => {
        read += into.length;
        into.fill(0x23);
        return Math.min(into.length, 4096);
      },
      close: async () => {},
    };
    const openPlain = async () => endless as never;
    await configure(Object.assign(deps, { files: Object.assign({}, deps.files, { openPlain }) }), bench.request());
    await expectRefused(/more than 1048576 bytes/);
    expect(read).toBeLessThan(257 * (MB + 1));
  });

  it('is what was looked at, whatever becomes of it meanwhile', async () => {
    await bench.put('var/lib/turnstone/firmware/configuration', AFTER);
    const deps = bench.deps();
    // As quick as the service can be.
    const isReleaseOnTrial = async (): Promise<boolean> => {
      await writeFile(bench.candidate, 'evil: true\n');
      return false;
    };
    await configure(Object.assign(deps, { isReleaseOnTrial }), bench.request());
    expect(await bench.seen()).toMatchObject({ inPlace: AFTER, trial: 'one' });
  });

  it('is refused where it changes while it is copied', async () => {
    const long = `${AFTER}#${'x'.repeat(300_000)}\n`;
    await bench.put('var/lib/turnstone/firmware/configuration', long);
    const deps = bench.deps();
    const openPlain = async (path: string) => {
      const file = await deps.files.openPlain(path);
      const read = async (into: Uint8Array, at: number): Promise<number> => {
        const bytes = await file.read(into.subarray(0, 65_536), at);
        await writeFile(bench.candidate, long.replaceAll('x', 'y'));
        return bytes;
      };
      return Object.assign({}, file, { read });
    };
    const files = Object.assign({}, deps.files, { openPlain });
    await configure(Object.assign({}, deps, { files }), bench.request({ hash: hashOf(long) }));
    await expectRefused(/not the one that was asked for/);
  });

  it('is refused where its aliases expand', async () => {
    const levels = Array.from({ length: 8 }, (_, at) => `a${at + 1}: &a${at + 1} [${`*a${at}, `.repeat(9)}]\n`);
    const bomb = `a0: &a0 [1, 2, 3]\n${levels.join('')}`;
    await bench.ask({ hash: hashOf(bomb) }, bomb);
    await expectRefused(/the new file cannot be read: .*too many aliases/);
  });
});

describe('a trial', () => {
  it('that is kept leaves the file, and an entry in the history', async () => {
    await bench.ask();
    bench.done.length = 0;
    await bench.settle('kept', { reason: 'uploads, sensors and polls are well' });
    expect(await bench.seen()).toMatchObject({
      inPlace: AFTER,
      trial: undefined,
      result: { id: 'one', outcome: 'kept', hash: hashOf(AFTER), reason: 'uploads, sensors and polls are well' },
    });
    expect(bench.done).toEqual(['stop timer']);
    expect(await bench.left()).toEqual([]);
    expect(await bench.history()).toEqual(['0001', '0001.yaml']);
    expect(await bench.historyText('0001.yaml')).toBe(AFTER);
    expect(await bench.historyText('0001')).toBe(
      `id=one\nhash=${hashOf(AFTER)}\norigin=patch\noutcome=kept\nreason=uploads, sensors and polls are well\natMs=${bench.clock.wallMs()}\n`,
    );
    expect(await modeOf(join(bench.paths.history, '0001.yaml'))).toBe('640');
  });

  it('that is returned puts the file before back, byte for byte, and is taken up', async () => {
    await bench.ask();
    bench.done.length = 0;
    await bench.settle('returned', { reason: 'no upload' });
    expect(await bench.seen()).toMatchObject({
      inPlace: BEFORE,
      trial: undefined,
      result: { outcome: 'returned', reason: 'no upload' },
    });
    expect(bench.done).toEqual(['reload', 'stop timer']);
    expect(await bench.left()).toEqual([]);
    expect(await bench.historyText('0001')).toContain('outcome=returned\n');
    expect(await modeOf(bench.file)).toBe('640');
  });

  it('goes back by a rename, and by a copy where that way back is gone or damaged', async () => {
    for (const [at, spoil] of [() => {}, () => rm(bench.wayBack), () => writeFile(bench.wayBack, 'x')].entries()) {
      await bench.ask({ id: `try-${at}` });
      await spoil();
      const { changes } = await bench.settle('returned', { id: `try-${at}` });
      expect((await bench.seen()).inPlace).toBe(BEFORE);
      expect(changes.some((change) => change.startsWith('write etc/'))).toBe(at > 0);
    }
  });

  it('stays on where there is no whole file to go back to', async () => {
    await bench.ask();
    await rm(bench.wayBack);
    await writeFile(bench.paths.before, 'torn');
    await expect(bench.settle('returned')).rejects.toMatchObject({ code: 'remote-config/no-way-back' });
    expect(await bench.seen()).toMatchObject({ inPlace: AFTER, trial: 'one' });
  });

  it.each(['kept', 'returned'] as const)(
    'leaves what somebody has changed on site when it is to be %s',
    async (outcome) => {
      await bench.ask();
      await writeFile(bench.file, 'on: site\n');
      await bench.settle(outcome);
      expect(await bench.seen()).toMatchObject({
        inPlace: 'on: site\n',
        trial: undefined,
        result: { outcome: 'kept', hash: hashOf('on: site\n'), reason: expect.stringContaining('on site') },
      });
      expect(await bench.historyText('0001.yaml')).toBe('on: site\n');
      expect(await bench.historyText('0001')).toContain('origin=site\noutcome=kept\n');
      expect(await bench.left()).toEqual([]);
    },
  );

  it('goes back from a file of the site that the agent cannot take, and sets that aside', async () => {
    await bench.ask();
    await writeFile(bench.file, 'on: site\n');
    bench.done.length = 0;
    await bench.settle('returned', { refused: hashOf('on: site\n') });
    expect(await bench.seen()).toMatchObject({
      inPlace: BEFORE,
      trial: undefined,
      result: { outcome: 'returned', hash: hashOf(AFTER) },
    });
    expect(await readFile(`${bench.file}.refused`, 'utf8')).toBe('on: site\n');
    expect(bench.done).toEqual(['reload', 'stop timer']);
  });

  it('leaves a file of the site that is saved while it goes back', async () => {
    await bench.ask();
    const deps = bench.deps();
    const files = {
      ...deps.files,
      write: async (...args: Parameters<typeof deps.files.write>) => {
        await deps.files.write(...args);
        if (args[0] === bench.paths.result) await writeFile(bench.file, 'on: site\n');
      },
    };
    await settle({ ...deps, files }, { request: 'settle', id: 'one', outcome: 'returned', reason: 'because' });
    expect(await bench.seen()).toMatchObject({ inPlace: 'on: site\n', trial: undefined, result: { outcome: 'kept' } });
  });

  it('leaves a file of the site that was saved once more since', async () => {
    await bench.ask();
    await writeFile(bench.file, 'on: site, again\n');
    await bench.settle('returned', { refused: hashOf('on: site\n') });
    expect(await bench.seen()).toMatchObject({ inPlace: 'on: site, again\n', result: { outcome: 'kept' } });
  });

  it.each([
    ['kept', []],
    ['returned', ['reload']],
  ] as const)('leaves an agent with the file of the site when it is to be %s: %j', async (outcome, told) => {
    await bench.ask();
    await writeFile(bench.file, 'on: site\n');
    bench.done.length = 0;
    await bench.settle(outcome);
    expect(bench.done).toEqual([...told, 'stop timer']);
  });

  it('has an agent restarted with the file of the site where the change needed that', async () => {
    await bench.ask({ needs: 'restart' });
    await writeFile(bench.file, 'on: site\n');
    bench.done.length = 0;
    await bench.settle('returned');
    expect(bench.done).toEqual(['restart', 'stop timer']);
  });

  it.each(['kept', 'returned'] as const)(
    'puts the file before back where somebody has removed it, when it is to be %s',
    async (outcome) => {
      await chmod(bench.file, 0o600);
      await bench.ask();
      for (const isWayBack of [true, false]) {
        if (!isWayBack) await bench.ask({ id: 'two' });
        await rm(bench.file);
        if (!isWayBack) await rm(bench.wayBack);
        bench.done.length = 0;
        await bench.settle(outcome, { id: isWayBack ? 'one' : 'two' });
        expect(await bench.seen()).toMatchObject({
          inPlace: BEFORE,
          trial: undefined,
          result: { outcome: 'returned', reason: 'the file was removed during the trial' },
        });
        expect(bench.done).toEqual(['reload', 'stop timer']);
        expect(await modeOf(bench.file)).toBe('600');
        expect(await bench.left()).toEqual([]);
      }
    },
  );

  it('is settled by its own id alone', async () => {
    await bench.ask();
    await bench.settle('kept', { id: 'another' });
    expect(await bench.seen()).toMatchObject({ trial: 'one', result: { outcome: 'trying' } });
  });

  it('is not kept by a boot that it did not begin in', async () => {
    await bench.ask();
    await bench.setBoot('boot-2');
    await bench.settle('kept');
    expect(await bench.seen()).toMatchObject({
      inPlace: BEFORE,
      result: { outcome: 'returned', reason: 'the machine went down during the trial' },
    });
  });

  it('is returned on a disk that takes nothing but names', async () => {
    await bench.ask();
    const deps = bench.deps();
    const write = async () => {
      throw new Error('ENOSPC');
    };
    const files = Object.assign({}, deps.files, { write });
    await settle(Object.assign(deps, { files }), { request: 'settle', id: 'one', outcome: 'returned', reason: 'x' });
    expect(await bench.seen()).toMatchObject({
      inPlace: BEFORE,
      trial: undefined,
      result: { id: 'one', outcome: 'returned', reason: 'it was not kept, and the disk was full' },
    });
    expect(await bench.left()).toEqual([]);
  });
});

describe('the history', () => {
  it('has the last ten that were tried', async () => {
    for (let at = 1; at <= 12; at += 1) {
      await bench.ask({ id: `try-${at}` });
      await bench.settle('returned', { id: `try-${at}`, reason: `try ${at}` });
    }
    const notes = (await bench.history()).filter((name) => !name.endsWith('.yaml'));
    expect(notes).toEqual(Array.from({ length: 10 }, (_, at) => String(at + 3).padStart(4, '0')));
    expect((await bench.history()).length).toBe(20);
    expect(await bench.historyText('0012')).toContain('reason=try 12\n');
  });
});
