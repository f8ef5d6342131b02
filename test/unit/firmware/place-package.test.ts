/** The packaged release becomes one of a machine's releases, on a real disk: links to folders are its matter. */
import { mkdir, mkdtemp, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { releasePaths } from '../../../src/firmware/guard-state.ts';
import { placePackage } from '../../../src/firmware/place-package.ts';
import type { ReleaseSwapDeps } from '../../../src/firmware/release-swap.ts';
import { updateFiles } from '../../../src/firmware/update-files.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { makeImage } from '../../support/release-image.ts';
import { RootHelperBench } from '../../support/root-helper-bench.ts';

let root: string;
let packaged: string;
let deps: ReleaseSwapDeps;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'turnstone-package-'));
  packaged = join(root, 'usr/lib/turnstone');
  const bench = await RootHelperBench.make();
  deps = { ...bench.deps, files: updateFiles(systemFiles), paths: releasePaths(root), selfTest: async () => {} };
});

afterEach(() => rm(root, { recursive: true }));

async function lay(folder: string, release: string, node = 'a runtime'): Promise<void> {
  for (const [path, content] of makeImage({ release, files: { node } }).files) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), content);
  }
}

const place = (allowDowngrade = false) =>
  placePackage(deps, packaged, { allowDowngrade }, new AbortController().signal);
const releases = (name: string) => join(root, 'opt/turnstone/releases', name);
const current = () => readlink(join(root, 'opt/turnstone/current'));
const history = () => readFile(join(root, 'var/lib/turnstone-guard/history'), 'utf8');

describe('a packaged release', () => {
  it('is a release where it lies', async () => {
    await lay(packaged, '1.0.0');
    expect(await place()).toEqual({ installed: '1.0.0', current: '1.0.0' });
    expect([await current(), await readlink(releases('1.0.0'))]).toEqual(['releases/1.0.0', packaged]);
  });

  it('leaves a newer one, unless it is told to go back', async () => {
    await lay(releases('2.0.0'), '2.0.0');
    await deps.files.link('releases/2.0.0', join(root, 'opt/turnstone/current'));
    await lay(packaged, '1.0.0');
    expect((await place()).current).toBe('2.0.0');
    expect((await place(true)).current).toBe('1.0.0');
    expect(await history()).toBe('2.0.0\n');
  });

  it('keeps another build of the same version as the way back, and takes the place of the same build', async () => {
    await lay(releases('1.0.0'), '1.0.0', 'of install.sh');
    await deps.files.link('releases/1.0.0', join(root, 'opt/turnstone/current'));
    await lay(packaged, '1.0.0');
    await place();
    expect(await readFile(releases('1.0.0+kept/node'), 'utf8')).toBe('of install.sh');
    expect([await readlink(releases('1.0.0')), await history()]).toEqual([packaged, '1.0.0+kept\n']);
    await rm(releases('1.0.0'));
    await lay(releases('1.0.0'), '1.0.0');
    await place();
    expect([await current(), await readlink(releases('1.0.0'))]).toEqual(['releases/1.0.0', packaged]);
  });
});
