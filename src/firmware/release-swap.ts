/**
 * The work of root when the agent asks: swap the release, try a configuration, or reboot, nothing else. Every step can be cut short; the
 * same request again finishes it, and until `current` moves the device runs what it ran before.
 *
 *   request ─► taken away ─► image copied ─► copy verified ─► unpacked ─► tried as the service user ─► named ─► trial ─► current ─► restart
 */
import { join } from 'node:path';
import { messageOf, refusal } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import {
  type ConfigureRequest,
  currentVersion,
  type HelperRequest,
  IMAGE_NAME,
  parseRequest,
  REQUEST_NAME,
  readHead,
  readResult,
  type SettleRequest,
} from './guard-state.ts';
import {
  copyPlain,
  expectWhole,
  incomingFolder,
  installedManifest,
  nameIncoming,
  type ReleaseFolderDeps,
  readTrustedKeys,
  unpackImage,
} from './release-folder.ts';
import { newestRan, pruneReleases, rememberRelease } from './release-history.ts';
import { type ReleaseManifest, unreadableFormats } from './release-manifest.ts';
import { compareVersions } from './release-version.ts';
import { beginTrial, forgetTrial, goBack, openTrial, writeResult } from './trial-files.ts';

export interface ReleaseSwapDeps extends ReleaseFolderDeps {
  /**
   * /etc/turnstone, root's: `trusted-keys/*.pem`, and two files whose being there is root's leave: `allow-unsigned-firmware`,
   * `allow-firmware-downgrade`.
   */
  readonly settingsFolder: string;
  readonly arch: string;
  /** Runs a release's own self-test as the service user, with this machine's configuration or without; rejects with what is wrong. */
  readonly selfTest: (folder: string, options: { readonly withConfig: boolean }, signal: AbortSignal) => Promise<void>;
  readonly restartAgent: () => Promise<void>;
  readonly reboot: () => Promise<void>;
  readonly configuration: ConfigurationRequests;
  readonly clock: Pick<Clock, 'bootId' | 'monotonicMs'>;
  readonly log: Log;
}

/** Root's work on configurations, which is not firmware's to know. */
export interface ConfigurationRequests {
  readonly configure: (request: ConfigureRequest) => Promise<void>;
  readonly settle: (request: SettleRequest) => Promise<void>;
  readonly isOnTrial: () => Promise<boolean>;
}

export const UNSIGNED_SWITCH = 'allow-unsigned-firmware';
export const DOWNGRADE_SWITCH = 'allow-firmware-downgrade';
/** The path unit starts the helper at once; a request that waited for longer lay there without one. */
const MAX_REQUEST_AGE_MS = 10 * 60_000;
const MAX_IMAGE_BYTES = 512 * 1024 * 1024;

/** Takes the request that lies there and carries it out. Never throws for what it asks: a refusal is written to `result`. */
export async function answerRequest(deps: ReleaseSwapDeps, signal: AbortSignal): Promise<void> {
  const request = await takeRequest(deps);
  if (request === undefined) return deps.log.warn({}, 'what was asked is none of swap, reboot, configure and settle');
  if (isStale(request, deps.clock))
    return deps.log.warn({ id: request.id }, 'a request from before this boot, or older than 10 min, was removed');
  if (request.request === 'reboot') return deps.reboot();
  if (request.request === 'configure') return deps.configuration.configure(request);
  if (request.request === 'settle') return deps.configuration.settle(request);
  const before = await currentVersion(deps.files, deps.paths);
  try {
    await swap(deps, request, signal);
  } catch (error) {
    const fields = { id: request.id, release: request.version, error: messageOf(error) };
    if (before === request.version || (await currentVersion(deps.files, deps.paths)) !== request.version) {
      deps.log.error(fields, 'the release was refused');
      await deps.files.remove(incomingFolder(deps.paths)).catch(() => undefined);
      return writeResult(deps, {
        id: request.id,
        outcome: 'refused',
        version: request.version,
        reason: messageOf(error),
      });
    }
    // `current` has moved: the new release runs after the next start, whatever failed after that. `refused` would be untrue.
    deps.log.error(fields, 'the release was swapped, but not all that follows was done');
  }
  await deps.restartAgent();
}

/** A kept release of an earlier format asks for its swaps without a time; any other request without one is never carried out. */
function isStale({ request, bootId, askedAtMs }: HelperRequest, clock: ReleaseSwapDeps['clock']): boolean {
  if (bootId === undefined || askedAtMs === undefined) return request !== 'swap';
  return bootId !== clock.bootId || clock.monotonicMs() - askedAtMs > MAX_REQUEST_AGE_MS;
}

/** Renamed away first: whatever happens next, the path unit is not started over and over by the same file. */
async function takeRequest({ files, paths }: ReleaseSwapDeps): Promise<HelperRequest | undefined> {
  const taken = join(paths.firmware, `${REQUEST_NAME}.taken`);
  await files.rename(join(paths.firmware, REQUEST_NAME), taken);
  return parseRequest(await readHead(files, taken));
}

async function swap(
  deps: ReleaseSwapDeps,
  request: HelperRequest & { request: 'swap' },
  signal: AbortSignal,
): Promise<void> {
  const { files, paths } = deps;
  const previous = await currentVersion(files, paths);
  if (previous === undefined) throw refusal('firmware/no-release', 'no release is installed');
  const trial = await openTrial(deps);
  const result = await readResult(files, paths);
  // An earlier run went back and was cut short before the restart: only the restart is missing.
  if (previous === request.version && result?.id === request.id && result.outcome === 'rolled-back') return;
  if (previous === request.version) {
    if (trial?.id !== request.id) throw refusal('firmware/same-release', `release ${previous} runs already`);
    return tellSwapped(deps, request);
  }
  const isOnTrial = trial !== undefined && trial.version === previous;
  // Back to the release before, which is still installed; an image of that version would have to replace it.
  const isWayBack = isOnTrial && trial.previous === request.version && request.source === 'kept';
  if (isOnTrial && !isWayBack) throw refusal('firmware/on-trial', `release ${previous} is not confirmed yet`);
  if (!isWayBack && (await deps.configuration.isOnTrial()))
    throw refusal('firmware/configuration-on-trial', 'a configuration is on trial: the release waits for its end');
  if (request.source === 'image') await installImage(deps, request, previous, signal);
  else {
    const kept = await expectWhole(deps, request.version);
    // Its state formats need no look: what an unconfirmed release writes, the one before can read (state-formats.ts).
    if (isWayBack) return goBack(deps, trial.id, request.version, trial.version);
    expectReadsState(kept, await installedManifest(deps, previous));
  }

  await rememberRelease(deps, previous);
  await forgetTrial(deps);
  await beginTrial(deps, { id: request.id, version: request.version, previous });
  await tellSwapped(deps, request);
  await pruneReleases(deps);
}

/** The trial says the same, so the release may start even when the disk does not take this. */
async function tellSwapped(
  deps: ReleaseSwapDeps,
  { id, version }: { readonly id: string; readonly version: string },
): Promise<void> {
  try {
    await writeResult(deps, { id, outcome: 'swapped', version, reason: '' });
  } catch (error) {
    deps.log.error(
      { id, release: version, error: messageOf(error) },
      'that the release was swapped could not be noted',
    );
  }
}

async function installImage(
  deps: ReleaseSwapDeps,
  request: HelperRequest & { request: 'swap' },
  current: string,
  signal: AbortSignal,
) {
  const { files, paths } = deps;
  const installed = await installedManifest(deps, current);
  const switches = await files.list(deps.settingsFolder);
  const newest = await newestRan(deps, current);
  const judge = (manifest: ReleaseManifest): void => {
    if (manifest.release !== request.version)
      throw refusal('firmware/other-version', `the image holds release ${manifest.release}, not ${request.version}`);
    if (manifest.arch !== deps.arch)
      throw refusal('firmware/other-machine', `the image is for ${manifest.arch}, this machine is ${deps.arch}`);
    // Signed is not enough: an old release with a known hole is signed as well, and the request may come from whoever used that hole.
    if (compareVersions(manifest.release, newest) < 0 && !switches.includes(DOWNGRADE_SWITCH))
      throw refusal(
        'firmware/older-release',
        `release ${manifest.release} is older than ${newest}, which ran here; to allow it: touch ${join(deps.settingsFolder, DOWNGRADE_SWITCH)}`,
      );
    expectReadsState(manifest, installed);
  };
  const copy = join(paths.guard, IMAGE_NAME);
  const keys = await readTrustedKeys(deps, join(deps.settingsFolder, 'trusted-keys'));
  const signatureRequired = !switches.includes(UNSIGNED_SWITCH);
  try {
    await copyPlain(files, join(paths.firmware, IMAGE_NAME), copy, MAX_IMAGE_BYTES);
    await unpackImage(deps, { path: copy, keys, signatureRequired }, judge, signal);
  } finally {
    await files.remove(copy);
  }
  await deps.selfTest(incomingFolder(paths), { withConfig: true }, signal);
  await nameIncoming(deps, request.version);
}

/** @throws AgentError `firmware/refuses-state` (drop). */
function expectReadsState(manifest: ReleaseManifest, installed: ReleaseManifest | undefined): void {
  const unreadable = unreadableFormats(manifest, installed);
  if (unreadable.length > 0)
    throw refusal('firmware/refuses-state', `the release cannot read the state: ${unreadable.join(', ')}`);
}
