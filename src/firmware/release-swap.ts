/**
 * What root does when the agent asks: swap the release or reboot, nothing else. Every step can be cut short; the same request again
 * finishes it, and until `current` moves the device runs what it ran before.
 *
 *   request ─► taken away ─► image copied ─► copy verified ─► unpacked ─► tried as the service user ─► named ─► trial ─► current ─► restart
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { AgentError, messageOf } from '../errors.ts';
import type { Log } from '../host/log.ts';
import {
  confirmedId,
  currentVersion,
  type GuardResult,
  guardLines,
  type HelperRequest,
  IMAGE_NAME,
  parseRequest,
  REQUEST_NAME,
  type ReleasePaths,
  readHead,
  readResult,
  readTrial,
  type Trial,
} from './guard-state.ts';
import {
  copyPlain,
  copyRelease,
  expectWhole,
  incomingFolder,
  installedManifest,
  readTrustedKeys,
  releaseFolder,
  unpackImage,
} from './release-folder.ts';
import { type ReleaseManifest, unreadableFormats } from './release-manifest.ts';
import { compareVersions } from './release-version.ts';
import type { UpdateFiles } from './update-files.ts';

export interface ReleaseSwapDeps {
  readonly files: UpdateFiles;
  readonly paths: ReleasePaths;
  /** /etc/turnstone, root's: `trusted-keys/*.pem`, and `allow-unsigned-firmware`, whose being there switches signatures off. */
  readonly settingsFolder: string;
  readonly arch: string;
  /** Runs a release's own self-test as the service user, with this machine's configuration or without; rejects with what is wrong. */
  readonly selfTest: (folder: string, options: { readonly withConfig: boolean }, signal: AbortSignal) => Promise<void>;
  readonly restartAgent: () => Promise<void>;
  readonly reboot: () => Promise<void>;
  readonly log: Log;
}

export const UNSIGNED_SWITCH = 'allow-unsigned-firmware';
const MOST_IMAGE_BYTES = 512 * 1024 * 1024;
/** Besides the running one. */
const KEPT_RELEASES = 2;

/** Takes the one request there is, if it is one, and does it. Never throws for what a request asks; the refusal is in `result`. */
export async function answerRequest(deps: ReleaseSwapDeps, signal: AbortSignal): Promise<void> {
  const request = await takeRequest(deps);
  if (request === undefined) return deps.log.warn({}, 'what was asked is neither swap nor reboot');
  if (request.request === 'reboot') return deps.reboot();
  try {
    await swap(deps, request, signal);
  } catch (error) {
    deps.log.error({ id: request.id, release: request.version, error: messageOf(error) }, 'the release was refused');
    await deps.files.remove(incomingFolder(deps.paths)).catch(() => undefined);
    await writeResult(deps, { id: request.id, outcome: 'refused', version: request.version, reason: messageOf(error) });
    return;
  }
  await deps.restartAgent();
}

/** Renamed away first: whatever happens next, the path unit is not started over and over by the same file. */
async function takeRequest({ files, paths }: ReleaseSwapDeps): Promise<HelperRequest | undefined> {
  const taken = join(paths.firmware, `${REQUEST_NAME}.taken`);
  await files.rename(join(paths.firmware, REQUEST_NAME), taken);
  return parseRequest(await readHead(files, taken));
}

async function swap(deps: ReleaseSwapDeps, request: HelperRequest & { request: 'swap' }, signal: AbortSignal): Promise<void> {
  const { files, paths } = deps;
  const previous = await currentVersion(files, paths);
  if (previous === undefined) throw refused('no-release', 'no release is installed');
  const trial = await openTrial(deps);
  const result = await readResult(files, paths);
  // Cut short between the way back and the restart: only the restart is left.
  if (previous === request.version && result?.id === request.id && result.outcome === 'rolled-back') return;
  if (previous === request.version) {
    if (trial?.id !== request.id) throw refused('same-release', `release ${previous} runs already`);
    return writeResult(deps, { id: request.id, outcome: 'swapped', version: previous, reason: '' });
  }
  const isWayBack = trial !== undefined && trial.version === previous && trial.previous === request.version;
  if (trial !== undefined && trial.version === previous && !isWayBack)
    throw refused('on-trial', `release ${previous} is not confirmed yet`);
  if (request.source === 'image') await installImage(deps, request, previous, signal);
  else await expectWhole(deps, request.version);
  if (isWayBack) return goBack(deps, trial.id, request.version, trial.version);

  await forgetTrial(deps);
  await files.write(join(paths.guard, 'trial'), guardLines({ id: request.id, version: request.version, previous }));
  await files.link(join('releases', request.version), join(paths.home, 'current'));
  await remember(deps, previous);
  await writeResult(deps, { id: request.id, outcome: 'swapped', version: request.version, reason: '' });
  await prune(deps);
}

async function installImage(deps: ReleaseSwapDeps, request: HelperRequest & { request: 'swap' }, current: string, signal: AbortSignal) {
  const { files, paths } = deps;
  const installed = await installedManifest(deps, current);
  const judge = (manifest: ReleaseManifest): void => {
    if (manifest.release !== request.version)
      throw refused('other-version', `the image holds release ${manifest.release}, not ${request.version}`);
    if (manifest.arch !== deps.arch) throw refused('other-machine', `the image is for ${manifest.arch}, this machine is ${deps.arch}`);
    const unreadable = installed === undefined ? [] : unreadableFormats(manifest, installed);
    if (unreadable.length > 0) throw refused('refuses-state', `the release cannot read the state: ${unreadable.join(', ')}`);
  };
  const copy = join(paths.guard, IMAGE_NAME);
  const keys = await readTrustedKeys(files, join(deps.settingsFolder, 'trusted-keys'));
  const signatureRequired = !(await files.list(deps.settingsFolder)).includes(UNSIGNED_SWITCH);
  try {
    await copyPlain(files, join(paths.firmware, IMAGE_NAME), copy, MOST_IMAGE_BYTES);
    await unpackImage(deps, { path: copy, keys, signatureRequired }, judge, signal);
  } finally {
    await files.remove(copy);
  }
  await deps.selfTest(incomingFolder(paths), { withConfig: true }, signal);
  await nameIncoming(deps, request.version);
}

/**
 * Installs the release that lies unpacked in a folder, as install.sh does: `current` moves to it when it is newer than what runs, or when
 * `allowDowngrade` says so. A person at the machine did it, so there is no trial; resolves with the version that is current now.
 */
export async function adoptRelease(
  deps: ReleaseSwapDeps,
  source: string,
  options: { readonly allowDowngrade: boolean },
  signal: AbortSignal,
): Promise<{ readonly installed: string; readonly current: string }> {
  const { files, paths } = deps;
  await files.makeFolder(paths.home, 0o755);
  await files.makeFolder(join(paths.home, 'releases'), 0o755);
  await files.makeFolder(paths.guard, 0o755);
  const manifest = await copyRelease(deps, source);
  if (manifest.arch !== deps.arch) throw refused('other-machine', `the release is for ${manifest.arch}, this machine is ${deps.arch}`);
  // Who installs by hand may be about to mend the configuration.
  await deps.selfTest(incomingFolder(paths), { withConfig: false }, signal);
  const current = await currentVersion(files, paths);
  const release = await nameFor(deps, manifest, current);
  if (release === undefined) await files.remove(incomingFolder(paths));
  else await nameIncoming(deps, release);
  const installed = release ?? manifest.release;
  const isBackward = current !== undefined && compareVersions(manifest.release, current) < 0 && !options.allowDowngrade;
  if (isBackward || current === installed) return { installed, current: current ?? installed };
  await forgetTrial(deps);
  await files.link(join('releases', installed), join(paths.home, 'current'));
  if (current !== undefined) await remember(deps, current);
  await prune(deps);
  return { installed, current: installed };
}

/** A rebuilt release of the running version gets a name of its own: the folder that runs is never taken away. Undefined: it is the same. */
async function nameFor(deps: ReleaseSwapDeps, manifest: ReleaseManifest, current: string | undefined): Promise<string | undefined> {
  const [running, incoming] = await Promise.all([
    current === undefined ? undefined : deps.files.read(join(releaseFolder(deps.paths, current), 'manifest.json')),
    deps.files.read(join(incomingFolder(deps.paths), 'manifest.json')),
  ]);
  if (running !== undefined && incoming !== undefined && running.equals(incoming)) return undefined;
  if (current !== manifest.release) return manifest.release;
  const sum = createHash('sha256')
    .update(incoming ?? '')
    .digest('hex');
  return `${manifest.release}+${sum.slice(0, 8)}`;
}

async function nameIncoming({ files, paths }: ReleaseSwapDeps, version: string): Promise<void> {
  const folder = releaseFolder(paths, version);
  await files.remove(folder);
  await files.rename(incomingFolder(paths), folder);
}

/** The trial that is still open; the guard looks for a confirmation only at its next turn, so it may be over already. */
async function openTrial(deps: ReleaseSwapDeps): Promise<Trial | undefined> {
  const trial = await readTrial(deps.files, deps.paths);
  if (trial === undefined || (await confirmedId(deps.files, deps.paths)) !== trial.id) return trial;
  await writeResult(deps, { id: trial.id, outcome: 'confirmed', version: trial.version, reason: '' });
  await forgetTrial(deps);
  return undefined;
}

/** The order the guard keeps too: the verdict, the swap, and only then the trial is over. */
async function goBack(deps: ReleaseSwapDeps, id: string, to: string, from: string): Promise<void> {
  await writeResult(deps, { id, outcome: 'rolled-back', version: from, reason: 'the agent gave the release up' });
  await deps.files.link(join('releases', to), join(deps.paths.home, 'current'));
  await forgetTrial(deps);
}

async function forgetTrial({ files, paths }: ReleaseSwapDeps): Promise<void> {
  for (const name of ['trial', 'starts', 'ticks']) await files.remove(join(paths.guard, name));
}

async function writeResult({ files, paths }: ReleaseSwapDeps, result: GuardResult): Promise<void> {
  await files.write(join(paths.guard, 'result'), guardLines(result));
}

/** The releases that ran, the latest first. */
async function remember({ files, paths }: ReleaseSwapDeps, version: string): Promise<void> {
  const ran = await history(files, paths);
  await files.write(join(paths.guard, 'history'), `${[version, ...ran.filter((one) => one !== version)].slice(0, 20).join('\n')}\n`);
}

async function history(files: UpdateFiles, paths: ReleasePaths): Promise<string[]> {
  const text = (await files.read(join(paths.guard, 'history')))?.toString('utf8') ?? '';
  return text.split('\n').filter((line) => line !== '');
}

/** Space for the next one; a fault here leaves a folder too many and nothing worse. */
async function prune(deps: ReleaseSwapDeps): Promise<void> {
  const { files, paths } = deps;
  const current = await currentVersion(files, paths);
  const trial = await readTrial(files, paths);
  const ran = (await history(files, paths)).filter((version) => version !== current);
  const kept = new Set([current, trial?.previous, ...ran.slice(0, KEPT_RELEASES)]);
  for (const version of await files.list(join(paths.home, 'releases'))) {
    if (!kept.has(version)) await files.remove(releaseFolder(paths, version));
  }
}

function refused(fault: string, message: string): AgentError {
  return new AgentError(`firmware/${fault}`, message, { recovery: 'drop' });
}
