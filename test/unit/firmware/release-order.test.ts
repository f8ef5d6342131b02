import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  currentVersion,
  guardLines,
  type ReleasePaths,
  readResult,
  releasePaths,
} from '../../../src/firmware/guard-state.ts';
import { answerRequest, DOWNGRADE_SWITCH } from '../../../src/firmware/release-swap.ts';
import { silentLog } from '../../../src/host/log.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { makeImage, makeKeys } from '../../support/release-image.ts';
import { systemUpdateFiles } from '../../support/system-update-files.ts';

const signer = makeKeys();
let root: string;
let paths: ReleasePaths;
let settingsFolder: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'turnstone-order-'));
  paths = releasePaths(root);
  settingsFolder = join(root, 'etc/turnstone');
  for (const folder of [paths.guard, paths.firmware, join(settingsFolder, 'trusted-keys')])
    await mkdir(folder, { recursive: true });
  await writeFile(join(settingsFolder, 'trusted-keys/release.pem'), signer.publicPem);
  for (const release of ['2.0.0', '3.0.0']) await install(release);
  await systemUpdateFiles.link('releases/2.0.0', join(paths.home, 'current'));
});
afterEach(() => rm(root, { recursive: true }));

async function install(release: string): Promise<void> {
  for (const [path, content] of makeImage({ release }).files) {
    await mkdir(dirname(join(paths.home, 'releases', release, path)), { recursive: true });
    await writeFile(join(paths.home, 'releases', release, path), content);
  }
}

/** What the service asks of root, with a signed image of this release beside it. */
async function ask(version: string, source: 'image' | 'kept' = 'image'): Promise<void> {
  await writeFile(join(paths.firmware, 'image'), makeImage({ release: version, key: signer.privateKey }).bytes);
  await writeFile(
    join(paths.firmware, 'request'),
    guardLines({ request: 'swap', id: `to-${version.replaceAll('.', '-')}`, version, source }),
  );
  const deps = { files: systemUpdateFiles, paths, settingsFolder, arch: process.arch, log: silentLog };
  const acts = {
    selfTest: async () => {},
    restartAgent: async () => {},
    reboot: async () => {},
    configuration: { configure: async () => {}, settle: async () => {}, isOnTrial: async () => false },
    clock: new FakeClock(),
  };
  await answerRequest({ ...deps, ...acts }, new AbortController().signal);
}

const outcome = async () => [
  (await readResult(systemUpdateFiles, paths))?.outcome,
  await currentVersion(systemUpdateFiles, paths),
];

describe("the root helper, asked by whoever has the service's rights", () => {
  it('swaps to a newer release, and refuses an older one although it is signed', async () => {
    await ask('1.9.9');
    expect(await outcome()).toEqual(['refused', '2.0.0']);
    expect((await readResult(systemUpdateFiles, paths))?.reason).toContain(
      `older than 2.0.0, which ran here; to allow it: touch ${settingsFolder}`,
    );
    await ask('2.0.1');
    expect(await outcome()).toEqual(['swapped', '2.0.1']);
  });

  it('holds a release against the newest that ever ran, so that a way back is no first step to an older image', async () => {
    await writeFile(join(paths.guard, 'history'), '3.0.0\n1.0.0\n');
    await ask('2.5.0');
    expect(await outcome()).toEqual(['refused', '2.0.0']);
    await ask('3.0.0', 'kept');
    expect(await outcome()).toEqual(['swapped', '3.0.0']);
  });

  it('takes an older one where root has given leave', async () => {
    await writeFile(join(settingsFolder, DOWNGRADE_SWITCH), '');
    await ask('1.0.0');
    expect(await outcome()).toEqual(['swapped', '1.0.0']);
  });

  it('lays the way back before the trial begins, and takes it away with the trial', async () => {
    await ask('2.0.1');
    expect(await systemUpdateFiles.readLink(join(paths.home, 'back'))).toBe('releases/2.0.0');
    expect(await readFile(join(paths.guard, 'result.back'), 'utf8')).toMatch(
      /^id=to-2-0-1\noutcome=rolled-back\nversion=2.0.1\n/,
    );
    await ask('2.0.0', 'kept');
    expect(await outcome()).toEqual(['rolled-back', '2.0.0']);
    expect((await readdir(paths.home)).includes('back')).toBe(false);
    expect((await readdir(paths.guard)).includes('result.back')).toBe(false);
  });
});
