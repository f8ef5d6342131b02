/**
 * The trial in root's folder, from the moment it is laid until it is over. All that the way back needs on a full disk is laid before the
 * trial begins: a release that fills the disk must not be able to keep it from being taken.
 */
import { join } from 'node:path';
import { confirmedId, type GuardResult, guardLines, readTrial, type Trial } from './guard-state.ts';
import type { ReleaseFolderDeps } from './release-folder.ts';

/** Where the boot guard goes on a full disk: renamed over `current`, which takes no room. */
const BACK_NAME = 'back';
/** The boot guard counts in them in place: the room that they take now is there on a full disk too. */
const COUNTING_FILES = ['starts', 'ticks'] as const;

/** Puts a release under the boot guard's eyes and moves `current` to it. */
export async function beginTrial(deps: ReleaseFolderDeps, trial: Trial): Promise<void> {
  await layTrial(deps, trial);
  await deps.files.link(join('releases', trial.version), join(deps.paths.home, 'current'));
}

async function layTrial({ files, paths }: ReleaseFolderDeps, trial: Trial): Promise<void> {
  const { id, version, previous } = trial;
  await files.link(join('releases', previous), join(paths.home, BACK_NAME));
  const back: GuardResult = { id, outcome: 'rolled-back', version, reason: 'not confirmed, and the disk was full' };
  await files.write(join(paths.guard, `result.${BACK_NAME}`), guardLines(back));
  for (const name of COUNTING_FILES) await files.write(join(paths.guard, name), 'count=0\n');
  await files.write(join(paths.guard, 'trial'), guardLines(trial));
}

/** The trial that is still open; the guard looks for a confirmation only at its next turn, so it may be over already. */
export async function openTrial(deps: ReleaseFolderDeps): Promise<Trial | undefined> {
  const trial = await readTrial(deps.files, deps.paths);
  if (trial === undefined || (await confirmedId(deps.files, deps.paths)) !== trial.id) return trial;
  await writeResult(deps, { id: trial.id, outcome: 'confirmed', version: trial.version, reason: '' });
  await forgetTrial(deps);
  return undefined;
}

/** The order the guard keeps too: the verdict, the swap, and only then the trial is over. */
export async function goBack(deps: ReleaseFolderDeps, id: string, to: string, from: string): Promise<void> {
  await writeResult(deps, { id, outcome: 'rolled-back', version: from, reason: 'the agent gave the release up' });
  await deps.files.link(join('releases', to), join(deps.paths.home, 'current'));
  await forgetTrial(deps);
}

export async function forgetTrial({ files, paths }: ReleaseFolderDeps): Promise<void> {
  for (const name of ['trial', ...COUNTING_FILES, `result.${BACK_NAME}`]) await files.remove(join(paths.guard, name));
  await files.remove(join(paths.home, BACK_NAME));
}

export async function writeResult({ files, paths }: ReleaseFolderDeps, result: GuardResult): Promise<void> {
  await files.write(join(paths.guard, 'result'), guardLines(result));
}
