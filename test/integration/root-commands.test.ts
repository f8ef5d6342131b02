/** Commands by root's hand in a folder that belongs to the service: root acts as the service there. Needs root, as CI has it. */
import { execFile } from 'node:child_process';
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { leaveInForce } from '../../src/config/actuators-in-force.ts';
import { systemClock } from '../../src/host/clock.ts';
import { systemFiles } from '../../src/host/files.ts';
import { silentLog } from '../../src/host/log.ts';
import { AgentProcess } from '../support/agent-process.ts';
import { AGENT_PROGRAM } from '../support/agent-program.ts';

const NOBODY = 65_534;
const CONFIG = `version: 1
platform: { url: "http://127.0.0.1:9", accessToken: AAAAAAAAAAAAAAAAAAAA }
status: { page: off }
sensors:
  - { name: me, kind: host, period: 1s }
`;

let agent: AgentProcess;
let state: string;
let victim: string;
beforeEach(async () => {
  agent = await AgentProcess.make(CONFIG, 'S1');
  state = join(agent.folder, 'state');
  await chmod(agent.folder, 0o755);
  await chmod(agent.configFile, 0o644);
  await mkdir(state, { recursive: true });
  await chown(state, NOBODY, NOBODY);
  // As the service manager leaves it.
  await chown(join(agent.folder, 'run'), NOBODY, NOBODY);
  victim = join(await mkdtemp(join(tmpdir(), 'turnstone-root-')), 'secret');
  await writeFile(victim, 'root only\n', { mode: 0o600 });
});
afterEach(async () => {
  await agent.stop();
  await rm(agent.folder, { recursive: true });
});

async function ownersBelow(folder: string): Promise<Set<number>> {
  const names = await readdir(folder, { recursive: true });
  return new Set((await Promise.all(names.map((name) => lstat(join(folder, name))))).map(({ uid }) => uid));
}

/** A disk that is full for files larger than this: what exceeds it is EFBIG. */
async function commandThatWritesNoMoreThan(
  bytes: number,
  words: readonly string[],
): Promise<{ exitCode: number; err: string }> {
  const command = [process.execPath, AGENT_PROGRAM, ...words, '--config', agent.configFile];
  return new Promise((done) => {
    execFile('prlimit', [`--fsize=${bytes}`, ...command], (error, _out, err) =>
      done({ exitCode: Number(error?.code ?? 0), err }),
    );
  });
}

describe.skipIf(process.getuid?.() !== 0)("root's commands", () => {
  it('follow no link that lies in the place of the lock', async () => {
    await symlink(victim, join(state, 'agent.lock'));
    const { exitCode, err } = await agent.command(['identity', 'adopt']);
    expect([exitCode, err]).toEqual([1, expect.stringContaining('ELOOP')]);
    expect(await readFile(victim, 'utf8')).toBe('root only\n');
  });

  it('look at no folder of root’s that a link leads to', async () => {
    await symlink(dirname(victim), join(state, 'outbox'));
    expect(await agent.command(['outbox', 'verify'])).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining('EACCES'),
    });
  });

  it('leave nothing of root in the folder', async () => {
    await agent.command(['identity', 'show']);
    await agent.command(['outbox', 'status']);
    await agent.command(['sensors', 'read', 'me']);
    agent.start();
    while (!agent.log.includes('the agent runs')) await new Promise((done) => setTimeout(done, 50));
    expect(await readFile(`/proc/${agent.pid}/status`, 'utf8')).toMatch(/^Uid:\s+65534\s+65534\s+65534\s+65534$/m);
    await agent.stop();
    expect(await ownersBelow(state)).toEqual(new Set([NOBODY]));
  });

  it('become the service where the environment says which folder it is', async () => {
    const text = await readFile(agent.configFile, 'utf8');
    await writeFile(agent.configFile, text.replace(state, `\${SERVICE_STATE}`));
    const environment = { SERVICE_STATE: state };
    await agent.command(['identity', 'show'], { environment });
    await agent.command(['outbox', 'verify'], { environment });
    agent.start(environment);
    while (!agent.log.includes('the agent runs')) await new Promise((done) => setTimeout(done, 50));
    expect(await readFile(`/proc/${agent.pid}/status`, 'utf8')).toMatch(/^Uid:\s+65534\s/m);
    expect(JSON.parse((await agent.command(['outbox', 'verify', '--json'], { environment })).out).folder).toBe(
      join(state, 'outbox'),
    );
    await agent.stop();
    expect(await ownersBelow(state)).toEqual(new Set([NOBODY]));
  });

  it.each(['the folder', 'only the file', 'only the state folder'])(
    'run nothing as root of what %s of another user’s says of actuators',
    async (whose) => {
      const run = join(agent.folder, 'run');
      const told = join(dirname(victim), 'told');
      await mkdir(told);
      await chmod(dirname(victim), 0o755);
      await chown(told, NOBODY, NOBODY);
      const program = {
        kind: 'command',
        program: '/bin/sh',
        arguments: ['-c', 'id -u > $1/$2', 'sh', told, '{value}'],
      };
      const written = [{ name: 'valve', ...program, valueType: 'string', safe: { crash: 'shut' } }];
      await leaveInForce({ hardware: { board: 'linux', gpio: 'auto' }, stateFolder: state, runFolder: run }, written, {
        files: systemFiles,
        clock: systemClock,
        environment: {},
        log: silentLog,
      });
      if (whose !== 'the folder') await chown(run, 0, 0);
      if (whose !== 'only the state folder') await chown(state, 0, 0);
      if (whose === 'only the file') await chown(join(run, 'actuators-in-force.json'), NOBODY, NOBODY);
      await chmod(join(run, 'actuators-in-force.json'), 0o644);
      const { out } = await agent.command(['safe-states', '--config', agent.configFile]);
      expect([out, (await stat(join(told, 'shut'))).uid]).toEqual(['valve: set to shut\n', NOBODY]);
      expect(await readFile(join(told, 'shut'), 'utf8')).toBe(`${NOBODY}\n`);
    },
  );

  it('hand a bundle over without following a link at its name', async () => {
    agent.start();
    while (!agent.log.includes('the agent runs')) await new Promise((done) => setTimeout(done, 50));
    await symlink(victim, join(state, 'firmware/handed-over'));
    const bundle = join(agent.folder, 'bundle');
    await writeFile(bundle, 'no release', { mode: 0o600 });
    await agent.command(['firmware', 'install', bundle]);
    expect([await readFile(victim, 'utf8'), (await stat(victim)).mode & 0o777]).toEqual(['root only\n', 0o600]);
    await expect(agent.command(['firmware', 'install', '/dev/zero'])).resolves.toMatchObject({
      exitCode: 1,
      err: expect.stringContaining('not a regular file'),
    });
  });

  it('leave no part of a bundle in the way of the readings where a write fails', async () => {
    agent.start();
    while (!agent.log.includes('the agent runs')) await new Promise((done) => setTimeout(done, 50));
    const bundle = join(agent.folder, 'bundle');
    await writeFile(bundle, Buffer.alloc(100_000));
    expect(await commandThatWritesNoMoreThan(1_024, ['firmware', 'install', bundle])).toMatchObject({
      exitCode: 1,
      err: expect.stringMatching(/: EFBIG\n$/),
    });
    expect(await readdir(join(state, 'firmware'))).not.toContain('handed-over');
  });

  it.each([true, false])(
    'give a folder away only when they made it themselves: it was there before: %s',
    async (isThere) => {
      const run = join(agent.folder, 'run');
      await rm(run, { recursive: true });
      if (isThere) {
        await mkdir(run);
        await chmod(run, 0o1777);
      }
      agent.start();
      while (!agent.log.includes('the agent runs')) await new Promise((done) => setTimeout(done, 50));
      expect((await stat(run)).uid).toBe(isThere ? 0 : NOBODY);
    },
  );

  it('export an identity into a folder of root’s own, and leave what was there where nothing comes of it', async () => {
    const own = dirname(victim);
    await writeFile(join(own, 'passphrase'), 'a long passphrase');
    const passphrase = ['--passphrase-file', join(own, 'passphrase')];
    const kept = join(own, 'kept.identity');
    expect(await agent.command(['identity', 'export', kept, ...passphrase])).toMatchObject({ exitCode: 0 });
    const { mode, uid } = await stat(kept);
    expect([mode & 0o777, uid, JSON.parse(await readFile(kept, 'utf8')).format]).toEqual([
      0o600,
      0,
      'turnstone/archive',
    ]);
    const before = await readFile(kept, 'utf8');
    await writeFile(join(own, 'passphrase'), 'short');
    expect((await agent.command(['identity', 'export', kept, ...passphrase])).exitCode).toBe(1);
    expect(await readFile(kept, 'utf8')).toBe(before);
    const fresh = join(own, 'fresh.identity');
    expect((await agent.command(['identity', 'export', fresh, ...passphrase])).exitCode).toBe(1);
    expect(await readdir(own)).not.toContain('fresh.identity');
    await rm(own, { recursive: true });
    await mkdir(own);
  });

  it('take nothing away from what an export is to replace where the disk does not take it, and say so in a line', async () => {
    const own = dirname(victim);
    await writeFile(join(own, 'passphrase'), 'a long passphrase');
    const kept = join(own, 'kept.identity');
    const words = ['identity', 'export', kept, '--passphrase-file', join(own, 'passphrase')];
    await agent.command(words);
    const before = await readFile(kept, 'utf8');
    const line = `turnstone: cannot write ${kept}: EFBIG\n`;
    expect(await commandThatWritesNoMoreThan(0, words)).toEqual({ exitCode: 1, err: line });
    expect(await readFile(kept, 'utf8')).toBe(before);
    await rm(kept);
    // Less than it has.
    expect(await commandThatWritesNoMoreThan(256, words)).toEqual({
      exitCode: 1,
      err: `${kept} is left empty: remove it\n${line}`,
    });
    expect(await readFile(kept, 'utf8')).toBe('');
  });

  it('write over nothing that lies in their way in a folder that is not root’s', async () => {
    const out = join(state, 'out.tar.gz');
    for (const name of ['out.tar.gz', `out.tar.gz.tmp`]) await symlink(victim, join(state, name));
    const refused = { exitCode: 1, err: expect.stringContaining('it is a link; name a file') };
    expect(await agent.command(['diagnose', '--out', out])).toMatchObject(refused);
    expect([await readFile(victim, 'utf8'), (await lstat(out)).isSymbolicLink()]).toEqual(['root only\n', true]);
    await rm(out);
    expect(await agent.command(['diagnose', '--out', out])).toMatchObject({ exitCode: 0 });
    const { mode, uid } = await lstat(out);
    expect([mode & 0o777, uid]).toEqual([0o600, NOBODY]);
    expect([await readFile(victim, 'utf8'), (await stat(victim)).mode & 0o777]).toEqual(['root only\n', 0o600]);
    // By a link of root's own too.
    await chmod(dirname(victim), 0o755);
    await symlink(state, join(dirname(victim), 'state'));
    expect(await agent.command(['diagnose', '--out', join(dirname(victim), 'state/linked.tar.gz')])).toMatchObject({
      exitCode: 0,
    });
    expect((await lstat(join(state, 'linked.tar.gz'))).uid).toBe(NOBODY);
    await chmod(dirname(victim), 0o700);
    // A folder that its owner can make to be another one.
    await mkdir(join(dirname(victim), 'inner'));
    await symlink(join(dirname(victim), 'inner'), join(state, 'elsewhere'));
    expect(await agent.command(['diagnose', '--out', join(state, 'elsewhere/out.tar.gz')])).toMatchObject({
      exitCode: 1,
      err: expect.stringContaining('EACCES'),
    });
    const passphrase = join(dirname(victim), 'passphrase');
    await writeFile(passphrase, 'a long passphrase');
    const planted = join(state, 'planted.identity');
    await writeFile(planted, '');
    await chown(planted, NOBODY, NOBODY);
    const exported = await agent.command(['identity', 'export', planted, '--passphrase-file', passphrase]);
    expect(exported).toMatchObject({ exitCode: 1, err: expect.stringContaining('not root’s alone') });
  });

  it('write a configuration, and the secrets it names, that the group of its folder may read', async () => {
    const settings = join(dirname(victim), 'settings');
    await mkdir(settings, { mode: 0o750 });
    await chown(settings, 0, NOBODY);
    const out = join(settings, 'turnstone.yaml');
    expect(
      await agent.command(['init', '--yes', '--no-scan', '--url', 'http://127.0.0.1:9', '--out', out], {
        config: false,
      }),
    ).toMatchObject({
      exitCode: 0,
    });
    const { mode, uid, gid } = await stat(out);
    expect([mode & 0o777, uid, gid]).toEqual([0o640, 0, NOBODY]);
  });

  it('are no other user’s: one who is not in the group is told to join it', async () => {
    agent.start();
    while (!agent.log.includes('the agent runs')) await new Promise((done) => setTimeout(done, 50));
    const other = { uid: 65_533, gid: 65_533 };
    expect(await agent.command(['firmware', 'check'], other)).toMatchObject({
      exitCode: 77,
      err: expect.stringContaining('usermod -aG turnstone'),
    });
    expect(await agent.command(['status'], other)).toMatchObject({ exitCode: 0 });
  });

  it('are what a restore that was cut off waits for: the service ends for good with the command, and the doctor names it', async () => {
    await writeFile(`${agent.configFile}.restore`, '{}', { mode: 0o600 });
    const { exitCode, err } = await agent.command(['run'], { uid: NOBODY });
    expect([exitCode, err]).toEqual([
      78,
      expect.stringMatching(/a restore was cut off here: .*EACCES; finish it: sudo turnstone restore --finish/),
    ]);
    expect((await agent.command(['doctor'], { uid: NOBODY })).out).toContain('→ sudo turnstone restore --finish');
  });

  it('say what to do about files that root left there before', async () => {
    await writeFile(join(state, 'agent.lock'), '', { mode: 0o600 });
    const { exitCode, err } = await agent.command(['identity', 'show']);
    expect([exitCode, err]).toEqual([1, expect.stringContaining(`sudo chown -R ${NOBODY}:${NOBODY} ${state}`)]);
  });
});

describe('a lock of the state folder', () => {
  it('is no way to another file', async () => {
    const script = `import { takeLock } from '${resolve(import.meta.dirname, '../../src/host/state-lock.ts')}';
      await takeLock(process.argv[1]).catch((error) => console.log(error.message));`;
    await symlink(victim, join(state, 'agent.lock'));
    const out = await new Promise<string>((done) =>
      execFile(process.execPath, ['--input-type=module', '-e', script, state], (_error, stdout) => done(stdout)),
    );
    expect(out).toContain('ELOOP');
    expect(await readFile(victim, 'utf8')).toBe('root only\n');
  });
});
