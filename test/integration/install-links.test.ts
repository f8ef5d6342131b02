/** Actions of install.sh, run again by root, in the folder that belongs to the service. Its release is a stub: all that is looked at comes before. */
import { execFile } from 'node:child_process';
import {
  chown,
  copyFile,
  link,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const SERVICE = 4242;
const TOOLS = [
  'sh',
  'sed',
  'id',
  'dirname',
  'uname',
  'install',
  'find',
  'chown',
  'chmod',
  'cp',
  'ln',
  'mv',
  'rm',
  'sync',
  'basename',
  'ls',
  'cat',
  'cmp',
  'rmdir',
];

let folder: string;
let root: string;
let state: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-install-'));
  root = join(folder, 'root');
  state = join(root, 'var/lib/turnstone');
  for (const name of ['release/systemd', 'release/guard', 'bin', 'root/etc', 'root/var/lib/turnstone', 'victim'])
    await mkdir(join(folder, name), { recursive: true });
  await writeFile(join(folder, 'release/manifest.json'), '{}\n');
  await writeFile(join(folder, 'release/systemd/turnstone.sysusers'), '');
  await writeFile(join(folder, 'release/node'), '#!/bin/sh\n[ "$1" = --version ]\n', { mode: 0o755 });
  await copyFile(resolve(import.meta.dirname, '../../scripts/install.sh'), join(folder, 'release/install.sh'));
  await writeFile(
    join(root, 'etc/passwd'),
    `root:x:0:0::/root:/bin/sh\nturnstone:x:${SERVICE}:${SERVICE}::/:/bin/false\n`,
  );
  await writeFile(join(root, 'etc/group'), `root:x:0:\nturnstone:x:${SERVICE}:\n`);
  await chown(state, SERVICE, SERVICE);
});
afterEach(() => rm(folder, { recursive: true }));

/** Runs it with these tools of the machine and these stand-ins, and nothing else. */
async function install(
  standIns: Readonly<Record<string, string>>,
  words: readonly string[] = ['--no-start'],
): Promise<string> {
  for (const tool of TOOLS) await symlink(`/usr/bin/${tool}`, join(folder, 'bin', tool)).catch(() => {});
  for (const [name, text] of Object.entries(standIns))
    await writeFile(join(folder, 'bin', name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  const env = { PATH: join(folder, 'bin'), TURNSTONE_ROOT: root };
  return new Promise((done) => {
    execFile('/bin/sh', [join(folder, 'release/install.sh'), ...words], { env }, (_error, out, err) => done(out + err));
  });
}

describe.skipIf(process.getuid?.() !== 0)('install.sh, run again by root', () => {
  it('follows no link that lies in the folder of the service', async () => {
    await symlink(join(folder, 'victim'), join(state, 'firmware'));
    await writeFile(join(folder, 'victim/secret'), '', { mode: 0o600 });
    await install({ 'systemd-sysusers': 'exit 0' });
    for (const name of ['victim', 'victim/secret']) expect((await stat(join(folder, name))).uid).toBe(0);
    expect((await stat(join(folder, 'victim'))).mode & 0o777).toBe(0o755);
  });

  it('gives away no file of root’s that has another name in the folder of the service', async () => {
    await writeFile(join(folder, 'victim/secret'), '', { mode: 0o600 });
    await link(join(folder, 'victim/secret'), join(state, 'agent.lock'));
    await install({ 'systemd-sysusers': 'exit 0' });
    expect((await stat(join(folder, 'victim/secret'))).uid).toBe(0);
  });

  it('gives the service what a command of root left there', async () => {
    await mkdir(join(state, 'outbox'));
    await writeFile(join(state, 'outbox/boots.json'), '');
    await writeFile(join(state, 'agent.lock'), '');
    await install({ 'systemd-sysusers': 'exit 0' });
    const names = await readdir(state, { recursive: true });
    expect(names.sort()).toEqual(['agent.lock', 'outbox', 'outbox/boots.json']);
    for (const name of names) expect((await lstat(join(state, name))).uid).toBe(SERVICE);
  });

  it("makes no user on this machine for another root's sake", async () => {
    const told = `echo "$0 $*" >>${join(folder, 'told')}`;
    const said = await install({ groupadd: told, useradd: told, usermod: told, getent: 'exit 2' });
    expect(said).toMatch(/users of another root .* are made by systemd-sysusers/);
    expect(await readdir(folder)).not.toContain('told');
  });

  const GUARD = ['boot-guard', 'set-safe-states', 'leave-identity', 'narrow-devices', 'root-helper.mjs'];
  const UNITS = [
    'turnstone.service',
    'turnstone-helper.path',
    'turnstone-helper.service',
    'turnstone-guard.service',
    'turnstone-guard.timer',
  ];

  /** A whole release to install, with 2.0.0 installed before it; its helper says that 2.0.0 is current, and refuses keys that are private. */
  async function stageOver(manifest: string): Promise<void> {
    const helper =
      '#!/bin/sh\n[ "$1" != --version ] || exit 0\nif [ "$2" = check-key ]; then [ "$(cat "$3")" = public ]; exit; fi\necho 2.0.0\n';
    await writeFile(join(folder, 'release/node'), helper, { mode: 0o755 });
    await writeFile(join(folder, 'release/manifest.json'), manifest);
    for (const at of [
      'opt/turnstone/guard',
      'opt/turnstone/releases/2.0.0',
      'etc/systemd/system/turnstone.service.d',
      'etc/turnstone',
      'etc/udev/rules.d',
    ])
      await mkdir(join(root, at), { recursive: true });
    await writeFile(join(root, 'opt/turnstone/releases/2.0.0/manifest.json'), 'of 2.0.0');
    await writeFile(join(root, 'opt/turnstone/releases/2.0.0/node'), '');
    await mkdir(join(folder, 'release/config'), { recursive: true });
    for (const [from, to, names] of [
      ['guard', 'opt/turnstone/guard', GUARD],
      ['systemd', 'etc/systemd/system', UNITS],
      ['systemd', 'etc/udev/rules.d', ['70-turnstone.rules']],
      ['config', 'etc/turnstone', ['turnstone.schema.json']],
    ] as const)
      for (const name of names) {
        await writeFile(join(folder, 'release', from, name), 'of this installer');
        await writeFile(join(root, to, name), 'there before');
      }
    await writeFile(join(root, 'etc/systemd/system/turnstone.service.d/override.conf'), 'of a person');
  }
  const placed = async (): Promise<Set<string>> => {
    const files = [
      ...GUARD.map((name) => join('opt/turnstone/guard', name)),
      ...UNITS.map((name) => join('etc/systemd/system', name)),
      'etc/udev/rules.d/70-turnstone.rules',
      'etc/turnstone/turnstone.schema.json',
    ];
    return new Set(await Promise.all(files.map((name) => readFile(join(root, name), 'utf8'))));
  };
  const sysusers = { 'systemd-sysusers': 'exit 0' };

  it("brings this release's units, guard and helper when it is the current one", async () => {
    await stageOver('of 2.0.0');
    await install(sysusers);
    expect(await placed()).toEqual(new Set(['of this installer']));
    expect((await stat(join(root, 'opt/turnstone/guard/boot-guard'))).mode & 0o777).toBe(0o755);
    expect((await stat(join(root, 'opt/turnstone/guard/root-helper.mjs'))).mode & 0o777).toBe(0o644);
    expect(await readFile(join(root, 'etc/systemd/system/turnstone.service.d/override.conf'), 'utf8')).toBe(
      'of a person',
    );
  });

  it('replaces nothing when a newer release stays the current one, and adds what is missing', async () => {
    await stageOver('of 1.0.0');
    expect(await install(sysusers)).toContain('the newer release stays');
    expect(await placed()).toEqual(new Set(['there before']));
    await rm(join(root, 'opt/turnstone/guard/boot-guard'));
    await install(sysusers);
    expect(await readFile(join(root, 'opt/turnstone/guard/boot-guard'), 'utf8')).toBe('of this installer');
  });

  describe('drop-ins of --with', () => {
    const folderOfDropIns = (): string => join(root, 'etc/systemd/system/turnstone.service.d');
    beforeEach(async () => {
      await stageOver('of 2.0.0');
      for (const name of ['sysfs-gpio-pwm', 'turnstone-can', 'turnstone-iio'])
        await writeFile(join(folder, `release/systemd/${name}.conf`), 'of this installer');
    });

    it('are the named ones, which stay and are renewed by an installation without', async () => {
      await install(sysusers, ['--no-start', '--with', 'iio,can']);
      const names = ['override.conf', 'turnstone-can.conf', 'turnstone-iio.conf'];
      expect((await readdir(folderOfDropIns())).sort()).toEqual(names);
      await writeFile(join(folder, 'release/systemd/turnstone-can.conf'), 'of the next');
      await install(sysusers);
      expect((await readdir(folderOfDropIns())).sort()).toEqual(names);
      expect(await readFile(join(folderOfDropIns(), 'turnstone-can.conf'), 'utf8')).toBe('of the next');
      await install(sysusers, ['--uninstall']);
      expect(await readdir(folderOfDropIns())).toEqual(['override.conf']);
    });

    it('take the older option for sysfs', async () => {
      await install(sysusers, ['--no-start', '--with-sysfs', '--with', 'can']);
      expect((await readdir(folderOfDropIns())).sort()).toEqual([
        'override.conf',
        'sysfs-gpio-pwm.conf',
        'turnstone-can.conf',
      ]);
    });

    it('are refused by a name that is none of them, before anything changes', async () => {
      expect(await install(sysusers, ['--no-start', '--with', 'iio,spi'])).toContain('--with: no spi; there is sysfs');
      expect(await readdir(folderOfDropIns())).toEqual(['override.conf']);
    });
  });

  it('leaves the drop-ins of a person when it takes itself away, unless all is to go', async () => {
    await stageOver('of 2.0.0');
    await writeFile(join(root, 'etc/systemd/system/turnstone.service.d/sysfs-gpio-pwm.conf'), '');
    await install(sysusers, ['--uninstall']);
    expect(await readdir(join(root, 'etc/systemd/system/turnstone.service.d'))).toEqual(['override.conf']);
    await install(sysusers, ['--uninstall', '--purge']);
    expect(await readdir(join(root, 'etc/systemd/system'))).toEqual([]);
  });

  it('trusts no key that its helper refuses, and does nothing then', async () => {
    await stageOver('of 2.0.0');
    await writeFile(join(folder, 'key.pem'), 'PRIVATE');
    expect(await install(sysusers, ['--no-start', '--trust-key', join(folder, 'key.pem')])).toContain(
      'key.pem is not to be trusted',
    );
    expect(await placed()).toEqual(new Set(['there before']));
    await writeFile(join(folder, 'key.pem'), 'public');
    await install(sysusers, ['--no-start', '--trust-key', join(folder, 'key.pem')]);
    expect(await readdir(join(root, 'etc/turnstone/trusted-keys'))).toEqual(['key.pem']);
  });
});
