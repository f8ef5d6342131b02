/**
 * The end of a configuration's trial, in the order that the boot guard keeps too. Each step can be cut short: the verdict is written first,
 * `state` goes last, and whoever comes between them finishes what the verdict says.
 *
 *   verdict in `result` ─► file back ─► reload or restart ─► history ─► copies removed ─► `state` removed ─► timer stopped
 */
import { join } from 'node:path';
import { messageOf } from '../../errors/agent-error.ts';
import type { SettleRequest } from '../../firmware/guard-state.ts';
import { keyValueLines } from '../../store/key-value-lines.ts';
import {
  type ConfigurationResult,
  type ConfigurationTrial,
  type HistoryNote,
  readConfigurationResult,
  readConfigurationTrial,
  type TrialPaths,
  trialPaths,
} from '../trial-state.ts';
import { hashOfWayBack, putBack, readIfInPlace, sha256 } from './file-in-place.ts';
import { beginProbation } from './probation.ts';
import { backPath, type RootConfigurationDeps, stagedPath } from './root-deps.ts';

type Verdict = Pick<HistoryNote, 'outcome' | 'reason'> & Pick<SettleRequest, 'refused'>;

const ON_SITE = 'the file was changed on site during the trial, and stays';
export const WENT_DOWN = 'the machine went down during the trial';
const REMOVED: Verdict = { outcome: 'returned', reason: 'the file was removed during the trial' };
const NEVER_PLACED: Verdict = { outcome: 'returned', reason: 'the file was never put in place' };

/** Ends a trial as the agent says, as far as the file in place agrees. Asked again, it finishes what was cut short. */
export async function settle(deps: RootConfigurationDeps, request: SettleRequest): Promise<void> {
  const paths = trialPaths(deps.guardFolder);
  const trial = await readConfigurationTrial(deps.files, paths);
  if (trial?.id === request.id) {
    const hasGoneDown = trial.bootId !== deps.clock.bootId;
    return endTrial(deps, trial, hasGoneDown ? { outcome: 'returned', reason: WENT_DOWN } : request);
  }
  deps.log.warn({ id: request.id }, 'a configuration is to be settled that is not on trial');
}

/** Ends the trial that is on. What the file in place is, and a verdict that was written before, come before what is said now. */
export async function endTrial(deps: RootConfigurationDeps, trial: ConfigurationTrial, said: Verdict): Promise<void> {
  const paths = trialPaths(deps.guardFolder);
  // A file that is gone is put back as what was laid for it: both are of its owner, group and mode.
  const owner = (await deps.ownerOf(deps.file)) ?? (await deps.ownerOf(paths.before));
  await deps.asGroup(owner?.groupId ?? 0, async () => {
    const inPlace = await readIfInPlace(deps);
    const hash = inPlace === undefined ? undefined : sha256(inPlace);
    const written = await readConfigurationResult(deps.files, paths);
    const verdict = written?.id === trial.id && isVerdict(written) ? written : undefined;
    const isBefore = hash === trial.before;
    const isOnSite = (hash !== trial.hash && !isBefore) || (isBefore && verdict?.outcome === 'kept');
    const isRefused = isOnSite && (verdict?.refused ?? said.refused) === hash;
    if (inPlace !== undefined && isOnSite && !isRefused) {
      const wasKept = verdict?.outcome === 'kept' && verdict.hash === trial.hash;
      return endOnSite(deps, paths, trial, { inPlace, isRenewed: said.outcome === 'returned' && !wasKept });
    }
    const { outcome, reason } =
      hash === undefined && verdict?.outcome !== 'returned' ? REMOVED : (verdict ?? (isBefore ? NEVER_PLACED : said));
    const refused = isRefused ? hash : undefined;
    const result = { id: trial.id, outcome, hash: trial.hash, reason, atMs: deps.clock.wallMs(), refused };
    await writeVerdict(deps, paths, result);
    if (inPlace !== undefined && isRefused) await setAside(deps, inPlace, owner?.mode ?? 0o640);
    if (outcome === 'returned' && !isBefore) {
      const now = await readIfInPlace(deps);
      // Somebody has saved theirs since it was looked at: it is looked at again.
      if (now !== undefined && sha256(now) !== hash) return endTrial(deps, trial, said);
      await putBack(deps, { before: paths.before, hash: trial.before, mode: owner?.mode ?? 0o640 });
    }
    if (outcome === 'returned') await renewAgent(deps, trial.id, trial.needs);
    await forget(deps, paths, trial, {
      id: trial.id,
      hash: trial.hash,
      origin: trial.origin,
      outcome,
      reason,
      atMs: result.atMs,
    });
  });
}

/**
 * Ends the trial of a file that somebody has replaced: theirs goes into the history, as kept by the site. An agent that says of the file on
 * trial that it fails still runs with it, and takes up theirs.
 */
async function endOnSite(
  deps: RootConfigurationDeps,
  paths: TrialPaths,
  trial: ConfigurationTrial,
  { inPlace, isRenewed }: { readonly inPlace: Uint8Array; readonly isRenewed: boolean },
): Promise<void> {
  const note: HistoryNote = {
    id: trial.id,
    hash: sha256(inPlace),
    origin: 'site',
    outcome: 'kept',
    reason: ON_SITE,
    atMs: deps.clock.wallMs(),
  };
  const { id, hash, outcome, reason, atMs } = note;
  await writeVerdict(deps, paths, { id, outcome, hash, reason, atMs });
  if (isRenewed) await renewAgent(deps, trial.id, trial.needs);
  const owner = await deps.ownerOf(deps.file);
  await deps.files.write(paths.trial, inPlace, owner?.mode ?? 0o640);
  await forget(deps, paths, trial, note);
}

/** Keeps a file of the site that the agent cannot take; on a full disk it is moved, as a rename takes no room. */
async function setAside({ files, file }: RootConfigurationDeps, inPlace: Uint8Array, mode: number): Promise<void> {
  const aside = `${file}.refused`;
  await files.write(aside, inPlace, mode).catch(() => files.rename(file, aside));
}

/** True for a result that ends a trial. */
export function isVerdict(result: ConfigurationResult): result is ConfigurationResult & Verdict {
  return result.outcome === 'kept' || result.outcome === 'returned';
}

async function writeVerdict(
  { files, log }: RootConfigurationDeps,
  paths: TrialPaths,
  result: ConfigurationResult,
): Promise<void> {
  try {
    await files.write(paths.result, keyValueLines(result));
  } catch (error) {
    if (result.outcome !== 'returned') throw error;
    log.error({ id: result.id, error: messageOf(error) }, 'the verdict is the one that was laid for a full disk');
    await files.rename(paths.resultBack, paths.result).catch(() => undefined);
  }
}

async function forget(
  deps: RootConfigurationDeps,
  paths: TrialPaths,
  trial: ConfigurationTrial,
  note: HistoryNote,
): Promise<void> {
  const { files, log } = deps;
  try {
    const place = join(paths.history, trial.number);
    if ((await files.list(paths.folder)).includes('trial')) await files.rename(paths.trial, `${place}.yaml`);
    await files.write(place, keyValueLines(note));
  } catch (error) {
    log.error({ id: trial.id, error: messageOf(error) }, 'the trial is missing in the history');
  }
  if (note.outcome === 'kept' && note.origin !== 'site') await beginProbation(deps, paths, trial);
  await removeTrialFiles(deps, trial.before);
  await deps.stopTimer();
}

/**
 * Removes all that a trial over the file of hash `over` has laid; `state` last, so that a cut leaves nothing behind that nobody comes for.
 * Another file under the name of the way back is somebody's, and stays.
 */
export async function removeTrialFiles(deps: RootConfigurationDeps, over: string): Promise<void> {
  const { trial, before, resultBack, starts, state } = trialPaths(deps.guardFolder);
  const staged = stagedPath(deps);
  const isOwn = (await hashOfWayBack(deps)) === over;
  const beside = isOwn ? [backPath(deps), staged, `${staged}.tmp`] : [staged, `${staged}.tmp`];
  for (const path of [trial, ...beside, before, resultBack, starts, state]) await deps.files.remove(path);
}

/** Has the agent take up the file in place; a fault changes nothing about the file, and is logged. */
export async function renewAgent(
  deps: RootConfigurationDeps,
  id: string,
  how: ConfigurationTrial['needs'],
): Promise<void> {
  try {
    await deps.renewAgent(how);
  } catch (error) {
    deps.log.error({ id, error: messageOf(error) }, 'the agent could not be told of its configuration');
  }
}
