import { execFile, execFileSync } from 'node:child_process';
import { chown, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { expectSimulatedDevice } from '../../../src/cli/simulated-run.ts';
import { type CredentialsRecord, formatCredentials } from '../../../src/devices/credentials-record.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { fakeEdge } from '../../support/fake-edge.ts';

const isRoot = process.geteuid?.() === 0;
const SERVICE = 65_534;
const record = (deviceName: string): CredentialsRecord => ({
  phase: 'in-use',
  source: 'provisioned',
  deviceName,
  accessToken: `token-of-${deviceName}-12345`,
  generation: 1,
  board: { hostname: 'old', mac: '001122334455' },
});

async function gateway(name: string, yaml = '') {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-restored-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const [etc, state] = [join(folder, 'etc'), join(folder, 'state')];
  for (const one of [etc, state]) await mkdir(one);
  const config = join(etc, 'turnstone.yaml');
  const lines = [
    'version: 1',
    `platform: { url: "https://iot.example.org"${yaml} }`,
    `stateFolder: ${state}`,
    `runFolder: ${folder}/run`,
    '',
  ];
  await writeFile(config, lines.join('\n'), { mode: 0o640 });
  await writeFile(join(state, 'credentials.json'), formatCredentials({ own: record(name) }), { mode: 0o600 });
  await writeFile(join(folder, 'passphrase'), 'correct horse battery');
  const run = async (...words: string[]) => {
    const edge = fakeEdge();
    const all = [...words, '--config', config, '--passphrase-file', join(folder, 'passphrase')];
    return { exitCode: await runCommandLine(all, { edge, version: () => '1' }), out: edge.out(), err: edge.err() };
  };
  return { folder, etc, state, config, run };
}

it('leaves what is no ordinary file alone: sudo turnstone backup /dev/stdout | ssh … takes /dev/stdout from the whole machine', async () => {
  const { folder, run } = await gateway('gw');
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  await symlink('/proc/self/fd/1', join(folder, 'stdout'));
  for (const name of ['pipe', 'stdout']) {
    const { exitCode } = await run('backup', join(folder, name));
    const facts = await lstat(join(folder, name));
    expect({ name, isFile: facts.isFile(), isDone: exitCode === EXIT.ok }).toEqual({
      name,
      isFile: false,
      isDone: false,
    });
  }
});

it.runIf(isRoot)('gives a token file of the service’s user back to that user, who is to read it', async () => {
  const { folder, etc, config, run } = await gateway('gw', `, accessTokenFile: "${join(tmpdir(), 'x')}"`);
  const token = join(etc, 'token');
  await writeFile(config, (await readFile(config, 'utf8')).replace(join(tmpdir(), 'x'), token));
  await writeFile(token, 'token-of-the-file-1234\n', { mode: 0o600 });
  await chown(token, SERVICE, SERVICE);
  await chown(etc, 0, SERVICE);
  const file = join(folder, 'gw.backup');
  expect((await run('backup', file)).exitCode).toBe(EXIT.ok);
  await rm(token);
  const { exitCode, err } = await run('restore', file, '--replace');
  expect({ exitCode, err }).toEqual({ exitCode: EXIT.ok, err: '' });
  const { uid, gid, mode } = await stat(token);
  expect(uid === SERVICE || (gid === SERVICE && (mode & 0o040) !== 0)).toBe(true);
});

it.runIf(isRoot)('gives folders that it makes to the group, and keeps from it what systemd hands over', async () => {
  const { folder, etc, run } = await gateway('gw');
  for (const path of ['drivers/own/driver.mjs', 'credentials/key', 'environment']) {
    await mkdir(join(etc, path, '..'), { recursive: true });
    await writeFile(join(etc, path), 'A=1\n', { mode: 0o600 });
  }
  await chown(etc, 0, SERVICE);
  const file = join(folder, 'gw.backup');
  expect((await run('backup', file)).exitCode).toBe(EXIT.ok);
  for (const path of ['drivers', 'credentials', 'environment']) await rm(join(etc, path), { recursive: true });
  expect(await run('restore', file, '--replace')).toMatchObject({ exitCode: EXIT.ok, err: '' });
  const facts = async (path: string) => {
    const { uid, gid, mode } = await stat(join(etc, path));
    return [path, uid, gid, (mode & 0o777).toString(8)];
  };
  expect(await Promise.all(['drivers', 'drivers/own', 'drivers/own/driver.mjs', 'turnstone.yaml'].map(facts))).toEqual([
    ['drivers', 0, SERVICE, '750'],
    ['drivers/own', 0, SERVICE, '750'],
    ['drivers/own/driver.mjs', 0, SERVICE, '640'],
    ['turnstone.yaml', 0, SERVICE, '640'],
  ]);
  expect(await Promise.all(['credentials', 'credentials/key', 'environment'].map(facts))).toEqual([
    ['credentials', 0, 0, '700'],
    ['credentials/key', 0, 0, '600'],
    ['environment', 0, 0, '600'],
  ]);
});

it('leaves nothing of the device that was given up which moves outputs or brings variables', async () => {
  const old = await gateway('old');
  const file = join(old.folder, 'gw.backup');
  expect((await old.run('backup', file)).exitCode).toBe(EXIT.ok);
  // The same place, as another gateway.
  await writeFile(join(old.state, 'credentials.json'), formatCredentials({ own: record('other') }));
  await writeFile(join(old.etc, 'environment'), 'METER=10.0.0.7\n');
  await mkdir(join(old.state, 'counters'));
  await writeFile(join(old.state, 'counters', 'rain.json'), '{"of":"other"}\n');
  const others = [
    'shared-attributes.json',
    'outputs.json',
    'outputs.json.tmp',
    'outputs.json.behind',
    'pulses.json',
    'rpc-journal.jsonl',
    'claim.json',
  ];
  for (const name of others) await writeFile(join(old.state, name), '{"of":"other"}\n');
  expect((await old.run('restore', file, '--replace')).exitCode).toBe(EXIT.ok);
  const left = [...(await readdir(old.state)), ...(await readdir(old.etc))];
  expect(left.filter((name) => [...others, 'counters', 'environment'].includes(name))).toEqual([]);
  expect(await readFile(join(old.etc, 'environment-of-former-device'), 'utf8')).toBe('METER=10.0.0.7\n');
  expect(await readFile(join(old.state, 'outputs-of-former-device.json'), 'utf8')).toBe('{"of":"other"}\n');
});

it('takes a restored identity for a real one, also where a simulated run was tried before', async () => {
  const { folder, state, run, config } = await gateway('real');
  const file = join(folder, 'gw.backup');
  expect((await run('backup', file)).exitCode).toBe(EXIT.ok);
  await rm(state, { recursive: true });
  await rm(config);
  const settings = { platform: { url: 'https://iot.example.org' }, devices: [], stateFolder: state };
  const simulate = (isMeant: boolean) =>
    expectSimulatedDevice(settings as never, systemFiles, { isMeant, warn: () => {} });
  await simulate(true);
  expect((await run('restore', file)).exitCode).toBe(EXIT.ok);
  await expect(simulate(false)).rejects.toThrow('would reach a real device');
});

it('takes a passphrase from a pipe: --passphrase-file <(pass show gateway)', async () => {
  const { folder, config } = await gateway('gw');
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const edge = fakeEdge();
  const words = ['backup', join(folder, 'gw.backup'), '--config', config, '--passphrase-file', pipe];
  const [exitCode] = await Promise.all([
    runCommandLine(words, { edge, version: () => '1' }),
    // In two pieces, and not before the other end is open.
    promisify(execFile)('sh', ['-c', '{ printf "correct horse "; sleep 0.1; printf battery; } >"$0"', pipe]),
  ]);
  expect({ exitCode, err: edge.err() }).toEqual({ exitCode: EXIT.ok, err: '' });
  const restored = await runCommandLine(
    [
      'restore',
      join(folder, 'gw.backup'),
      '--replace',
      '--config',
      config,
      '--passphrase-file',
      join(folder, 'passphrase'),
    ],
    { edge, version: () => '1' },
  );
  expect(restored).toBe(EXIT.ok);
});

it('reads no endless pipe', async () => {
  const { folder, config } = await gateway('gw');
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const edge = fakeEdge();
  const words = ['backup', join(folder, 'gw.backup'), '--config', config, '--passphrase-file', pipe];
  const [exitCode] = await Promise.all([
    runCommandLine(words, { edge, version: () => '1' }),
    promisify(execFile)('sh', ['-c', 'yes >"$0" 2>/dev/null || true', pipe]),
  ]);
  expect([exitCode, edge.err()]).toEqual([EXIT.usage, expect.stringContaining('has more than 4096 bytes')]);
});

it('says that credentials are spoilt, and ends a backup without them with 1', async () => {
  const { folder, state, run } = await gateway('gw');
  await writeFile(join(state, 'credentials.json'), 'garbage');
  const { exitCode, out, err } = await run('backup', join(folder, 'gw.backup'));
  expect([exitCode, err]).toEqual([
    EXIT.failure,
    expect.stringContaining(`the credentials in ${state} cannot be understood`),
  ]);
  expect(out).not.toContain('there is none');
  await writeFile(join(state, 'credentials.backup.json'), formatCredentials({ own: record('gw') }));
  expect(await run('backup', join(folder, 'gw.backup'))).toMatchObject({ exitCode: EXIT.ok, err: '' });
});

it('starts no agent over a restore that was cut off and that this user cannot finish, and says the command', async () => {
  const { config } = await gateway('gw');
  await mkdir(`${config}.restore`);
  const edge = fakeEdge();
  const exitCode = await runCommandLine(['run', '--config', config], { edge, version: () => '1' });
  // The service is not started again with this one.
  expect([exitCode, edge.err()]).toEqual([EXIT.badConfig, expect.stringContaining('sudo turnstone restore --finish')]);
});
