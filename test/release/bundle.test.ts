/** The release as it is shipped: built twice, installed by its own installer into a folder, updated over a platform by its own helper. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import {
  type BuiltRelease,
  buildRelease,
  InstalledGateway,
  makeSigningKey,
  ROOT,
  textOf,
  until,
} from '../support/installed-gateway.ts';
import { PlatformPerson } from '../support/platform-people.ts';
import { makeImage } from '../support/release-image.ts';

const run = promisify(execFile);
const NEXT = '99.0.0';
let out: string;
let first: BuiltRelease;
let again: BuiltRelease;
let next: BuiltRelease;
let gateway: InstalledGateway;

beforeAll(async () => {
  out = await mkdtemp(join(tmpdir(), 'turnstone-releases-'));
  const key = await makeSigningKey(out);
  [first, again] = (await Promise.all(
    ['a', 'c'].map((name) => buildRelease({ out: join(out, name), key, deb: true })),
  )) as [BuiltRelease, BuiltRelease];
  next = await buildRelease({ out: join(out, 'b'), key, release: NEXT });
  gateway = await InstalledGateway.make();
}, 600_000);

afterAll(async () => {
  await gateway?.remove();
  await rm(out, { recursive: true, force: true });
});

const folderOf = ({ file }: BuiltRelease): string => file.replace(/\.tar\.zst$/, '');

describe('a release bundle', () => {
  it('is the same bytes when it is built again', async () => {
    const [one, other] = await Promise.all(
      [first, again].map((built) => readFile(join(folderOf(built), 'manifest.json'), 'utf8')),
    );
    expect(other).toBe(one);
    expect(again.sha256).toBe(first.sha256);
  });

  it('is unpacked by ordinary tools', async () => {
    const { stdout } = await run('sh', ['-c', `zstd -dc "$1" 2>/dev/null | tar -t`, 'sh', first.file]);
    expect(stdout.split('\n')).toEqual(
      expect.arrayContaining([
        'manifest.json',
        'node',
        'main.mjs',
        'native/i2c.node',
        'install.sh',
        'guard/boot-guard',
        'models/eastron.yaml',
      ]),
    );
    expect(stdout.split('\n')).toEqual(
      expect.arrayContaining(['README.md', 'CHANGELOG.md', 'docs/operations.md', 'docs/outputs.md']),
    );
  });

  it('holds nothing of the machine it was built on', async () => {
    const { stdout } = await run('sh', ['-c', `grep -rlF "$1" "$2" || true`, 'sh', ROOT, folderOf(first)]);
    expect(stdout).toBe('');
  });
});

describe('install.sh', () => {
  it('installs the release it lies in, and is safe to run twice', async () => {
    await gateway.install(folderOf(first));
    expect(await gateway.current()).toBe(first.release);
    expect(await gateway.turnstone('--version')).toBe(`${first.release}\n`);
    await writeFile(gateway.path('etc/turnstone/turnstone.yaml'), '# mine\n');
    await gateway.install(folderOf(first));
    expect(await textOf(gateway.path('etc/turnstone/turnstone.yaml'))).toBe('# mine\n');
    expect(await readdir(gateway.path('opt/turnstone/releases'))).toEqual([first.release]);
  }, 60_000);

  it('keeps secrets from others and releases from the service', async () => {
    const modeOf = async (path: string) => ((await stat(gateway.path(path))).mode & 0o777).toString(8);
    expect(await modeOf('etc/turnstone/credentials')).toBe('700');
    expect(await modeOf('etc/turnstone')).toBe('750');
    expect(await modeOf('var/lib/turnstone')).toBe('750');
    for (const path of ['opt/turnstone/releases', 'opt/turnstone/guard', 'opt/turnstone/current/main.mjs']) {
      expect((await stat(gateway.path(path))).mode & 0o022, path).toBe(0);
    }
  });

  it('does not go back to an older release unless it is told to', async () => {
    await gateway.install(folderOf(next));
    expect(await gateway.current()).toBe(NEXT);
    await gateway.install(folderOf(first));
    expect(await gateway.current()).toBe(NEXT);
    await gateway.install(folderOf(first), '--allow-downgrade');
    expect(await gateway.current()).toBe(first.release);
  }, 60_000);

  it('narrows the devices of the service, and takes it back', async () => {
    const narrow = gateway.path('opt/turnstone/guard/narrow-devices');
    const dropin = gateway.path('etc/systemd/system/turnstone.service.d/devices.conf');
    await run(narrow, ['/dev/i2c-1', 'char-ttyUSB'], { env: gateway.environment });
    expect((await textOf(dropin)).split('\n')).toEqual(
      expect.arrayContaining(['DeviceAllow=', 'DeviceAllow=/dev/i2c-1 rw', 'DeviceAllow=char-ttyUSB rw']),
    );
    await expect(run(narrow, ['/dev/sda'], { env: gateway.environment })).rejects.toThrow(/not a GPIO chip/);
    await run(narrow, [], { env: gateway.environment });
    expect(await textOf(dropin)).toBe('');
  });
});

describe('the root helper', () => {
  it('does not wait for a self-test that hangs, and keeps what was current', async () => {
    const { files } = makeImage({ release: '100.0.0', files: { turnstone: '#!/bin/sh\nsleep 600\n' } });
    const folder = join(out, 'hangs');
    for (const [path, content] of files) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), content);
    }
    const before = await gateway.current();
    const helper = gateway.path('opt/turnstone/guard/root-helper.mjs');
    const environment = { ...gateway.environment, TURNSTONE_SELF_TEST_MS: '500' };
    await expect(
      run(gateway.path('opt/turnstone/guard/node'), [helper, 'adopt', folder], { env: environment }),
    ).rejects.toThrow(/self-test was ended by SIGKILL/);
    expect(await gateway.current()).toBe(before);
  });

  it('takes nothing but its four requests', async () => {
    // The agent's own folder, which the installer leaves to it.
    await mkdir(gateway.path('var/lib/turnstone/firmware'), { recursive: true });
    await writeFile(gateway.path('var/lib/turnstone/firmware/request'), 'request=run\nid=x\ncommand=/bin/true\n');
    const { stderr } = await run(
      gateway.path('opt/turnstone/guard/node'),
      [gateway.path('opt/turnstone/guard/root-helper.mjs'), 'request'],
      {
        env: gateway.environment,
      },
    );
    expect(stderr).toContain('none of swap, reboot, configure and settle');
    expect(await readdir(gateway.path('var/lib/turnstone/firmware'))).not.toContain('request');
    await rm(gateway.path('var/lib/turnstone/firmware'), { recursive: true });
  });
});

describe('an update from bundle to bundle', () => {
  it('is downloaded, swapped, tried, started and confirmed; rolled back by hand, and installed from a file', async () => {
    const platform = await LocalPlatform.start();
    try {
      const { id } = platform.ensureDevice('gateway', 'gateway-token');
      await gateway.configure(
        `platform: { url: "${platform.url}", accessToken: gateway-token, reconcilePeriod: 10s }\nsensors: [{ name: machine, kind: host, period: 1s }]`,
      );
      gateway.start();
      const person = await PlatformPerson.logIn(platform.url);
      const packageId = await person.uploadPackage(next.file, { title: 'turnstone', version: NEXT });
      await until('the first upload', async () => (await person.values(id, 'current_fw_version')).length > 0);
      await person.assignFirmware('gateway', packageId);
      const states = async () => (await person.values(id, 'fw_state')).map(({ value }) => value);
      await until(
        'the update ends',
        async () => ['UPDATED', 'FAILED'].includes(String((await states()).at(-1))),
        60_000,
      );
      const told = await states();
      // The first two are the platform's own.
      const expected = ['QUEUED', 'INITIATED', 'DOWNLOADING', 'DOWNLOADED', 'VERIFIED', 'UPDATING', 'UPDATED'];
      expect(told.filter((state, at) => state !== told[at - 1])).toEqual(expected);
      expect(await gateway.current()).toBe(NEXT);
      expect((await person.values(id, 'current_fw_version')).at(-1)?.value).toBe(NEXT);

      const status = JSON.parse(
        await gateway.turnstone('firmware', 'status', '--json', '--run-folder', gateway.path('run')),
      );
      expect(status).toMatchObject({ running: NEXT, confirmed: NEXT, state: 'idle' });
      await gateway.turnstone('firmware', 'rollback', '--run-folder', gateway.path('run'));
      await until('the old release is confirmed', async () => {
        const history = await gateway
          .turnstone('firmware', 'history', '--run-folder', gateway.path('run'))
          .catch(() => '');
        return history.includes(`${NEXT} → ${first.release} UPDATED`);
      });
      expect(await gateway.current()).toBe(first.release);

      await gateway.turnstone('firmware', 'install', next.file, '--run-folder', gateway.path('run'));
      await until('the bundle given by hand is confirmed', async () => {
        const history = await gateway
          .turnstone('firmware', 'history', '--run-folder', gateway.path('run'))
          .catch(() => '');
        return history.split('\n')[0]?.includes(`${first.release} → ${NEXT} UPDATED`) === true;
      });
      expect(await readdir(gateway.path('var/lib/turnstone/firmware'))).not.toContain('handed-over');
    } finally {
      await gateway.stop();
      await platform.close();
    }
  }, 120_000);
});

describe('the Debian package', () => {
  const debOf = async ({ file }: BuiltRelease): Promise<string> => {
    const names = await readdir(dirname(file));
    return join(dirname(file), names.find((name) => name.endsWith('.deb')) ?? '');
  };

  it('is the same bytes when it is built again', async () => {
    const [one, other] = await Promise.all([first, again].map(async (built) => readFile(await debOf(built))));
    expect(other?.equals(one ?? Buffer.alloc(0))).toBe(true);
  });
});

describe('uninstalling', () => {
  it('leaves configuration and data, unless it is asked to take them too', async () => {
    await gateway.install(folderOf(first), '--uninstall');
    expect(await readdir(gateway.path('opt'))).toEqual([]);
    expect(await readdir(gateway.path('etc/systemd/system'))).toEqual([]);
    expect(await readFile(gateway.path('etc/turnstone/turnstone.yaml'), 'utf8')).toContain('gateway-token');
    await gateway.install(folderOf(first), '--uninstall', '--purge');
    expect(await readdir(gateway.path('var/lib'))).toEqual([]);
  });
});
