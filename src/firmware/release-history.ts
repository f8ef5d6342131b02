/** Which confirmed releases ran on this machine, in root's own folder, and which of them are kept to go back to. */
import { join } from 'node:path';
import { messageOf } from '../errors/agent-error.ts';
import type { Log } from '../host/log.ts';
import type { ReleasePaths } from './guard-state.ts';
import { currentVersion, readTrial } from './guard-state.ts';
import { type ReleaseFolderDeps, releaseFolder } from './release-folder.ts';
import { compareVersions, isVersion } from './release-version.ts';
import type { UpdateFiles } from './update-files.ts';

/** Besides the running one. */
const KEPT_RELEASES = 2;

/** Notes a confirmed release that another one takes the place of. */
export async function rememberRelease({ files, paths }: ReleaseFolderDeps, version: string): Promise<void> {
  const ran = await history(files, paths);
  await files.write(
    join(paths.guard, 'history'),
    `${[version, ...ran.filter((one) => one !== version)].slice(0, 20).join('\n')}\n`,
  );
}

/** The latest first. */
export async function history(files: UpdateFiles, paths: ReleasePaths): Promise<string[]> {
  const text = (await files.read(join(paths.guard, 'history')))?.toString('utf8') ?? '';
  return text.split('\n').filter((line) => line !== '');
}

/** The highest version that ever ran and was confirmed: only those come into the history. */
export async function newestRan({ files, paths }: ReleaseFolderDeps, current: string): Promise<string> {
  const ran = (await history(files, paths)).filter(isVersion);
  return ran.reduce((newest, version) => (compareVersions(version, newest) > 0 ? version : newest), current);
}

/** Makes room for the next release; a fault here leaves one folder too many, nothing worse. `before` still runs until the agent restarts. */
export async function pruneReleases(deps: ReleaseFolderDeps & { readonly log: Log }, before?: string): Promise<void> {
  const { files, paths } = deps;
  const leave = (error: unknown): void =>
    deps.log.warn({ error: messageOf(error) }, 'an old release could not be removed');
  const kept = await releasesToKeep(deps).catch(leave);
  if (kept === undefined) return;
  for (const version of await files.list(join(paths.home, 'releases'))) {
    if (!kept.has(version) && version !== before) await files.remove(releaseFolder(paths, version)).catch(leave);
  }
}

async function releasesToKeep({ files, paths }: ReleaseFolderDeps): Promise<Set<string | undefined>> {
  const current = await currentVersion(files, paths);
  const trial = await readTrial(files, paths);
  const ran = (await history(files, paths)).filter((version) => version !== current);
  return new Set([current, trial?.previous, ...ran.slice(0, KEPT_RELEASES)]);
}
