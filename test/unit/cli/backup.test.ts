import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { type GatewayArchive, gatewayContent, gatewayOf, sealGateway } from '../../../src/cli/gateway-archive.ts';
import { gatherGateway } from '../../../src/cli/gather-gateway.ts';
import { restoreGateway } from '../../../src/cli/restore.ts';
import { finishRestore } from '../../../src/cli/restore-plan.ts';
import {
  type CredentialsRecord,
  formatCredentials,
  parseCredentials,
} from '../../../src/devices/credentials-record.ts';
import { type Files, systemFiles } from '../../../src/host/files.ts';
import { systemRandomBytes } from '../../../src/host/random.ts';
import { takeLock } from '../../../src/host/state-lock.ts';
import { fakeEdge } from '../../support/fake-edge.ts';

const PASSPHRASE = 'correct horse battery';
const KNOWN = 'state/devices/known/0123456789abcdef01234567';
const record = (accessToken: string, more: Partial<CredentialsRecord> = {}): CredentialsRecord => ({
  phase: 'in-use',
  source: 'provisioned',
  deviceName: 'gw-7',
  accessToken,
  board: { hostname: 'old', mac: '001122334455' },
  generation: 3,
  ...more,
});

async function emptyPlace() {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-backup-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'passphrase'), PASSPHRASE);
  const config = join(folder, 'etc/turnstone.yaml');
  const run = async (...words: string[]) => {
    const edge = fakeEdge();
    const exitCode = await runCommandLine([...words, '--config', config], { edge, version: () => '1' });
    return { exitCode, out: edge.out(), err: edge.err() };
  };
  const put = async (path: string, text: string, mode = 0o640) => {
    await mkdir(join(folder, path, '..'), { recursive: true });
    await writeFile(join(folder, path), text, { mode });
  };
  return { folder, config, run, put, passphrase: join(folder, 'passphrase') };
}

/** A gateway with all that it can have; `state` is where its state lies, also once it is somewhere else. */
async function gateway(token = 'token-of-gateway', state = 'state') {
  const place = await emptyPlace();
  const { put, folder } = place;
  await put('etc/turnstone.yaml', configuration(join(folder, state), join(folder, 'etc')));
  await put('etc/models/meter.yaml', 'models: {}\n');
  await put('etc/drivers/own/driver.mjs', 'export default {};\n', 0o644);
  await put('etc/credentials/token', 'a-secret\n', 0o600);
  await put('etc/ca.pem', 'certificate\n');
  await put('etc/environment', 'SITE=north\n', 0o600);
  await put('etc/unrelated.txt', 'not of it\n');
  await put(`${state}/credentials.json`, formatCredentials({ own: record(token) }), 0o600);
  await put(`${state}/device-names.json`, '{"names":1}\n');
  await put(`${state}/shared-attributes.json`, '{"shared":1}\n');
  await put(`${state}/counters/rain.json`, '{"total":5}\n');
  await put(`${state}/outbox/0.seg`, 'readings');
  await put(`${state}/devices/outbox/0.seg`, 'readings of devices');
  await put(
    `${KNOWN.replace('state', state)}/credentials.json`,
    formatCredentials({ own: record('token-of-device') }),
    0o600,
  );
  return place;
}

function configuration(stateFolder: string, folder: string): string {
  return [
    'version: 1',
    `platform: { url: "https://iot.example.org", caFile: ${folder}/ca.pem, clientKeyFile: /nowhere/client.key }`,
    `stateFolder: ${stateFolder}`,
    `runFolder: ${stateFolder}-run`,
    '',
  ].join('\n');
}

async function treeOf(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries
    .filter((entry) => entry.isFile() && entry.name !== 'agent.lock')
    .map((entry) => join(entry.parentPath, entry.name));
  const read = files.sort().map(async (file) => [file.slice(folder.length + 1), await readFile(file, 'utf8')] as const);
  return Object.fromEntries(await Promise.all(read));
}

async function backedUp(place: Awaited<ReturnType<typeof gateway>>) {
  const file = join(place.folder, 'gateway.backup');
  const made = await place.run('backup', file, '--passphrase-file', place.passphrase);
  expect([made.err, made.exitCode]).toEqual(['', EXIT.ok]);
  return { file, ...made };
}

describe('turnstone backup', () => {
  it('writes one file for its owner alone, which shows nothing, and says what is not in it', async () => {
    const place = await gateway();
    const { file, out } = await backedUp(place);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readFile(file, 'utf8')).not.toMatch(/token-of|gw-7|north/);
    expect(out).toContain('the configuration, 5 files beside it, the identity, 1 attached device');
    expect(out).toContain('not in it: /nowhere/client.key');
    expect(out).toContain('turnstone outbox export');
  });

  it('refuses a weak passphrase, and writes nothing', async () => {
    const { run, put, folder } = await gateway();
    await put('weak', 'short');
    const { err } = await run('backup', join(folder, 'gateway.backup'), '--passphrase-file', join(folder, 'weak'));
    expect(err).toContain('a passphrase of at least 10 characters');
    expect(await readdir(folder)).not.toContain('gateway.backup');
  });
});

describe('turnstone restore', () => {
  it('brings all of a gateway to another machine, bound to it', async () => {
    const old = await gateway();
    const { file } = await backedUp(old);
    const before = await treeOf(old.folder);
    // The machine that had it is gone: what it was is made anew from nothing.
    await rm(join(old.folder, 'etc'), { recursive: true });
    await rm(join(old.folder, 'state'), { recursive: true });
    await mkdir(join(old.folder, 'etc'));
    const { exitCode, out, err } = await old.run('restore', file, '--passphrase-file', old.passphrase);
    expect([err, exitCode]).toEqual(['', EXIT.ok]);
    expect(out).toContain('next: sudo turnstone check-config');
    const after = await treeOf(old.folder);
    const credentials = Object.keys(after).filter((path) => path.includes('credentials.'));
    expect(credentials).toHaveLength(4);
    const same = Object.keys(before).filter((path) => !/credentials\.|outbox|unrelated/.test(path));
    expect(same).toContain('etc/drivers/own/driver.mjs');
    for (const path of same) expect([path, after[path]]).toEqual([path, before[path]]);
    expect(Object.keys(after).filter((path) => /outbox|unrelated|\.restore|\.tmp/.test(path))).toEqual([]);
    const { own } = parseCredentials(after['state/credentials.json'] ?? '');
    expect(own).toMatchObject({ accessToken: 'token-of-gateway', generation: 4, takesOver: true });
    expect(own?.board.mac).not.toBe('001122334455');
    expect(parseCredentials(after[`${KNOWN}/credentials.json`] ?? '').own?.generation).toBe(4);
    expect((await stat(join(old.folder, 'state/credentials.json'))).mode & 0o777).toBe(0o600);
    expect((await stat(join(old.folder, 'etc/environment'))).mode & 0o777).toBe(0o600);
  });

  it('changes nothing with a wrong passphrase, a damaged file, or what is no backup', async () => {
    const place = await gateway();
    const { file } = await backedUp(place);
    const before = await treeOf(place.folder);
    await place.put('wrong', 'another passphrase');
    const text = await readFile(file, 'utf8');
    const content = /"content":"(.{40})/.exec(text)?.[1] ?? '';
    const damaged = text.replace(content, content.toLowerCase());
    const cases: readonly [string, string, RegExp][] = [
      [text, 'wrong', /wrong passphrase, or the file was changed/],
      [damaged, 'passphrase', /wrong passphrase, or the file was changed/],
      [text.slice(0, 200), 'passphrase', /no archive of Turnstone, or a damaged one: it is not whole/],
      [text.replace('"version":1', '"version":9'), 'passphrase', /written by a later release \(format version 9\)/],
      [
        text.replace('turnstone/archive', 'turnstone/gateway'),
        'passphrase',
        /of a release before 0\.1\.0, .* with turnstone backup FILE/,
      ],
      [
        text.replace('"kind":"gateway"', '"kind":"identity"'),
        'passphrase',
        /holds a gateway’s identity: use turnstone identity import FILE/,
      ],
    ];
    for (const [written, passphrase, says] of cases) {
      await writeFile(join(place.folder, 'given'), written);
      const words = [
        'restore',
        join(place.folder, 'given'),
        '--replace',
        '--passphrase-file',
        join(place.folder, passphrase),
      ];
      const { exitCode, err } = await place.run(...words);
      expect(err).toMatch(says);
      expect(exitCode).toBe(EXIT.failure);
    }
    expect(await treeOf(place.folder)).toMatchObject(before);
  });

  it.each(['../etc/passwd', '/etc/passwd', 'a/../../b', '.ssh/keys', 'a//b', 'a/', '', 'a\0b', 'a/b/c/d/e/f/g/h'])(
    'refuses an archive with a file at %j',
    async (path) => {
      const archive = await archiveOf(await gateway());
      const evil = {
        ...archive,
        files: [...archive.files, { place: 'state' as const, path, mode: 0o600, content: Buffer.from('x') }],
      };
      await expect(sealGateway(evil, PASSPHRASE, systemRandomBytes)).rejects.toThrow(
        'a file in it would lie elsewhere',
      );
    },
  );

  it('refuses an archive whose credentials cannot be read, that has a file twice, that is too large, or that has no configuration', async () => {
    const archive = await archiveOf(await gateway());
    const more = (path: string, content: Buffer) => ({
      ...archive,
      files: [...archive.files, { place: 'state' as const, path, mode: 0o600, content }],
    });
    const spoilt = archive.files.map((file) =>
      file.path === 'credentials.json' ? { ...file, content: Buffer.from('{}') } : file,
    );
    expect(() => gatewayOf(gatewayContent({ ...archive, files: spoilt }))).toThrow('cannot be understood');
    expect(() => gatewayOf(gatewayContent(more('device-names.json', Buffer.from('x'))))).toThrow('twice');
    expect(() => gatewayOf(gatewayContent(more('large', Buffer.alloc(5_000_000))))).toThrow('more than 4194304 bytes');
    expect(() => gatewayOf(gatewayContent({ ...archive, configName: 'other.yaml' }))).toThrow('no configuration');
  });

  it('refuses while an agent runs, and over what is here without --replace', async () => {
    const place = await gateway();
    const { file } = await backedUp(place);
    const restore = (...more: string[]) => place.run('restore', file, '--passphrase-file', place.passphrase, ...more);
    expect((await restore()).err).toContain('this board is a device already, "gw-7"; --replace gives that up');
    await rm(join(place.folder, 'state/credentials.json'));
    await writeFile(place.config, `${await readFile(place.config, 'utf8')}# mine\n`);
    expect((await restore()).err).toContain('there is a configuration already');
    await writeFile(join(place.folder, 'etc/turnstone.example.yaml'), await readFile(place.config));
    const lock = await takeLock(join(place.folder, 'state'));
    expect((await restore('--replace')).err).toMatch(/another agent.*stop the agent first/);
    await lock.close();
    expect(await restore()).toMatchObject({ exitCode: EXIT.ok, err: '' });
  });

  it('sets aside what waits as another device, and keeps what waits as the same', async () => {
    const other = await gateway();
    const { file } = await backedUp(other);
    const same = await other.run('restore', file, '--replace', '--passphrase-file', other.passphrase);
    expect([same.exitCode, (await treeOf(other.folder))['state/outbox/0.seg']]).toEqual([EXIT.ok, 'readings']);
    await other.put('state/credentials.json', formatCredentials({ own: record('token-of-another') }));
    const { out } = await other.run('restore', file, '--replace', '--passphrase-file', other.passphrase);
    expect(out).toContain('outbox-of-former-device');
    const after = await treeOf(other.folder);
    expect(after['state/outbox-of-former-device/0.seg']).toBe('readings');
    expect(after['state/devices-of-former-device/outbox/0.seg']).toBe('readings of devices');
    expect(after[`${KNOWN}/credentials.json`]).toContain('token-of-device');
    expect(after['state/device-names.json']).toBe('{"names":1}\n');
  });

  it('leaves the old gateway or the new one, wherever it is cut', { timeout: 60_000 }, async () => {
    const cut = async (at: number) => {
      const place = await gateway('token-of-another');
      const archive = await archiveOf(await gateway());
      const config = archive.files.map((file) =>
        file.path === 'turnstone.yaml'
          ? { ...file, content: Buffer.from(configuration(join(place.folder, 'state'), '/etc')) }
          : file,
      );
      const deps = { configFile: place.config, environment: {}, replace: true };
      const before = await treeOf(place.folder);
      const disk = mortal(at);
      const outcome = await restoreGateway({ ...archive, files: config }, { ...deps, files: disk.files }).catch(
        (error: unknown) => error,
      );
      const left = await treeOf(place.folder);
      const isCommitted = Object.keys(left).some((path) => path.endsWith('.restore'));
      if (!isCommitted && outcome instanceof Error) {
        const drafts = Object.keys(left).filter((path) => path.endsWith('.tmp'));
        for (const draft of drafts) delete left[draft];
        expect([at, left]).toEqual([at, before]);
      } else {
        await finishRestore(place.config, systemFiles);
        const after = await treeOf(place.folder);
        expect([at, parseCredentials(after['state/credentials.json'] ?? '').own?.accessToken]).toEqual([
          at,
          'token-of-gateway',
        ]);
        for (const { place: where, path, content } of config)
          if (!path.endsWith('credentials.json'))
            expect([at, after[`${where === 'state' ? 'state' : 'etc'}/${path}`]]).toEqual([
              at,
              content.toString('utf8'),
            ]);
        expect([at, after['state/outbox-of-former-device/0.seg'], after['state/outbox/0.seg']]).toEqual([
          at,
          'readings',
          undefined,
        ]);
        expect(Object.keys(after).filter((path) => path.endsWith('.restore'))).toEqual([]);
      }
      return { isCommitted, isWhole: !(outcome instanceof Error) };
    };
    const seen = { before: 0, between: 0 };
    for (let at = 0; ; at += 1) {
      const { isCommitted, isWhole } = await cut(at);
      if (isWhole) break;
      seen[isCommitted ? 'between' : 'before'] += 1;
    }
    expect(seen.before).toBeGreaterThan(1);
    expect(seen.between).toBeGreaterThan(20);
  });

  it('is finished by --finish, and refuses another meanwhile', async () => {
    const place = await gateway();
    const { file } = await backedUp(place);
    const archive = await archiveOf(place);
    const cutOff = restoreGateway(archive, {
      configFile: place.config,
      environment: {},
      replace: true,
      files: mortal(12).files,
    });
    await expect(cutOff).rejects.toThrow('--finish');
    const again = await place.run('restore', file, '--passphrase-file', place.passphrase, '--replace');
    expect(again.err).toContain('a restore was cut off here; finish it first');
    expect((await place.run('restore', '--finish')).out).toContain('finished');
    expect((await place.run('restore', '--finish')).out).toBe('no restore is to be finished\n');
  });
});

async function archiveOf(place: Awaited<ReturnType<typeof gateway>>): Promise<GatewayArchive> {
  const { configFolder, configName, files } = await gatherGateway(place.config, {}, systemFiles);
  return { madeAtMs: 1, release: '1', configFolder, configName, files };
}

/** A disk that takes so many changes, and none after. */
function mortal(changes: number): { readonly files: Files } {
  let left = changes;
  const dies = (): void => {
    left -= 1;
    if (left < 0) throw Object.assign(new Error('the power is cut'), { code: 'EIO' });
  };
  const files: Files = {
    ...systemFiles,
    open: async (path, mode, options) => {
      if (mode === 'read') return systemFiles.open(path, mode, options);
      dies();
      const file = await systemFiles.open(path, mode, options);
      return {
        ...file,
        write: async (bytes, position) => {
          dies();
          await file.write(bytes, position);
        },
      };
    },
    rename: async (from, to) => {
      dies();
      await systemFiles.rename(from, to);
    },
    unlink: async (path) => {
      dies();
      await systemFiles.unlink(path);
    },
    makeFolder: async (path, mode) => {
      dies();
      await systemFiles.makeFolder(path, mode);
    },
  };
  return { files };
}
