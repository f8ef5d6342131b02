/**
 * Installs a release by hand, as install.sh does. Nothing that runs, is on trial, or is the way back of a trial is ever taken away: a
 * build that is not the same gets a name of its own beside it, and so does one that repairs a damaged folder.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { refusal } from '../errors/agent-error.ts';
import { currentVersion } from './guard-state.ts';
import {
  copyRelease,
  expectWhole,
  incomingFolder,
  installedManifest,
  nameIncoming,
  releaseFolder,
} from './release-folder.ts';
import { pruneReleases, rememberRelease } from './release-history.ts';
import { MANIFEST_NAME, type ReleaseManifest, unreadableFormats } from './release-manifest.ts';
import type { ReleaseSwapDeps } from './release-swap.ts';
import { compareVersions } from './release-version.ts';
import { forgetTrial, openTrial } from './trial-files.ts';

export interface AdoptOptions {
  readonly allowDowngrade: boolean;
}

/**
 * Installs the release that lies unpacked in a folder: `current` moves to it when it is not older than what runs, or when
 * `allowDowngrade` says so. A person at the machine did it, so there is no trial; resolves with the version that is current now.
 */
export async function adoptRelease(
  deps: ReleaseSwapDeps,
  source: string,
  options: AdoptOptions,
  signal: AbortSignal,
): Promise<{ readonly installed: string; readonly current: string }> {
  const { files, paths } = deps;
  await files.makeFolder(paths.home, 0o755);
  await files.makeFolder(join(paths.home, 'releases'), 0o755);
  await files.makeFolder(paths.guard, 0o755);
  try {
    return await adopt(deps, source, options, signal);
  } finally {
    await files.remove(incomingFolder(paths)).catch(() => undefined);
  }
}

async function adopt(deps: ReleaseSwapDeps, source: string, { allowDowngrade }: AdoptOptions, signal: AbortSignal) {
  const { files, paths } = deps;
  const manifest = await copyRelease(deps, source);
  if (manifest.arch !== deps.arch)
    throw refusal('firmware/other-machine', `the release is for ${manifest.arch}, this machine is ${deps.arch}`);
  // Without the configuration: whoever installs by hand may be about to repair it.
  await deps.selfTest(incomingFolder(paths), { withConfig: false }, signal);
  const current = await currentVersion(files, paths);
  const isBackward = current !== undefined && compareVersions(manifest.release, current) < 0 && !allowDowngrade;
  if (current !== undefined && !isBackward) await expectReadsState(deps, manifest, current, allowDowngrade);
  const trial = await openTrial(deps);
  const isRepair = current !== undefined && (await isSameBuild(deps, current));
  const installed = await nameFor(deps, manifest, [current, trial?.version, trial?.previous]);
  if (isBackward || current === installed) return { installed, current: current ?? installed };
  // Nobody should go back to a release that was never confirmed, or to a damaged one.
  if (current !== undefined && trial?.version !== current && !isRepair) await rememberRelease(deps, current);
  // A trial whose swap was cut short must not begin with the release that becomes current here, if the power fails right after.
  if (trial !== undefined && trial.version !== current) await forgetTrial(deps);
  await files.link(join('releases', installed), join(paths.home, 'current'));
  await forgetTrial(deps);
  await pruneReleases(deps, current);
  return { installed, current: installed };
}

/** Names the incoming release; where the very same is installed, whole, it is left as it is. */
async function nameFor(
  deps: ReleaseSwapDeps,
  { release }: ReleaseManifest,
  needed: readonly (string | undefined)[],
): Promise<string> {
  const sum = createHash('sha256')
    .update(await manifestIn(deps, incomingFolder(deps.paths)))
    .digest('hex')
    .slice(0, 8);
  // At most three names are in use, so one of the four is free.
  const names = [release, `${release}+${sum}`, `${release}+${sum}.2`, `${release}+${sum}.3`];
  for (const name of names) if ((await isSameBuild(deps, name)) && (await isWhole(deps, name))) return name;
  const free = names.find((name) => !needed.includes(name)) ?? release;
  await nameIncoming(deps, free);
  return free;
}

/** True when an installed release has the manifest of the incoming one. */
async function isSameBuild(deps: ReleaseSwapDeps, version: string): Promise<boolean> {
  const incoming = await manifestIn(deps, incomingFolder(deps.paths));
  return incoming.length > 0 && incoming.equals(await manifestIn(deps, releaseFolder(deps.paths, version)));
}

/** Empty when there is none, or none that can be read: it then equals no other. */
async function manifestIn({ files }: ReleaseSwapDeps, folder: string): Promise<Buffer> {
  return (await files.read(join(folder, MANIFEST_NAME)).catch(() => undefined)) ?? Buffer.alloc(0);
}

function isWhole(deps: ReleaseSwapDeps, version: string): Promise<boolean> {
  return expectWhole(deps, version).then(
    () => true,
    () => false,
  );
}

/** @throws AgentError `firmware/refuses-state` (drop), unless it is `allowed`. */
export async function expectReadsState(
  deps: ReleaseSwapDeps,
  manifest: ReleaseManifest,
  current: string,
  allowed: boolean,
): Promise<void> {
  const unreadable = unreadableFormats(manifest, await installedManifest(deps, current));
  if (unreadable.length === 0) return;
  const what = `release ${manifest.release} cannot read the state: ${unreadable.join(', ')}`;
  if (!allowed) throw refusal('firmware/refuses-state', `${what}; --allow-downgrade installs it all the same`);
  deps.log.warn({}, `${what}; it will set that aside`);
}
