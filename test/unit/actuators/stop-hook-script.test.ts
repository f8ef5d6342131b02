/** `systemd/set-safe-states`: which release sets which states after the agent has ended in whatever way. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const SCRIPT = resolve(import.meta.dirname, '../../../systemd/set-safe-states');
let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'turnstone-hook-'));
});
afterEach(() => rm(root, { recursive: true }));

/** A release that notes how it was called, and ends like this. */
async function release(name: string, exitCode: number): Promise<void> {
  const folder = join(root, 'opt/turnstone/releases', name);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'turnstone'), `#!/bin/sh\necho "${name} $*" >> "${root}/calls"\nexit ${exitCode}\n`, {
    mode: 0o755,
  });
}

/** The script's exit code, and what it called. */
async function run(serviceResult?: string, tools = ''): Promise<unknown> {
  const env = {
    PATH: `${tools}:${process.env.PATH}`,
    TURNSTONE_ROOT: root,
    ...(serviceResult === undefined ? {} : { SERVICE_RESULT: serviceResult }),
  };
  const code = await new Promise((done) => execFile(SCRIPT, { env }, (error) => done(error?.code ?? 0)));
  const calls = await readFile(join(root, 'calls'), 'utf8').catch(() => '');
  return [code, ...calls.trimEnd().split('\n')];
}

const call = (name: string, event: string): string =>
  `${name} safe-states --config ${root}/etc/turnstone/turnstone.yaml --event ${event}`;

describe('the stop hook’s script', () => {
  beforeEach(async () => {
    await release('2', 0);
    await symlink(join(root, 'opt/turnstone/releases/2'), join(root, 'opt/turnstone/current'));
  });

  it('sets the states for a stop after a stop in good order', async () => {
    expect(await run('success')).toEqual([0, call('2', 'stop')]);
  });

  it('sets the states for a crash after any other end', async () => {
    for (const result of ['exit-code', 'signal', 'core-dump', 'watchdog', 'timeout', 'oom-kill']) {
      await rm(join(root, 'calls'), { force: true });
      expect(await run(result)).toEqual([0, call('2', 'crash')]);
    }
  });

  it('lets an older release do it when the current one is broken', async () => {
    await release('1', 0);
    await release('2', 70);
    expect(await run('signal')).toEqual([0, call('2', 'crash'), call('1', 'crash')]);
  });

  it('asks no other release when something would not be moved', async () => {
    await release('1', 0);
    await release('2', 1);
    expect(await run('signal')).toEqual([1, call('2', 'crash')]);
  });

  it('waits for no release that hangs', async () => {
    await release('1', 0);
    const bin = join(root, 'bin');
    await mkdir(bin);
    // As the machine's, with less patience.
    await writeFile(join(bin, 'timeout'), '#!/bin/sh\nshift 3\nexec /usr/bin/timeout -k 1 0.3 "$@"\n', { mode: 0o755 });
    const program = join(root, 'opt/turnstone/releases/2/turnstone');
    await writeFile(program, `#!/bin/sh\necho "2 $*" >> "${root}/calls"\nexec sleep 3\n`, { mode: 0o755 });
    expect(await run('signal', bin)).toEqual([0, call('2', 'crash'), call('1', 'crash')]);
  });

  it('fails when no release can do it', async () => {
    await release('2', 70);
    expect(await run('signal')).toEqual([1, call('2', 'crash'), call('2', 'crash')]);
  });
});
