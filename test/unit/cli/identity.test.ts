import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encode } from 'uqr';
import { describe, expect, it, onTestFinished } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { ControlServer } from '../../../src/control-socket/control-server.ts';
import { formatCredentials } from '../../../src/devices/credentials-record.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import { LocalPlatform } from '../../../src/stand-ins/local-platform/local-platform.ts';
import { type FakeEdgeOptions, fakeEdge } from '../../support/fake-edge.ts';
import { socketOperations } from '../../support/socket-operations.ts';

/** A gateway without a running agent: its configuration, its state folder, and a platform that knows its token. */
async function given(token = 'configured-token') {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-identity-'));
  const platform = await LocalPlatform.start();
  onTestFinished(async () => {
    await platform.close();
    await rm(folder, { recursive: true, force: true });
  });
  platform.ensureDevice('gateway-1', token);
  const config = join(folder, 'turnstone.yaml');
  const access = token === '' ? '' : `, accessToken: ${token}`;
  await writeFile(
    config,
    `version: 1\nplatform: { url: "${platform.url}"${access} }\nstateFolder: ${folder}/state\nrunFolder: ${folder}/run\n`,
    { mode: 0o600 },
  );
  const run = async (words: readonly string[], options: FakeEdgeOptions = {}) => {
    const edge = fakeEdge(options);
    const exitCode = await runCommandLine([...words, '--config', config], { edge, version: () => '1' });
    return { exitCode, out: edge.out(), err: edge.err(), asked: edge.asked };
  };
  return { folder, run };
}

describe('a change of the identity', () => {
  const TAKEN_UP = 'the running agent stops now to take this up';

  it.each([
    [['adopt'], 'adoptIdentity', true],
    [['forget', '--yes'], 'forgetIdentity', true],
    [['rotate-token', '--make'], 'setNextAccessToken', false],
  ] as const)('%j says of a running agent whether it stops for it', async (words, method, stops) => {
    const { folder, run } = await given('');
    const asked: string[] = [];
    const server = await ControlServer.open(
      {
        folder: join(folder, 'run'),
        ...socketOperations({ methods: { [method]: () => ({ asked: asked.push(method) }) } }),
        clock: systemClock,
        files: systemFiles,
        log: silentLog,
      },
      new AbortController().signal,
    );
    onTestFinished(() => server.close());
    const { exitCode, err } = await run(['identity', ...words]);
    expect([exitCode, asked, err.includes(TAKEN_UP)]).toEqual([EXIT.ok, [method], stops]);
  });

  it('says nothing of an agent where none runs', async () => {
    const { run } = await given('');
    expect((await run(['identity', 'forget', '--yes'])).err).not.toContain(TAKEN_UP);
  });
});

describe('turnstone claim', () => {
  it('shows the secret as text and as a QR code that says the same', async () => {
    const { run } = await given();
    const { exitCode, out } = await run(['claim', '--duration', '10m']);
    expect(exitCode).toBe(EXIT.ok);
    const secret = /secret\s+(\S+)/.exec(out)?.[1] ?? '';
    expect(secret).toMatch(/^([A-Z2-9]{5}-){3}[A-Z2-9]{5}$/);
    // Two rows of modules are one line of half blocks.
    const { size } = encode(JSON.stringify({ secretKey: secret }), { border: 2, ecc: 'M' });
    const code = out.split('\n').filter((line) => /^[█▀▄ ]{20,}$/.test(line));
    expect(code.length).toBe(Math.ceil(size / 2));
    for (const line of code) expect(line.length).toBe(size);
  });

  it('tells of a running agent where its page is, which shows the same, and what to compare', async () => {
    const { folder, run } = await given('');
    const claim = { secretKey: 'ABCDE-FGHJK', untilMs: Date.now() + 60_000, alreadyOpen: false };
    const page = { url: 'https://gateway-1:8088', fingerprint: Array(32).fill('AB').join(':') };
    const server = await ControlServer.open(
      {
        folder: join(folder, 'run'),
        ...socketOperations({ methods: { claim: () => claim }, readMethods: { getStatus: () => ({ page }) } }),
        clock: systemClock,
        files: systemFiles,
        log: silentLog,
      },
      new AbortController().signal,
    );
    onTestFinished(() => server.close());
    expect((await run(['claim', '--no-qr'])).out).toMatch(
      /^page +https:\/\/gateway-1:8088, certificate (AB ){8}…\n +SHA-256 (AB:){31}AB$/m,
    );
    expect(JSON.parse((await run(['claim', '--json'])).out)).toMatchObject({ secretKey: 'ABCDE-FGHJK', page });
  });

  it('takes the secret from a prompt or a file, never from the command line', async () => {
    const { run, folder } = await given();
    const file = join(folder, 'secret');
    await writeFile(file, 'from-a-file\n');
    expect(
      JSON.parse((await run(['claim', '--secret-key-file', file, '--duration', '1s', '--json'])).out),
    ).toMatchObject({
      secretKey: 'from-a-file',
    });
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const asked = await run(['claim', '--ask', '--json'], { answers: ['typed'] });
    expect(JSON.parse(asked.out)).toMatchObject({ secretKey: 'typed', alreadyOpen: false });
    expect((await run(['claim', '--secret', 'x'])).exitCode).toBe(EXIT.usage);
  });

  it('says so when there is nobody to claim', async () => {
    const { run } = await given('');
    const { exitCode, err } = await run(['claim']);
    expect(exitCode).toBe(EXIT.failure);
    expect(err.trim()).toMatch(/no credentials yet/);
  });
});

describe('turnstone identity, without a running agent', () => {
  it('rotates no token that the platform has never heard of', async () => {
    const { run, folder } = await given('');
    const proposed = {
      phase: 'proposed',
      source: 'provisioned',
      accessToken: 'proposed-token',
      board: {},
      generation: 1,
    } as const;
    await mkdir(join(folder, 'state'), { recursive: true });
    const file = join(folder, 'state/credentials.json');
    await writeFile(file, formatCredentials({ own: proposed }), { mode: 0o600 });
    const { exitCode, out, err } = await run(['identity', 'rotate-token', '--make']);
    expect({ exitCode, out }).toEqual({ exitCode: EXIT.failure, out: '' });
    expect(err).toContain('no token to rotate');
    expect(JSON.parse(await readFile(file, 'utf8')).state.own).toEqual(proposed);
  });

  it('makes the next token of a configured one, and keeps both', async () => {
    const { run, folder } = await given();
    const { exitCode, out } = await run(['identity', 'rotate-token', '--make']);
    expect(exitCode).toBe(EXIT.ok);
    expect(out).toMatch(/^[A-Za-z0-9]{32}\n$/);
    const kept = JSON.parse(await readFile(join(folder, 'state/credentials.json'), 'utf8'));
    expect(kept.state.configured).toMatchObject({ accessToken: 'configured-token', nextToken: out.trim() });
  });

  it('exports under a passphrase that is asked for twice', async () => {
    const { run, folder } = await given();
    const file = join(folder, 'gateway.identity');
    const differ = await run(['identity', 'export', file], { answers: ['correct horse', 'correct house'] });
    expect([differ.exitCode, differ.err]).toEqual([EXIT.usage, expect.stringContaining('differ')]);
    expect((await run(['identity', 'export', file], { answers: ['correct horse', 'correct horse'] })).exitCode).toBe(
      EXIT.ok,
    );
    expect(await readFile(file, 'utf8')).not.toContain('configured-token');
  });

  it('says after an import what to do where the device was moved again since', async () => {
    const [old, fresh] = [await given(), await given('')];
    const file = join(old.folder, 'gateway.identity');
    expect(
      (await old.run(['identity', 'export', file], { answers: ['correct horse', 'correct horse'] })).exitCode,
    ).toBe(EXIT.ok);
    const { exitCode, out } = await fresh.run(['identity', 'import', file], { answers: ['correct horse'] });
    expect([exitCode, out]).toEqual([
      EXIT.ok,
      expect.stringMatching(/^this board is the device now.*\n.*moved.*identity adopt/),
    ]);
  });

  it('says what is missing when there is no identity', async () => {
    const { run, folder } = await given('');
    expect(
      (await run(['identity', 'export', join(folder, 'x')], { answers: ['correct horse', 'correct horse'] })).err,
    ).toMatch(/not been provisioned/);
    expect(JSON.parse((await run(['identity', 'show', '--json'])).out)).toMatchObject({
      credentials: { phase: 'none' },
    });
    expect(await readdir(folder)).not.toContain('x');
  });

  it('does not forget without a yes', async () => {
    const { run } = await given('');
    const no = await run(['identity', 'forget'], { answers: ['no'] });
    expect([no.exitCode, no.err]).toEqual([EXIT.failure, expect.stringContaining('nothing was changed')]);
    expect((await run(['identity', 'forget', '--yes'])).exitCode).toBe(EXIT.ok);
  });

  it.each([
    ['the gateway has a token of its own', '', 0],
    ['its token stands in the configuration', 'configured-token', 2],
  ])('forgets those of all attached devices, where %s, and keeps names and what waits', async (_where, token, own) => {
    const { run, folder } = await given(token);
    const devices = join(folder, 'state/devices');
    const record = (deviceName: string) =>
      formatCredentials({
        own: {
          phase: 'in-use',
          source: 'provisioned',
          deviceName,
          accessToken: `token of ${deviceName}`,
          board: { serial: 'S1', hostname: 'gw' },
          generation: 1,
        },
      });
    const kept = ['known/a/outputs.json', 'names.json'];
    for (const [path, text] of [
      ...['known/a', 'known/b'].flatMap((place): [string, string][] => [
        [`${place}/credentials.json`, record(place)],
        [`${place}/credentials.backup.json`, record(place)],
      ]),
      ...kept.map((path): [string, string] => [path, 'as it was']),
    ]) {
      await mkdir(join(devices, path, '..'), { recursive: true });
      await writeFile(join(devices, path), text, { mode: 0o600 });
    }
    expect((await run(['identity', 'forget', '--yes'])).exitCode === EXIT.ok).toBe(own === 0);
    const tokens = async () =>
      (
        await Promise.all(
          ['a', 'b'].flatMap((name) =>
            ['', '.backup'].map((twin) => readFile(join(devices, `known/${name}/credentials${twin}.json`), 'utf8')),
          ),
        )
      ).filter((text) => text.includes('token of')).length;
    expect(await tokens()).toBe(4);
    const forgotten = await run(['identity', 'forget', '--devices', '--yes']);
    expect([forgotten.exitCode, forgotten.out]).toEqual([
      EXIT.ok,
      expect.stringMatching(/^forgotten, also for 2 attached devices;/),
    ]);
    expect(await tokens()).toBe(0);
    for (const path of kept) expect(await readFile(join(devices, path), 'utf8')).toBe('as it was');
    expect((await run(['identity', 'forget', '--devices', '--yes'])).out).toContain('also for 0 attached devices');
  });

  it('keeps rotated provisioning credentials, and shows none of them', async () => {
    const { run, folder } = await given('');
    const rotated = await run(['identity', 'rotate-provisioning-secret'], { answers: ['key-two', 'secret-two'] });
    expect(rotated.exitCode).toBe(EXIT.ok);
    expect(await readFile(join(folder, 'state/credentials.json'), 'utf8')).toContain('secret-two');
    const shown = await run(['identity', 'show']);
    expect(shown.out).toMatch(/provisioningSecretRotated\s+true/);
    expect(shown.out).not.toContain('undefined');
    expect(rotated.out + shown.out).not.toMatch(/key-two|secret-two/);
  });
});
