/** Files that the configuration names and that are not there now: check-config refuses them, and the agent lives without. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { CommandError, EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { loadConfigToRun } from '../../../src/config/read-config.ts';
import { makeCertificate } from '../../../src/host/self-signed-certificate.ts';
import { fakeEdge } from '../../support/fake-edge.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-not-now-'));
  onTestFinished(() => rm(folder, { recursive: true }));
});

/** How both commands end; the agent hands over its filter when it has taken the configuration, and is ended by that. */
async function outcome(
  platform: string,
  more = '',
): Promise<{ readonly run: number | 'lives'; readonly check: number }> {
  const file = await written(platform, more);
  let lives = false;
  const redactWith = (): void => {
    lives = true;
    throw new CommandError('');
  };
  const ends = (...words: string[]): Promise<number> =>
    runCommandLine(words, { edge: { ...fakeEdge(), redactWith }, version: () => '' });
  const run = await ends('run', '--config', file);
  return { run: lives ? 'lives' : run, check: await ends('check-config', file) };
}

async function written(platform: string, more = ''): Promise<string> {
  const file = join(folder, 'turnstone.yaml');
  await mkdir(join(folder, 'state'), { recursive: true });
  const folders = `stateFolder: ${folder}/state\nrunFolder: ${folder}/run\n`;
  await writeFile(file, `version: 1\nplatform: { url: "https://127.0.0.1:9", ${platform} }\n${folders}${more}`, {
    mode: 0o600,
  });
  return file;
}

it.each([
  ['accessTokenFile: /mnt/not-there/token', ['platform.accessTokenFile']],
  ['accessTokenCredential: turnstone_not_there', ['platform.accessTokenCredential']],
  ['accessToken: TOKENTOKEN, caFile: /mnt/not-there/ca.pem', ['platform.caFile']],
  [
    'accessTokenFile: /mnt/not-there/token, clientCertificateFile: /mnt/a, clientKeyFile: /mnt/b',
    ['platform.accessTokenFile', 'platform.clientCertificateFile', 'platform.clientKeyFile'],
  ],
])('may come with a mount or a credential: %s', async (platform, missing) => {
  expect(await outcome(platform)).toEqual({ run: 'lives', check: EXIT.badConfig });
  const read = await loadConfigToRun(await written(platform), { environment: {} });
  expect(read.missing.map(({ path }) => path)).toEqual(missing);
  expect(read.config.platform.url).toBe('https://127.0.0.1:9');
});

it('may be certificates in the middle of being replaced: none, half of one, or those of another key', async () => {
  const subject = { names: ['localhost'], fromMs: 0, untilMs: 4e12 };
  const [one, other] = [makeCertificate(subject), makeCertificate(subject)];
  const contents = {
    cert: one.cert,
    key: one.key,
    otherKey: other.key,
    none: 'gateway-7\n',
    half: one.cert.slice(0, 200),
    empty: '',
  };
  for (const [name, content] of Object.entries(contents)) await writeFile(join(folder, name), content);
  const bundle = `${one.cert}${other.cert}`;
  await writeFile(join(folder, 'bundle'), `# two\n${bundle}`);
  await writeFile(join(folder, 'damaged'), bundle.replace(/[A-Za-z0-9]{20}\n/, 'AAAA\n'));
  const faultsOf = async (options: Readonly<Record<string, string>>) => {
    const files = Object.entries(options).map(([option, name]) => `${option}: ${join(folder, name)}`);
    const { missing } = await loadConfigToRun(await written(['accessToken: TOKENTOKEN', ...files].join(', ')), {
      environment: {},
    });
    return missing.map(({ path, problem }) => `${path}: ${problem}`);
  };
  expect(await faultsOf({ caFile: 'bundle', clientCertificateFile: 'cert', clientKeyFile: 'key' })).toEqual([]);
  for (const caFile of ['none', 'half', 'empty', 'damaged', 'key'])
    expect(await faultsOf({ caFile })).toEqual(['platform.caFile: no whole certificate in']);
  expect(await faultsOf({ clientCertificateFile: 'cert', clientKeyFile: 'otherKey' })).toEqual([
    'platform.clientKeyFile: the key of another certificate in',
  ]);
  // Whole for whoever only parses it, and refused at every connection.
  await writeFile(join(folder, 'marked'), `\ufeff${one.cert}`);
  expect(await faultsOf({ clientCertificateFile: 'marked', clientKeyFile: 'key' })).toEqual([
    'platform.clientCertificateFile: a certificate or key that TLS refuses (no start line) in',
  ]);
  expect(await faultsOf({ clientCertificateFile: 'half', clientKeyFile: 'cert' })).toEqual([
    'platform.clientCertificateFile: no whole certificate in',
    'platform.clientKeyFile: no private key in',
  ]);
  expect(await outcome(`accessToken: TOKENTOKEN, caFile: ${join(folder, 'none')}`)).toEqual({
    run: 'lives',
    check: EXIT.badConfig,
  });
});

it('are no reason to live beside a fault that stays', async () => {
  const stays = { run: EXIT.badConfig, check: EXIT.badConfig };
  expect(await outcome('accessTokenFile: /mnt/not-there/token', 'sensorz: []\n')).toEqual(stays);
  const program = 'sensors: [{ name: a, kind: command, program: /mnt/not-there/program, period: 1s }]\n';
  expect(await outcome('accessToken: TOKENTOKEN', program)).toEqual(stays);
  expect(await outcome('accessTokenFile: no-path-of-a-file, requestTimeout: 1')).toEqual(stays);
});

it('end both commands alike where it is the configuration itself that cannot be read, and not for good', async () => {
  const ends = (...words: string[]): Promise<number> => runCommandLine(words, { edge: fakeEdge(), version: () => '' });
  expect(await ends('run', '--config', '/proc/self/mem')).toBe(EXIT.unreadable);
  expect(await ends('check-config', '/proc/self/mem')).toBe(EXIT.unreadable);
});
