/** The helper's own process: the service manager and the release's program are scripts that write down how they were called. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  guardLines,
  type HelperRequest,
  type ReleasePaths,
  readResult,
  releasePaths,
} from '../../../src/firmware/guard-state.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { makeImage, makeKeys } from '../../support/release-image.ts';
import { systemUpdateFiles } from '../../support/system-update-files.ts';

const HELPER = resolve(import.meta.dirname, '../../../scripts/root-helper.ts');
const SERVICE_ID = 65_533;
const isRoot = process.getuid?.() === 0;
const signer = makeKeys();
let root: string;
let paths: ReleasePaths;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'turnstone-helper-'));
  paths = releasePaths(root);
  // The self-test runs as another user.
  await chmod(root, 0o755);
  for (const folder of ['bin', 'etc/turnstone/trusted-keys', 'said'])
    await mkdir(join(root, folder), { recursive: true });
  await chmod(join(root, 'said'), 0o777);
  await mkdir(paths.firmware, { recursive: true });
  await writeFile(join(root, 'etc/turnstone/trusted-keys/release.pem'), signer.publicPem);
  await writeFile(
    join(root, 'etc/passwd'),
    `root:x:0:0::/:/bin/sh\nturnstone2:x:7:8::/:/bin/sh\nturnstone:x:${SERVICE_ID}:65532::/:/bin/sh\n`,
  );
  await writeFile(
    join(root, 'bin/systemctl'),
    `#!/bin/sh\nif [ "$1" = show ]; then cat "${root}/ended"; else echo "$*" >>"${root}/systemctl"; fi\n`,
    { mode: 0o755 },
  );
  await layRelease('opt/turnstone/releases/1.0.0', '1.0.0');
  await mkdir(paths.guard, { recursive: true });
  await systemUpdateFiles.link('releases/1.0.0', join(paths.home, 'current'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** Puts an unpacked release where `adopt` finds it. */
async function layRelease(folder: string, release: string, program = 'exit 0'): Promise<void> {
  for (const [path, content] of makeImage({ release, files: { turnstone: `#!/bin/sh\n${program}\n` } }).files) {
    await mkdir(dirname(join(root, folder, path)), { recursive: true });
    await writeFile(join(root, folder, path), content);
  }
}

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly ms: number;
}

function helper(words: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const env = {
    ...process.env,
    PATH: `${join(root, 'bin')}:${process.env.PATH}`,
    TURNSTONE_ROOT: root,
    SECRET: 'of root',
    ...environment,
  };
  const sinceMs = performance.now();
  return new Promise((done) => {
    const child = execFile(process.execPath, [HELPER, ...words], { env }, (_error, out, err) =>
      done({ code: child.exitCode ?? -1, out, err, ms: performance.now() - sinceMs }),
    );
  });
}

const adopt = (folder: string, ...options: string[]): Promise<Ended> =>
  helper(['adopt', join(root, folder), ...options]);

async function request(fields: HelperRequest, environment?: NodeJS.ProcessEnv): Promise<Ended> {
  const asked = { bootId: systemClock.bootId, askedAtMs: Math.floor(systemClock.monotonicMs()) };
  await writeFile(join(paths.firmware, 'request'), guardLines({ ...fields, ...asked }));
  return helper(['request'], environment);
}

/** Asks for 2.0.0, whose program is this script. */
async function swap(program: string, environment?: NodeJS.ProcessEnv): Promise<Ended> {
  const image = makeImage({
    release: '2.0.0',
    key: signer.privateKey,
    files: { turnstone: `#!/bin/sh\n${program}\n` },
  });
  await writeFile(join(paths.firmware, 'image'), image.bytes);
  return request({ request: 'swap', id: 'one', version: '2.0.0', source: 'image' }, environment);
}

const said = (name: string): Promise<string> => readFile(join(root, name), 'utf8').catch(() => '');
const result = () => readResult(systemUpdateFiles, paths);

describe('a request', () => {
  it('is done, and the agent is started again without waiting for it', async () => {
    expect(await swap('exit 0')).toMatchObject({ code: 0, out: '' });
    expect(await result()).toMatchObject({ id: 'one', outcome: 'swapped' });
    expect(await systemUpdateFiles.readLink(join(paths.home, 'current'))).toBe('releases/2.0.0');
    expect(await said('systemctl')).toBe('--no-block restart turnstone.service\n');
  });

  it('for a reboot reboots', async () => {
    await request({ request: 'reboot', id: 'one' });
    expect(await said('systemctl')).toBe('reboot\n');
  });

  it('that cannot even be taken away is a fault, after a pause: the same file starts the helper again at once', async () => {
    const quick = await helper(['request'], { TURNSTONE_HELPER_PAUSE_MS: '0' });
    expect([quick.code, quick.err]).toEqual([1, expect.stringContaining('error: ENOENT')]);
    expect((await helper(['request'], { TURNSTONE_HELPER_PAUSE_MS: '700' })).ms).toBeGreaterThan(700);
  });
});

describe('a request behind a link', () => {
  it('is not touched, wherever the link leads', async () => {
    const elsewhere = join(root, 'etc/other');
    await mkdir(elsewhere);
    for (const name of ['request', 'request.taken', 'image'])
      await writeFile(join(elsewhere, name), `request=reboot\nid=${name}\n`);
    await rm(paths.firmware, { recursive: true });
    await symlink(elsewhere, paths.firmware);
    const ended = await helper(['request'], { TURNSTONE_HELPER_PAUSE_MS: '0' });
    expect([ended.code, ended.err]).toEqual([1, expect.stringContaining('it is a link')]);
    expect(await readFile(join(elsewhere, 'request'), 'utf8')).toContain('id=request\n');
    expect(await readFile(join(elsewhere, 'request.taken'), 'utf8')).toContain('id=request.taken');
    expect(await said('systemctl')).toBe('');
  });

  it("is taken where root's own folders above are links", async () => {
    await rename(join(root, 'var'), join(root, 'data'));
    await symlink('data', join(root, 'var'));
    expect((await request({ request: 'reboot', id: 'one' })).code).toBe(0);
    expect(await said('systemctl')).toBe('reboot\n');
  });
});

describe('a configuration', () => {
  const BEFORE = 'remoteConfiguration: { enabled: true }\n';
  const AFTER = `${BEFORE}# a comment is locked by nobody\n`;
  const hash = (text: string): string => createHash('sha256').update(text).digest('hex');
  const inPlace = (): Promise<string> => readFile(join(root, 'etc/turnstone/turnstone.yaml'), 'utf8');
  const ask = (candidate = AFTER, needs: 'reload' | 'restart' = 'reload'): Promise<Ended> =>
    writeFile(join(paths.firmware, 'configuration'), candidate).then(() =>
      request({
        request: 'configure',
        id: 'one',
        hash: hash(AFTER),
        before: hash(BEFORE),
        trialS: 600,
        needs,
        origin: 'package',
      }),
    );
  beforeEach(async () => {
    await writeFile(join(root, 'etc/turnstone/turnstone.yaml'), BEFORE, { mode: 0o640 });
    await writeFile(join(root, 'bin/systemd-run'), `#!/bin/sh\necho "$*" >>"${root}/systemd-run"\n`, { mode: 0o755 });
  });

  it('is tried, under a timer in a sandbox, and settled', async () => {
    expect(await ask()).toMatchObject({ code: 0, err: '' });
    expect(await inPlace()).toBe(AFTER);
    const timer = await said('systemd-run');
    expect(timer).toMatch(
      /^--on-active=630s --timer-property=AccuracySec=1s --unit=turnstone-trial --collect --property=/,
    );
    expect(timer.endsWith(` ${root}/opt/turnstone/guard/boot-guard trial-over\n`)).toBe(true);
    for (const property of [
      'ProtectSystem=strict',
      'NoNewPrivileges=yes',
      `ReadWritePaths=${root}/var/lib/turnstone-guard ${root}/etc/turnstone`,
    ])
      expect(timer).toContain(`--property=${property} `);
    expect(await said('systemctl')).toBe(
      'stop turnstone-trial.timer turnstone-trial.service\n--no-block reload turnstone.service\n',
    );
    await request({ request: 'settle', id: 'one', outcome: 'returned', reason: 'no' });
    expect(await inPlace()).toBe(BEFORE);
    expect(await said('var/lib/turnstone-guard/configuration/result')).toContain('outcome=returned\n');
  });

  it.each([
    ['0', 'try-restart'],
    ['78', 'restart'],
  ])('has an agent that ended with %s taken up its file by a %s', async (status, verb) => {
    await ask(AFTER, 'restart');
    await writeFile(join(root, 'ended'), `${status}\n`);
    await rm(join(root, 'systemctl'));
    await request({ request: 'settle', id: 'one', outcome: 'returned', reason: 'no' });
    expect(await said('systemctl')).toContain(`--no-block ${verb} turnstone.service\n`);
  });

  it('is refused where the service manager starts no timer', async () => {
    await writeFile(join(root, 'bin/systemd-run'), '#!/bin/sh\necho no bus >&2\nexit 1\n', { mode: 0o755 });
    expect((await ask()).code).toBe(0);
    expect(await inPlace()).toBe(BEFORE);
    expect(await said('var/lib/turnstone-guard/configuration/result')).toMatch(
      /outcome=refused\n.*\nreason=the timer of the trial cannot be started: no bus\n/,
    );
  });

  it('is refused where its folder is a link', async () => {
    const elsewhere = join(root, 'etc/other');
    await rename(paths.firmware, elsewhere);
    await symlink(elsewhere, paths.firmware);
    expect((await ask()).err).toContain('it is a link');
    expect(await inPlace()).toBe(BEFORE);
  });

  it('waits while a release is on trial, and a release while it is', async () => {
    await writeFile(join(paths.guard, 'trial'), 'id=new\nversion=1.0.0\nprevious=0.9.0\n');
    await ask();
    expect(await said('var/lib/turnstone-guard/configuration/result')).toContain('a release is on trial');
    await writeFile(join(paths.firmware, 'confirmed'), 'id=new\n');
    await ask();
    expect(await inPlace()).toBe(AFTER);
    await swap('exit 0');
    expect(await result()).toMatchObject({
      outcome: 'refused',
      reason: expect.stringContaining('configuration is on trial'),
    });
  });
});

describe('a key that is to be trusted', () => {
  it.each([
    ['public', () => signer.publicPem, 0, ''],
    ['private', () => signer.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(), 1, 'holds a private key'],
    ['none', () => 'rubbish', 1, 'is no Ed25519 public key'],
  ])('is looked at first: one that is %s', async (_kind, pem, code, why) => {
    await writeFile(join(root, 'key.pem'), pem());
    expect(await helper(['check-key', join(root, 'key.pem')])).toMatchObject({
      code,
      err: expect.stringContaining(why),
    });
  });
});

describe("a release's self-test", () => {
  it('runs as the service, in no folder of its own, with the configuration, and with nothing of what root has in its environment', async () => {
    await swap(`{ echo "$*"; pwd; id -u; id -g; env; } >"${root}/said/self-test"`);
    const lines = (await said('said/self-test')).trimEnd().split('\n');
    const [words, folder, uid, gid, ...environment] = lines;
    expect([words, folder]).toEqual([`firmware self-test --config ${join(root, 'etc/turnstone/turnstone.yaml')}`, '/']);
    if (isRoot) expect([uid, gid]).toEqual([String(SERVICE_ID), '65532']);
    expect(environment.filter((line) => !/^(PWD|OLDPWD|SHLVL|_)=/.test(line)).sort()).toEqual([
      'LANG=C.UTF-8',
      'NODE_DISABLE_COMPILE_CACHE=1',
      'PATH=/usr/sbin:/usr/bin:/sbin:/bin',
      `TURNSTONE_ROOT=${root}`,
    ]);
  });

  it('runs without the configuration when a person installs the release', async () => {
    await layRelease('newer', '1.1.0', `echo "$*" >"${root}/said/self-test"`);
    await adopt('newer');
    expect(await said('said/self-test')).toBe('firmware self-test\n');
  });

  it.each([
    ['ends with a fault', 'echo first >&2; echo "no outbox " >&2; exit 3', 'ended with 3: no outbox'],
    ['says more than anyone wants to read', 'seq -s " " 1 500 >&2; exit 4', /^.*ended with 4: [\d ]{200,239} 500$/],
    ['is killed', 'kill -TERM $$', 'was ended by SIGTERM after 120000 ms or less'],
  ])('refuses the release when it %s, with its last words', async (_how, program, reason) => {
    expect((await swap(program)).code).toBe(0);
    const words = typeof reason === 'string' ? `the release's self-test ${reason}` : expect.stringMatching(reason);
    expect(await result()).toMatchObject({ outcome: 'refused', reason: words });
    expect(await systemUpdateFiles.readLink(join(paths.home, 'current'))).toBe('releases/1.0.0');
    expect(await said('systemctl')).toBe('');
  });

  it('refuses the release whose program cannot be started', async () => {
    const image = makeImage({ release: '2.0.0', key: signer.privateKey, files: { turnstone: '#!/no/such/shell\n' } });
    await writeFile(join(paths.firmware, 'image'), image.bytes);
    await request({ request: 'swap', id: 'one', version: '2.0.0', source: 'image' });
    expect(await result()).toMatchObject({
      outcome: 'refused',
      reason: expect.stringContaining('self-test cannot be started: '),
    });
  });

  it('has its time, and then ends with everything that it has started', async () => {
    const program = `sleep 4 & echo $! >"${root}/said/child"; wait`;
    await swap(program, { TURNSTONE_SELF_TEST_MS: '400' });
    expect(await result()).toMatchObject({
      outcome: 'refused',
      reason: expect.stringContaining('was ended by SIGKILL after 400 ms'),
    });
    const child = (await said('said/child')).trim();
    // Gone, or dead and not yet collected by whoever took it over.
    expect(await readFile(`/proc/${child}/stat`, 'utf8').catch(() => ') Z')).toContain(') Z');
  });

  it.skipIf(!isRoot).each(['turnstone2:x:7:8::/:/bin/sh', 'turnstone:x:7'])(
    'is not run by root where the service is %j',
    async (line) => {
      await writeFile(join(root, 'etc/passwd'), `root:x:0:0::/:/bin/sh\n${line}\n`);
      await swap(`touch "${root}/said/ran"`);
      expect(await result()).toMatchObject({ outcome: 'refused', reason: 'there is no user turnstone' });
      expect(await systemUpdateFiles.list(join(root, 'said'))).toEqual([]);
    },
  );
});

describe('a release that a person installs', () => {
  it('stays beside a newer one, which is said, unless they want the older', async () => {
    await layRelease('older', '0.9.0');
    expect(await adopt('older')).toMatchObject({
      code: 0,
      out: '1.0.0\n',
      err: expect.stringContaining('the newer release stays'),
    });
    expect(await adopt('older', '--allow-downgrade')).toMatchObject({ code: 0, out: '0.9.0\n', err: '' });
  });

  it('that is none is refused at once', async () => {
    const refused = await helper(['adopt', join(root, 'bin')], { TURNSTONE_HELPER_PAUSE_MS: '15000' });
    expect(refused.ms).toBeLessThan(15_000);
    expect([refused.code, refused.out, refused.err]).toEqual([1, '', expect.stringContaining('is no release')]);
  });
});

describe('other words', () => {
  it.each([[[]], [['adopt']], [['swap', '/media']]])('%j are none', async (words) => {
    const ended = await helper(words);
    expect([ended.code, ended.err]).toEqual([
      1,
      expect.stringContaining('usage: root-helper.mjs request | adopt|place FOLDER'),
    ]);
  });
});
