/**
 * Makes the release that a Debian package has unpacked one of this machine's releases, where it lies: `releases/<version>` is a link to the
 * package's folder, and the package manager's files are never written to. `current` leads to a whole release at every moment.
 */
import { join } from 'node:path';
import { refusal } from '../errors/agent-error.ts';
import { type AdoptOptions, expectReadsState } from './adopt-release.ts';
import { currentVersion } from './guard-state.ts';
import { releaseFolder } from './release-folder.ts';
import { pruneReleases, rememberRelease } from './release-history.ts';
import { MANIFEST_NAME, MAX_MANIFEST_BYTES, parseManifest } from './release-manifest.ts';
import type { ReleaseSwapDeps } from './release-swap.ts';
import { compareVersions } from './release-version.ts';
import { forgetTrial, openTrial } from './trial-files.ts';

/** Names the link while a folder of the same version makes way for it. */
const PASSING = '+package';
/** Names another build of the same version, which stays as the way back. */
const KEPT = '+kept';

/**
 * Moves `current` to the package's release when it is not older than what runs, or when `allowDowngrade` says so; a newer release that came
 * over the platform stays. A person at the machine did it, so there is no trial. Resolves with the version that is current then.
 * @throws AgentError `firmware/bad-manifest`, `firmware/other-machine`, `firmware/refuses-state` (drop).
 */
export async function placePackage(
  deps: ReleaseSwapDeps,
  folder: string,
  { allowDowngrade }: AdoptOptions,
  signal: AbortSignal,
): Promise<{ readonly installed: string; readonly current: string }> {
  const { files, paths } = deps;
  const text = await files.read(join(folder, MANIFEST_NAME), MAX_MANIFEST_BYTES);
  const manifest = parseManifest(text?.toString('utf8') ?? '');
  const { release, arch } = manifest;
  if (arch !== deps.arch)
    throw refusal('firmware/other-machine', `the package is for ${arch}, this machine is ${deps.arch}`);
  for (const path of [paths.home, join(paths.home, 'releases'), paths.guard]) await files.makeFolder(path, 0o755);
  // Without the configuration: whoever installs by hand may be about to repair it.
  await deps.selfTest(folder, { withConfig: false }, signal);
  const current = await currentVersion(files, paths);
  if (current !== undefined && compareVersions(release, current) < 0 && !allowDowngrade)
    return { installed: release, current };
  if (current !== undefined) await expectReadsState(deps, manifest, current, allowDowngrade);

  const trial = await openTrial(deps);
  const before = await layLink(deps, folder, release, current);
  // Nobody should go back to a release that was never confirmed.
  if (before !== undefined && trial?.version !== current) await rememberRelease(deps, before);
  if (trial !== undefined && trial.version !== current) await forgetTrial(deps);
  await pointCurrent(deps, release);
  await files.remove(releaseFolder(paths, `${release}${PASSING}`));
  await forgetTrial(deps);
  await pruneReleases(deps, before);
  return { installed: release, current: release };
}

/** Makes `releases/<release>` the link to the package's folder. Resolves with the name that the release before has then, if it is another. */
async function layLink(
  deps: ReleaseSwapDeps,
  folder: string,
  release: string,
  current: string | undefined,
): Promise<string | undefined> {
  const { files, paths } = deps;
  const path = releaseFolder(paths, release);
  const isFolder =
    (await files.readLink(path).catch(() => undefined)) === undefined && (await files.list(path)).length > 0;
  if (isFolder) {
    const passing = `${release}${PASSING}`;
    await files.link(folder, releaseFolder(paths, passing));
    if (current === release) await pointCurrent(deps, passing);
    if (await isSameBuild(deps, folder, path)) await files.remove(path);
    else {
      const kept = `${release}${KEPT}`;
      await files.remove(releaseFolder(paths, kept));
      await files.rename(path, releaseFolder(paths, kept));
      if (current === release) {
        await files.link(folder, path);
        return kept;
      }
    }
  }
  await files.link(folder, path);
  return current === release || current === `${release}${PASSING}` ? undefined : current;
}

async function isSameBuild({ files }: ReleaseSwapDeps, folder: string, other: string): Promise<boolean> {
  const [mine, its] = await Promise.all(
    [folder, other].map((one) => files.read(join(one, MANIFEST_NAME), MAX_MANIFEST_BYTES)),
  );
  return mine !== undefined && its !== undefined && mine.equals(its);
}

function pointCurrent({ files, paths }: ReleaseSwapDeps, name: string): Promise<void> {
  return files.link(join('releases', name), join(paths.home, 'current'));
}
