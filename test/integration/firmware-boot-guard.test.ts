/** The boot guard is a shell script: it is killed at every command that it was seen to run, and started again. */
import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const GUARD = join(import.meta.dirname, '../../systemd/boot-guard');
const COMMANDS = ['sed', 'sync', 'mv', 'rm', 'ln', 'readlink', 'dd', 'timeout', 'systemctl'];
const MOST_RUNS = 6;
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
  'rolls back at the fourth start': { starts: 3, command: 'starting', ends: { current: '1.0.0', outcome: 'rolled-back' } },
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
  'rolls back a release that was never confirmed': { ticks: 99, command: 'tick', ends: { current: '1.0.0', outcome: 'rolled-back' } },
};

/** A gateway whose release 2.0.0 is on trial, and shims that count commands and can kill the guard at one of them. */
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
  for (const version of ['1.0.0', '2.0.0']) await writeFile(join(root, `opt/turnstone/releases/${version}/turnstone`), '', { mode: 0o755 });
  await symlink('releases/2.0.0', join(root, 'opt/turnstone/current'));
  await writeFile(join(guard, 'trial'), 'id=one\nversion=2.0.0\nprevious=1.0.0\n');
  await writeFile(join(guard, 'result'), 'id=one\noutcome=swapped\nversion=2.0.0\n');
  if (scene.starts !== undefined) await writeFile(join(guard, 'starts'), `count=${scene.starts}\n`);
  if (scene.ticks !== undefined) await writeFile(join(guard, 'ticks'), `count=${scene.ticks}\n`);
  if (scene.confirmed === true) await writeFile(join(root, 'var/lib/turnstone/firmware/confirmed'), 'id=one\n');
  for (const name of COMMANDS) {
    const real = name === 'systemctl' ? 'true' : `/usr/bin/${name}`;
    const shim = `#!/bin/sh\necho "${name}" >>"${root}/commands"\n[ "$(wc -l <"${root}/commands")" != "$DIE_AT" ] || kill -9 0\nPATH=/usr/bin:/bin exec ${real} "$@"\n`;
    await writeFile(join(root, 'bin', name), shim);
    await chmod(join(root, 'bin', name), 0o755);
  }
  return root;
}

/** Resolves when the guard, or its whole process group, has ended. */
async function guard(root: string, command: string, environment: Readonly<Record<string, string>> = {}): Promise<void> {
  await rm(join(root, 'commands'), { force: true });
  const child = spawn('sh', [GUARD, command], {
    detached: true,
    stdio: 'ignore',
    env: { PATH: `${join(root, 'bin')}:/usr/bin:/bin`, TURNSTONE_ROOT: root, ...environment },
  });
  await new Promise((resolve) => child.once('exit', resolve));
}

async function lookAt(root: string): Promise<{ current: string; outcome: string; isOver: boolean }> {
  const folder = join(root, 'var/lib/turnstone-guard');
  const result = await readFile(join(folder, 'result'), 'utf8').catch(() => '');
  const trial = await readFile(join(folder, 'trial'), 'utf8').catch(() => '');
  const current = (await readlink(join(root, 'opt/turnstone/current'))).split('/').at(-1) ?? '';
  return { current, outcome: /^outcome=(.*)$/m.exec(result)?.[1] ?? '', isOver: trial === '' };
}

describe.each(Object.keys(SCENES))('the boot guard %s', (name) => {
  const scene = SCENES[name] as Scene;
  const environment = scene.exitStatus === undefined ? {} : { EXIT_STATUS: scene.exitStatus };

  it('also when it is killed at any command it runs', { timeout: 180_000 }, async () => {
    const calm = await stage(scene);
    await guard(calm, scene.command, environment);
    expect(await lookAt(calm)).toEqual({ ...scene.ends, isOver: true });
    const commands = (await readFile(join(calm, 'commands'), 'utf8')).trim().split('\n');
    await rm(calm, { recursive: true });
    expect(commands.length).toBeGreaterThan(8);

    const faults: string[] = [];
    const dieAt = async (index: number): Promise<void> => {
      const root = await stage(scene);
      await guard(root, scene.command, { ...environment, DIE_AT: String(index + 1) });
      const { current } = await lookAt(root);
      if (!['1.0.0', '2.0.0'].includes(current)) faults.push(`${index} ${commands[index]}: current is ${current}`);
      // The machine comes back, and the service is started as often as it takes.
      for (let run = 0; run < MOST_RUNS && !(await lookAt(root)).isOver; run += 1) await guard(root, 'starting');
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
  it('lets a new release start three times, and says nothing of a release that is not on trial', async () => {
    const root = await stage({ command: 'starting', ends: { current: '', outcome: '' } });
    for (let start = 1; start <= 3; start += 1) {
      await guard(root, 'starting');
      expect(await lookAt(root)).toMatchObject({ current: '2.0.0', isOver: false });
    }
    await guard(root, 'starting');
    expect(await lookAt(root)).toMatchObject({ current: '1.0.0', isOver: true });
    await guard(root, 'starting');
    expect(await readFile(join(root, 'commands'), 'utf8').catch(() => '')).toBe('');
    await rm(root, { recursive: true });
  });

  it('forgets a trial whose swap never came about, and stays when there is nothing to go back to', async () => {
    const scene = { starts: 3, command: 'starting', ends: { current: '', outcome: '' } } as const;
    const cut = await stage(scene);
    await rm(join(cut, 'opt/turnstone/current'));
    await symlink('releases/1.0.0', join(cut, 'opt/turnstone/current'));
    await guard(cut, 'starting');
    expect(await lookAt(cut)).toEqual({ current: '1.0.0', outcome: 'swapped', isOver: true });
    const alone = await stage(scene);
    await rm(join(alone, 'opt/turnstone/releases/1.0.0'), { recursive: true });
    await guard(alone, 'starting');
    expect(await lookAt(alone)).toMatchObject({ current: '2.0.0' });
    for (const root of [cut, alone]) await rm(root, { recursive: true });
  });
});
