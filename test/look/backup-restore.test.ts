import { execFileSync } from 'node:child_process';
import { chown, lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { EXIT } from '../../src/cli/exit-code.ts';
import { expectSimulatedDevice } from '../../src/cli/simulated-run.ts';
import { runCommandLine } from '../../src/command-line/program.ts';
import { systemFiles } from '../../src/host/files.ts';
import { type CredentialsRecord, formatCredentials } from '../../src/provisioning/credentials-record.ts';
import { fakeEdge } from '../support/fake-edge.ts';

const isRoot = process.geteuid?.() === 0;
const SERVICE = 65_534;
const record = (deviceName: string): CredentialsRecord => ({
  ...{ phase: 'in-use', source: 'provisioned', deviceName, accessToken: `token-of-${deviceName}-12345`, generation: 1 },
  board: { hostname: 'old', mac: '001122334455' },
});

async function gateway(name: string, yaml = '') {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-look-'));
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
    expect({ name, isFile: facts.isFile(), isDone: exitCode === EXIT.ok }).toEqual({ name, isFile: false, isDone: false });
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

it('leaves nothing of the device that was given up which moves outputs or brings variables', async () => {
  const old = await gateway('old');
  const file = join(old.folder, 'gw.backup');
  expect((await old.run('backup', file)).exitCode).toBe(EXIT.ok);
  // The same place, as another gateway.
  await writeFile(join(old.state, 'credentials.json'), formatCredentials({ own: record('other') }));
  for (const name of ['shared-attributes.json', 'outputs.json']) await writeFile(join(old.state, name), '{"of":"other"}\n');
  await writeFile(join(old.etc, 'environment'), 'METER=10.0.0.7\n');
  expect((await old.run('restore', file, '--replace')).exitCode).toBe(EXIT.ok);
  const left = [...(await readdir(old.state)), ...(await readdir(old.etc))];
  expect(left.filter((name) => ['shared-attributes.json', 'outputs.json', 'environment'].includes(name))).toEqual([]);
});

it('takes a restored identity for a real one, also where a simulated run was tried before', async () => {
  const { folder, state, run, config } = await gateway('real');
  const file = join(folder, 'gw.backup');
  expect((await run('backup', file)).exitCode).toBe(EXIT.ok);
  await rm(state, { recursive: true });
  await rm(config);
  const settings = { platform: { url: 'https://iot.example.org' }, devices: [], stateFolder: state };
  const simulate = () => expectSimulatedDevice(settings as never, systemFiles, { isMeant: false, warn: () => {} });
  await simulate();
  expect((await run('restore', file)).exitCode).toBe(EXIT.ok);
  await expect(simulate()).rejects.toThrow('would reach a real device');
});

it('takes a passphrase from a pipe: --passphrase-file <(pass show gateway)', async () => {
  const { folder } = await gateway('gw');
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const edge = fakeEdge();
  const words = ['backup', join(folder, 'gw.backup'), '--config', join(folder, 'etc/turnstone.yaml'), '--passphrase-file', pipe];
  const [exitCode] = await Promise.all([
    runCommandLine(words, { edge, version: () => '1' }),
    writeFile(pipe, 'correct horse battery', { flag: 'r+' }),
  ]);
  expect({ exitCode, err: edge.err() }).toEqual({ exitCode: EXIT.ok, err: '' });
});
