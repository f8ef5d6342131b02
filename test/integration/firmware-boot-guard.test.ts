/** The boot guard is a shell script: it is killed at every command that it was seen to run, and started again. */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { guardAlone } from '../support/guard-commands.ts';
import { runGuard } from '../support/guard-shell.ts';

const MAX_RUNS = 6;
/** Most of a guard's life is waiting for the disk. */
const AT_ONCE = 4;

interface Scene {
  readonly starts?: number;
  readonly ticks?: number;
  readonly confirmed?: boolean;
  readonly exitStatus?: string;
  readonly command: 'starting' | 'stopped' | 'tick';
  readonly ends: { readonly current: string; readonly outcome: string };
}

const SCENES: Readonly<Record<string, Scene>> = {
  'rolls back at the fourth start': {
    starts: 3,
    command: 'starting',
    ends: { current: '1.0.0', outcome: 'rolled-back' },
  },
  'ends the trial of a confirmed release': {
    starts: 2,
    confirmed: true,
    command: 'starting',
    ends: { current: '2.0.0', outcome: 'confirmed' },
  },
  'rolls back a release that refuses the configuration': {
    starts: 1,
    exitStatus: '78',
    command: 'stopped',
    ends: { current: '1.0.0', outcome: 'rolled-back' },
  },
  'rolls back a release that was never confirmed': {
    ticks: 99,
    command: 'tick',
    ends: { current: '1.0.0', outcome: 'rolled-back' },
  },
};

/** A gateway whose release 2.0.0 is on trial. */
async function stage(scene: Scene): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'turnstone-guard-'));
  const guard = join(root, 'var/lib/turnstone-guard');
  for (const folder of [
    'bin',
    'opt/turnstone/releases/1.0.0',
    'opt/turnstone/releases/2.0.0',
    'var/lib/turnstone/firmware',
    'var/lib/turnstone-guard',
  ])
    await mkdir(join(root, folder), { recursive: true });
  for (const version of ['1.0.0', '2.0.0'])
    await writeFile(join(root, `opt/turnstone/releases/${version}/turnstone`), '', { mode: 0o755 });
  await symlink('releases/2.0.0', join(root, 'opt/turnstone/current'));
  await writeFile(join(guard, 'trial'), 'id=one\nversion=2.0.0\nprevious=1.0.0\n');
  await writeFile(join(guard, 'result'), 'id=one\noutcome=swapped\nversion=2.0.0\n');
  if (scene.starts !== undefined) await writeFile(join(guard, 'starts'), `count=${scene.starts}\n`);
  if (scene.ticks !== undefined) await writeFile(join(guard, 'ticks'), `count=${scene.ticks}\n`);
  if (scene.confirmed === true) await writeFile(join(root, 'var/lib/turnstone/firmware/confirmed'), 'id=one\n');
  await writeFile(join(root, 'bin/systemctl'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
  return root;
}

async function lookAt(root: string): Promise<{ current: string; outcome: string; isOver: boolean }> {
  const folder = join(root, 'var/lib/turnstone-guard');
  const result = await readFile(join(folder, 'result'), 'utf8').catch(() => '');
  const trial = await readFile(join(folder, 'trial'), 'utf8').catch(() => '');
  const current = (await readlink(join(root, 'opt/turnstone/current'))).split('/').at(-1) ?? '';
  return { current, outcome: /^outcome=(.*)$/m.exec(result)?.[1] ?? '', isOver: trial === '' };
}

/** Five starts that could not read the configuration, and then three of another kind, of which the fourth is one too many. */
async function expectOnlyOthersCounted(root: string): Promise<void> {
  for (let start = 1; start <= 5; start += 1) {
    await runGuard(root, 'starting');
    await runGuard(root, 'stopped', '66');
  }
  for (let start = 1; start <= 3; start += 1) {
    await runGuard(root, 'starting');
    await runGuard(root, 'stopped', '1');
    expect(await lookAt(root)).toMatchObject({ current: '2.0.0', isOver: false });
  }
  await runGuard(root, 'starting');
  expect(await lookAt(root)).toMatchObject({ current: '1.0.0', isOver: true });
  await rm(root, { recursive: true });
}

describe.each(Object.keys(SCENES))('the boot guard %s', (name) => {
  const scene = SCENES[name] as Scene;
  const environment: Record<string, string> = scene.exitStatus === undefined ? {} : { EXIT_STATUS: scene.exitStatus };

  it('with the commands of the machine', async () => {
    const root = await stage(scene);
    await guardAlone(root, scene.command, environment);
    expect(await lookAt(root)).toEqual({ ...scene.ends, isOver: true });
    await rm(root, { recursive: true });
  });

  it('also when it is killed at any command it runs', { timeout: 180_000 }, async () => {
    const calm = await stage(scene);
    await guardAlone(calm, scene.command, { ...environment, DIE_AT: '0' });
    expect(await lookAt(calm)).toEqual({ ...scene.ends, isOver: true });
    const commands = (await readFile(join(calm, 'commands'), 'utf8')).trim().split('\n');
    await rm(calm, { recursive: true });
    expect(commands.length).toBeGreaterThan(8);

    const faults: string[] = [];
    const dieAt = async (index: number): Promise<void> => {
      const root = await stage(scene);
      await guardAlone(root, scene.command, { ...environment, DIE_AT: String(index + 1) });
      const { current } = await lookAt(root);
      if (!['1.0.0', '2.0.0'].includes(current)) faults.push(`${index} ${commands[index]}: current is ${current}`);
      // The machine comes back, and the service is started as often as it takes.
      for (let run = 0; run < MAX_RUNS && !(await lookAt(root)).isOver; run += 1) await runGuard(root, 'starting');
      const end = await lookAt(root);
      if (!end.isOver || end.current !== scene.ends.current || end.outcome !== scene.ends.outcome)
        faults.push(`${index} ${commands[index]}: ${JSON.stringify(end)}`);
      await rm(root, { recursive: true });
    };
    for (let index = 0; index < commands.length; index += AT_ONCE)
      await Promise.all(commands.slice(index, index + AT_ONCE).map((_, ahead) => dieAt(index + ahead)));
    expect(faults).toEqual([]);
  });
});

describe('the boot guard', () => {
  it.each(['link', 'pipe'])(
    'is led nowhere, and held up by nothing, by a %s in the place of a confirmation',
    async (what) => {
      const root = await stage({ ticks: 99, command: 'tick', ends: { current: '', outcome: '' } });
      const confirmed = join(root, 'var/lib/turnstone/firmware/confirmed');
      await writeFile(join(root, 'elsewhere'), 'id=one\n');
      if (what === 'link') await symlink(join(root, 'elsewhere'), confirmed);
      else await new Promise((resolve) => spawn('mkfifo', [confirmed]).once('exit', resolve));
      await runGuard(root, 'tick');
      expect(await lookAt(root)).toEqual({ current: '1.0.0', outcome: 'rolled-back', isOver: true });
      await rm(root, { recursive: true });
    },
  );

  it('lets a new release start three times, and says nothing of a release that is not on trial', async () => {
    const root = await stage({ command: 'starting', ends: { current: '', outcome: '' } });
    for (let start = 1; start <= 3; start += 1) {
      await runGuard(root, 'starting');
      expect(await lookAt(root)).toMatchObject({ current: '2.0.0', isOver: false });
    }
    await runGuard(root, 'starting');
    expect(await lookAt(root)).toMatchObject({ current: '1.0.0', isOver: true });
    await guardAlone(root, 'starting', { DIE_AT: '0' });
    expect(await readFile(join(root, 'commands'), 'utf8').catch(() => '')).toBe('');
    await rm(root, { recursive: true });
  });

  it.each([true, false])(
    'rolls back on a disk that takes nothing, the way back laid by the helper: %s',
    async (isLaid) => {
      const root = await stage({ starts: 0, command: 'starting', ends: { current: '', outcome: '' } });
      const folder = join(root, 'var/lib/turnstone-guard');
      if (isLaid) {
        await symlink('releases/1.0.0', join(root, 'opt/turnstone/back'));
        await writeFile(
          join(folder, 'result.back'),
          'id=one\noutcome=rolled-back\nversion=2.0.0\nreason=not confirmed\n',
        );
      }
      // No file can be written, in place or anew, and no link can be made; names can still be exchanged.
      for (const name of ['starts.tmp', 'result.tmp']) await mkdir(join(folder, name));
      for (const name of ['dd', ...(isLaid ? ['ln'] : [])])
        await writeFile(join(root, 'bin', name), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
      for (let start = 1; start <= 3; start += 1) {
        await runGuard(root, 'starting');
        expect(await lookAt(root)).toMatchObject({ current: '2.0.0', isOver: false });
      }
      await runGuard(root, 'starting');
      expect(await lookAt(root)).toEqual({
        current: '1.0.0',
        outcome: isLaid ? 'rolled-back' : 'swapped',
        isOver: true,
      });
      await rm(root, { recursive: true });
    },
  );

  it('takes a start that it can count nowhere for the last', async () => {
    const root = await stage({ starts: 0, command: 'starting', ends: { current: '', outcome: '' } });
    await writeFile(join(root, 'run'), 'no folder');
    await writeFile(join(root, 'bin/dd'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    await runGuard(root, 'starting');
    expect(await lookAt(root)).toEqual({ current: '1.0.0', outcome: 'rolled-back', isOver: true });
    await rm(root, { recursive: true });
  });

  it('counts no start that could not read the configuration, and every other', async () => {
    const root = await stage({ command: 'stopped', ends: { current: '', outcome: '' } });
    await expectOnlyOthersCounted(root);
  });

  it.each([
    ['by hand, which ends well', '0 success', '17', true],
    ['by a program that ends with the signal', 'TERM success', '4294967295', true],
    ['by nobody: it ended by itself', '0 success', '', false],
    ['by nobody, in the words of another systemd', '0 success', '0', false],
    ['by hand, and had to be killed', 'KILL timeout', '17', false],
    ['while it was starting, by a crash', '1 exit-code', '17', false],
    ['by a kill', 'KILL signal', '', false],
    ['by hand, where systemd does not answer', '0 success', 'Failed to connect to bus', false],
  ])('counts a start, unless its stop was asked for: %s', async (_whom, ended, job, isAsked) => {
    const root = await stage({ command: 'stopped', ends: { current: '', outcome: '' } });
    await writeFile(join(root, 'bin/systemctl'), `#!/bin/sh\n[ "$1" != show ] || echo '${job}'\n`, { mode: 0o755 });
    for (let start = 1; start <= 6; start += 1) {
      await runGuard(root, 'starting');
      await runGuard(root, 'stopped', ended);
    }
    expect(await lookAt(root)).toMatchObject(
      isAsked ? { current: '2.0.0', isOver: false } : { current: '1.0.0', isOver: true },
    );
    // A crash among them counts as before.
    for (let start = 1; isAsked && start <= 4; start += 1) {
      await runGuard(root, 'starting');
      await runGuard(root, 'stopped', '1 exit-code');
    }
    expect(await lookAt(root)).toMatchObject({ current: '1.0.0', isOver: true });
    await rm(root, { recursive: true });
  });

  it.each(['never', 'only once'])(
    'counts none of them on a disk that takes a count %s either, and every other',
    async (takes) => {
      const root = await stage({ command: 'stopped', ends: { current: '', outcome: '' } });
      if (takes === 'only once') await runGuard(root, 'starting');
      await writeFile(join(root, 'bin/dd'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
      if (takes === 'only once') await runGuard(root, 'stopped', '66');
      await expectOnlyOthersCounted(root);
    },
  );

  it('goes back to no place outside the releases', async () => {
    const root = await stage({ starts: 3, command: 'starting', ends: { current: '', outcome: '' } });
    await writeFile(join(root, 'var/lib/turnstone-guard/trial'), 'id=one\nversion=2.0.0\nprevious=../../1.0.0\n');
    await mkdir(join(root, 'opt/1.0.0'));
    await writeFile(join(root, 'opt/1.0.0/turnstone'), '', { mode: 0o755 });
    await runGuard(root, 'starting');
    expect(await readlink(join(root, 'opt/turnstone/current'))).toBe('releases/2.0.0');
    await rm(root, { recursive: true });
  });

  it('leaves a trial alone that the helper has laid in the place of its own meanwhile', async () => {
    const root = await stage({ starts: 3, command: 'starting', ends: { current: '', outcome: '' } });
    const trial = join(root, 'var/lib/turnstone-guard/trial');
    const lay = `[ "$1" != "${root}/opt/turnstone" ] || echo id=two >"${trial}"`;
    await writeFile(join(root, 'bin/sync'), `#!/bin/sh\n${lay}\nexec /usr/bin/sync "$@"\n`, { mode: 0o755 });
    await runGuard(root, 'starting');
    expect([await lookAt(root), await readFile(trial, 'utf8')]).toMatchObject([
      { current: '1.0.0', outcome: 'rolled-back' },
      'id=two\n',
    ]);
    await rm(root, { recursive: true });
  });

  it('counts in place, so that a file which has its room needs no more', async () => {
    const root = await stage({ starts: 0, command: 'starting', ends: { current: '', outcome: '' } });
    const before = (await stat(join(root, 'var/lib/turnstone-guard/starts'))).ino;
    await runGuard(root, 'starting');
    expect(await readFile(join(root, 'var/lib/turnstone-guard/starts'), 'utf8')).toBe('count=1\n');
    expect((await stat(join(root, 'var/lib/turnstone-guard/starts'))).ino).toBe(before);
    await rm(root, { recursive: true });
  });

  it.each(['starting', 'stopped', 'tick'])(
    'leaves a trial alone whose swap may be about to come, at %s, and counts from then on',
    async (turn) => {
      const root = await stage({ starts: 0, ticks: 0, command: 'starting', ends: { current: '', outcome: '' } });
      await rm(join(root, 'var/lib/turnstone-guard/result'));
      await rm(join(root, 'opt/turnstone/current'));
      await symlink('releases/1.0.0', join(root, 'opt/turnstone/current'));
      for (let run = 1; run <= 4; run += 1) await runGuard(root, turn, '78');
      expect(await lookAt(root)).toEqual({ current: '1.0.0', outcome: '', isOver: false });
      await rm(join(root, 'opt/turnstone/current'));
      await symlink('releases/2.0.0', join(root, 'opt/turnstone/current'));
      for (let start = 1; start <= 3; start += 1) await runGuard(root, 'starting');
      expect(await lookAt(root)).toMatchObject({ current: '2.0.0', isOver: false });
      await runGuard(root, 'starting');
      expect(await lookAt(root)).toEqual({ current: '1.0.0', outcome: 'rolled-back', isOver: true });
      await rm(root, { recursive: true });
    },
  );

  it('forgets a trial whose swap was done and that made way for another release, and stays when there is nothing to go back to', async () => {
    const scene = { starts: 3, command: 'starting', ends: { current: '', outcome: '' } } as const;
    const cut = await stage(scene);
    await rm(join(cut, 'opt/turnstone/current'));
    await symlink('releases/1.0.0', join(cut, 'opt/turnstone/current'));
    await runGuard(cut, 'starting');
    expect(await lookAt(cut)).toEqual({ current: '1.0.0', outcome: 'swapped', isOver: true });
    const alone = await stage(scene);
    await rm(join(alone, 'opt/turnstone/releases/1.0.0'), { recursive: true });
    await runGuard(alone, 'starting');
    expect(await lookAt(alone)).toMatchObject({ current: '2.0.0' });
    for (const root of [cut, alone]) await rm(root, { recursive: true });
  });
});
