/**
 * The work of root when the agent asks for another configuration. What lies in the service's folder is trusted for nothing. Each step can
 * be cut short: the file in place is one of the two, whole, and the same request again finishes it.
 *
 *   candidate copied ─► looked at ─► before, trial, state laid ─► timer ─► file replaced ─► result ─► reload or restart
 */
import { join } from 'node:path';
import { messageOf, refusal } from '../../errors/agent-error.ts';
import type { ConfigureRequest } from '../../firmware/guard-state.ts';
import { keyValueLines } from '../../store/key-value-lines.ts';
import { boundedTree, MAX_CONFIGURATION_BYTES } from '../bounded-tree.ts';
import type { Tree } from '../tree-differences.ts';
import {
  CANDIDATE_NAME,
  type ConfigurationOutcome,
  type ConfigurationTrial,
  readConfigurationResult,
  readConfigurationTrial,
  trialPaths,
} from '../trial-state.ts';
import { endTrial, isVerdict, removeTrialFiles, renewAgent, WENT_DOWN } from './end-trial.ts';
import { hashOfWayBack, readCandidate, readIfInPlace, readInPlace, replaceInPlace, sha256 } from './file-in-place.ts';
import { backPath, type RootConfigurationDeps } from './root-deps.ts';

/** Trials that the history keeps. */
const HISTORY_LENGTH = 10;
const NUMBER_DIGITS = 4;
/** Added to the guard's timer: at the trial's end the agent comes first, as it can say why. */
const GUARD_GRACE_S = 30;
/** Changes that a refusal names. */
const MAX_NAMED = 3;

/** Installs the candidate on trial. Never throws for what it asks: a refusal is written to `result`. */
export async function configure(deps: RootConfigurationDeps, request: ConfigureRequest): Promise<void> {
  const { id } = request;
  const paths = trialPaths(deps.guardFolder);
  try {
    await endForgottenTrial(deps);
    const trial = await readConfigurationTrial(deps.files, paths);
    const last = await readConfigurationResult(deps.files, paths);
    if (last?.id === id && isVerdict(last)) return deps.log.warn({ id }, 'this configuration was tried already');
    const owner = await deps.ownerOf(deps.file);
    if (owner === undefined) throw refusal('remote-config/no-file', `${deps.file} is no regular file`);
    // A file of another user would become root's by being replaced.
    if (owner.userId !== deps.userId) throw refusal('remote-config/not-roots', `${deps.file} does not belong to root`);
    await deps.asGroup(owner.groupId, () => install(deps, request, trial, owner.mode));
  } catch (error) {
    deps.log.error({ id, error: messageOf(error) }, 'the configuration was refused');
    await writeOutcome(deps, request, 'refused', messageOf(error));
  }
}

/** True while a configuration is on trial: a release waits for its end. */
export async function isConfigurationOnTrial(
  deps: Pick<RootConfigurationDeps, 'files' | 'guardFolder'>,
): Promise<boolean> {
  return (await readConfigurationTrial(deps.files, trialPaths(deps.guardFolder))) !== undefined;
}

async function install(
  deps: RootConfigurationDeps,
  request: ConfigureRequest,
  open: ConfigurationTrial | undefined,
  mode: number,
): Promise<void> {
  const inPlace = await readInPlace(deps);
  const isSame = open?.id === request.id && open.hash === request.hash && open.before === request.before;
  // An earlier run was cut short once the file was replaced.
  if (isSame && sha256(inPlace) === request.hash) return begin(deps, request);
  if (open !== undefined && !isSame)
    throw refusal('remote-config/on-trial', 'another configuration is on trial: this one waits for its end');
  const candidate = await readCandidate(deps, join(deps.requestFolder, CANDIDATE_NAME));
  await expectTakes(deps, request, inPlace, candidate);
  await clearWayBack(deps, request.before);
  try {
    await lay(deps, request, { inPlace, candidate, mode });
    await replace(deps, request, candidate, mode);
  } catch (error) {
    await undo(deps, request);
    throw error;
  }
  await begin(deps, request);
}

/** @throws AgentError `remote-config/…` (drop) with the reason why this file is not taken. */
async function expectTakes(
  deps: RootConfigurationDeps,
  request: ConfigureRequest,
  inPlace: Uint8Array,
  candidate: Uint8Array,
): Promise<void> {
  if (sha256(candidate) !== request.hash)
    throw refusal('remote-config/other-file', 'the new file is not the one that was asked for');
  if (sha256(inPlace) !== request.before)
    throw refusal('remote-config/other-base', 'the file in place is not the one that was to be changed');
  if (request.hash === request.before) throw refusal('remote-config/same-file', 'this file is in place already');
  const before = boundedTree(inPlace, 'the file in place');
  if (!isEnabled(before))
    throw refusal('remote-config/disabled', 'remoteConfiguration.enabled is not true in the file in place');
  if (await deps.isReleaseOnTrial())
    throw refusal('remote-config/release-on-trial', 'a release is on trial: the configuration waits for its end');
  const changes = deps.lockedChanges(before, boundedTree(candidate, 'the new file'));
  if (changes.length === 0) return;
  const named = changes.slice(0, MAX_NAMED).map(({ path, words }) => `${path}: ${words}`);
  throw refusal('remote-config/locked', `${changes.length} changes are locked: ${named.join('; ')}`);
}

/**
 * Makes room for the way back. A cut may have left one of a trial that never began: then the copy in root's folder is the same file.
 * @throws AgentError `remote-config/name-taken` (drop) when somebody's own file has its name.
 */
async function clearWayBack(deps: RootConfigurationDeps, before: string): Promise<void> {
  const found = await hashOfWayBack(deps);
  if (found === undefined || found === before) return;
  const copy = await deps.files.read(trialPaths(deps.guardFolder).before, MAX_CONFIGURATION_BYTES);
  if (copy === undefined || sha256(copy) !== found)
    throw refusal(
      'remote-config/name-taken',
      `${backPath(deps)} is no file of a trial: it is not touched, and has to go`,
    );
  await deps.files.remove(backPath(deps));
}

/** True where the file in place allows changes from afar; anything but a plain yes is a no. */
function isEnabled({ remoteConfiguration: section }: Tree): boolean {
  return typeof section === 'object' && section !== null && 'enabled' in section && section.enabled === true;
}

/** All that the way back needs, on a full disk too, lies before the trial begins; `state`, which begins it, comes last. */
async function lay(
  deps: RootConfigurationDeps,
  request: ConfigureRequest,
  { inPlace, candidate, mode }: { readonly inPlace: Buffer; readonly candidate: Buffer; readonly mode: number },
): Promise<void> {
  const { files, clock } = deps;
  const { id, hash, before, trialS, needs, origin } = request;
  const paths = trialPaths(deps.guardFolder);
  await files.makeFolder(paths.folder, 0o755);
  await files.makeFolder(paths.history, 0o755);
  const number = await nextNumber(deps);
  await files.write(paths.before, inPlace, mode);
  await files.write(backPath(deps), inPlace, mode);
  await files.write(paths.trial, candidate, mode);
  const atMs = clock.wallMs();
  const reason = 'it was not kept, and the disk was full';
  await files.write(paths.resultBack, keyValueLines({ id, outcome: 'returned', hash, reason, atMs }));
  await files.write(paths.starts, 'count=0\n');
  const trial: ConfigurationTrial = {
    id,
    hash,
    before,
    trialS,
    needs,
    origin,
    number,
    bootId: clock.bootId,
    beganAtMs: Math.floor(clock.monotonicMs()),
  };
  // Before the trial begins: a helper that is killed behind `state` leaves none that nobody ends.
  await deps.startTimer(trialS + GUARD_GRACE_S);
  await files.write(paths.state, keyValueLines(trial));
}

/** Makes room in the history for one more, and says which number it has. */
async function nextNumber({ files, guardFolder }: RootConfigurationDeps): Promise<string> {
  const { history } = trialPaths(guardFolder);
  const numbers = (await files.list(history)).flatMap((name) =>
    /^\d{1,9}(\.yaml)?$/.test(name) ? [Number.parseInt(name, 10)] : [],
  );
  const known = [...new Set(numbers)].sort((a, b) => a - b);
  for (const old of known.slice(0, Math.max(0, known.length - HISTORY_LENGTH + 1)))
    for (const name of [inHistory(old), `${inHistory(old)}.yaml`]) await files.remove(join(history, name));
  return inHistory((known.at(-1) ?? 0) + 1);
}

function inHistory(number: number): string {
  return String(number).padStart(NUMBER_DIGITS, '0');
}

async function replace(
  deps: RootConfigurationDeps,
  request: ConfigureRequest,
  candidate: Uint8Array,
  mode: number,
): Promise<void> {
  // On a disk that stood still for the whole trial the guard has ended it meanwhile.
  const trial = await readConfigurationTrial(deps.files, trialPaths(deps.guardFolder));
  if (trial?.id !== request.id) throw refusal('remote-config/over', 'the trial was over before it began');
  await replaceInPlace(deps, candidate, { mode, over: request.before });
}

/** Takes a trial back that could not begin; one whose file is in place, or that left none there, goes back by its verdict. */
async function undo(deps: RootConfigurationDeps, request: ConfigureRequest): Promise<void> {
  try {
    const trial = await readConfigurationTrial(deps.files, trialPaths(deps.guardFolder));
    const inPlace = await readIfInPlace(deps);
    const isBack = inPlace !== undefined && sha256(inPlace) !== request.hash;
    if (trial !== undefined && !isBack)
      return await endTrial(deps, trial, { outcome: 'returned', reason: 'it could not be installed' });
    await removeTrialFiles(deps, request.before);
    await deps.stopTimer();
  } catch (error) {
    deps.log.error({ id: request.id, error: messageOf(error) }, 'the boot guard has to take the trial back');
  }
}

/** The file is in place. Whatever fails from here on, the trial is on, and the guard ends it. */
async function begin(deps: RootConfigurationDeps, request: ConfigureRequest): Promise<void> {
  await writeOutcome(deps, request, 'trying', '');
  await renewAgent(deps, request.id, request.needs);
}

async function writeOutcome(
  { files, guardFolder, clock, log }: RootConfigurationDeps,
  { id, hash }: ConfigureRequest,
  outcome: ConfigurationOutcome,
  reason: string,
): Promise<void> {
  const paths = trialPaths(guardFolder);
  try {
    await files.makeFolder(paths.folder, 0o755);
    await files.write(paths.result, keyValueLines({ id, outcome, hash, reason, atMs: clock.wallMs() }));
  } catch (error) {
    log.error({ id, outcome, error: messageOf(error) }, 'how the request went could not be noted');
  }
}

/** Ends a trial that nobody ended: the machine went down during it, or who wrote its verdict was cut short. */
async function endForgottenTrial(deps: RootConfigurationDeps): Promise<void> {
  const paths = trialPaths(deps.guardFolder);
  const trial = await readConfigurationTrial(deps.files, paths);
  if (trial === undefined) return;
  const result = await readConfigurationResult(deps.files, paths);
  const hasVerdict = result?.id === trial.id && isVerdict(result);
  if (hasVerdict || trial.bootId !== deps.clock.bootId)
    await endTrial(deps, trial, { outcome: 'returned', reason: WENT_DOWN });
}
