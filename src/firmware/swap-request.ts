/**
 * Asks the root helper for another release and reads in the guard's files how that went. The answer may come to this process, to the
 * new release, or, after a way back, to the old one again; all of them look in the same places.
 */
import { join } from 'node:path';
import { refusal } from '../errors/agent-error.ts';
import {
  currentVersion,
  guardLines,
  HELPER_NAME,
  type HelperRequest,
  parseRequest,
  REQUEST_NAME,
  readHead,
  readResult,
  readTrial,
  releasePaths,
} from './guard-state.ts';
import type { Update } from './update-journal.ts';
import type { StepOutcome, UpdaterDeps } from './updater-deps.ts';

/** The helper copies, verifies, unpacks and tries 120 MB; on an SD card that takes minutes. */
const ANSWER_WITHIN_MS = 15 * 60_000;
/** Once `current` has moved, this process should have been stopped within this time. */
const RESTART_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 1_000;
const MAX_UNANSWERED = 3;

/** Leaves a request where the path unit sees it; an older one is replaced. */
export async function leaveRequest(
  { files, paths, clock }: Pick<UpdaterDeps, 'files' | 'paths' | 'clock'>,
  request: HelperRequest,
): Promise<void> {
  const asked = { bootId: clock.bootId, askedAtMs: Math.floor(clock.monotonicMs()) };
  await files.write(join(paths.firmware, REQUEST_NAME), guardLines({ ...request, ...asked }), 0o640);
}

/** @throws AgentError `firmware/no-helper` (drop) where no root helper would come for a request. */
export async function expectHelper({ files, paths }: Pick<UpdaterDeps, 'files' | 'paths'>): Promise<void> {
  if (paths.firmware !== releasePaths().firmware)
    throw refusal('firmware/no-helper', `the root helper cannot be asked: ${whyUnseen(paths)}`);
  const folder = join(paths.home, 'guard');
  if ((await files.list(folder)).includes(HELPER_NAME)) return;
  throw refusal(
    'firmware/no-helper',
    `no root helper is installed (${join(folder, HELPER_NAME)} is not there): install the agent with install.sh`,
  );
}

/** Takes back a request that was not answered; another's, for a reboot or the other kind of package, stays. */
export async function withdrawRequest(
  { files, paths }: Pick<UpdaterDeps, 'files' | 'paths'>,
  id: string,
): Promise<void> {
  const path = join(paths.firmware, REQUEST_NAME);
  const left = await readHead(files, path).catch(() => undefined);
  if (left !== undefined && parseRequest(left)?.id === id) await files.remove(path);
}

type SwapEvent = 'started' | 'refused' | 'rolled-back' | 'confirmed' | 'unanswered' | 'failed';

/** Waits until the swap has come out one way or another; undefined when the signal ended the wait. */
export async function awaitSwap(
  deps: UpdaterDeps,
  update: Update,
  signal: AbortSignal,
): Promise<StepOutcome<SwapEvent> | undefined> {
  const sinceMs = deps.clock.monotonicMs();
  let movedMs: number | undefined;
  while (!signal.aborted) {
    const seen = await lookAtGuard(deps, update);
    if (seen !== undefined) return seen;
    const nowMs = deps.clock.monotonicMs();
    const moved = (await currentVersion(deps.files, deps.paths)) === update.version;
    if (moved && deps.release?.runningVersion !== update.version) {
      movedMs ??= nowMs;
      if (nowMs - movedMs > RESTART_WITHIN_MS) {
        deps.release?.requestRestart(`release ${update.version} is to start`);
        return undefined;
      }
    } else if (nowMs - sinceMs > ANSWER_WITHIN_MS || (await isForgotten(deps, update))) {
      if (update.unanswered + 1 < MAX_UNANSWERED) return { event: 'unanswered' };
      return { event: 'failed', reason: `the root helper does not answer; ${whyUnanswered(deps.paths)}` };
    }
    await deps.clock.sleep(LOOK_EVERY_MS, signal);
  }
  return undefined;
}

/** The helper's unit watches the usual state folder; the configuration may name another. */
function whyUnanswered(paths: UpdaterDeps['paths']): string {
  if (paths.firmware === releasePaths().firmware) return 'is turnstone-helper.path active?';
  return whyUnseen(paths);
}

function whyUnseen({ firmware }: UpdaterDeps['paths']): string {
  const watched = releasePaths().firmware;
  return `it takes requests in ${watched}, and with this stateFolder they lie in ${firmware}: for updates and reboots it has to be the usual one`;
}

/** The machine went down while the helper worked: its request is taken, and nobody works on it any more. */
async function isForgotten({ files, paths, clock }: UpdaterDeps, update: Update): Promise<boolean> {
  return update.askedInBoot !== clock.bootId && !(await files.list(paths.firmware)).includes(REQUEST_NAME);
}

/** Returns the outcome that trial and result tell of this update; undefined while they say nothing. */
export async function lookAtGuard(
  { files, paths, release }: Pick<UpdaterDeps, 'files' | 'paths' | 'release'>,
  update: Update,
): Promise<StepOutcome<'started' | 'refused' | 'rolled-back' | 'confirmed' | 'failed'> | undefined> {
  const result = await readResult(files, paths);
  if (result?.id === update.id) {
    if (result.outcome === 'refused' || result.outcome === 'rolled-back')
      return { event: result.outcome, reason: result.reason };
    if (result.outcome === 'confirmed') return { event: 'confirmed' };
  }
  const trial = await readTrial(files, paths);
  const current = await currentVersion(files, paths);
  if (trial?.id === update.id) {
    return current === update.version && release?.runningVersion === update.version ? { event: 'started' } : undefined;
  }
  // The swap was done, but its trial is gone without a result: somebody has installed a release by hand.
  if (result?.id === update.id && result.outcome === 'swapped' && current !== update.version)
    return { event: 'failed', reason: `release ${current ?? 'none'} was installed by hand` };
  return undefined;
}
