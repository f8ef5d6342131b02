/** Chooses the update that an idle updater begins: an offer of the platform, or a wish of a person. */
import { join } from 'node:path';
import type { FirmwareHandlerConfig } from '../config/schema/agent-config.ts';
import { refusal } from '../errors/agent-error.ts';
import { hasHost } from '../platform/external-file.ts';
import { withPlain } from './file-pieces.ts';
import type { FirmwareOffer, RefusedOffer } from './firmware-offer.ts';
import { readImageManifest } from './release-archive.ts';
import { copyPlain } from './release-folder.ts';
import { SIGNATURE_FRAME_BYTES } from './release-signature.ts';
import { compareVersions, isVersion } from './release-version.ts';
import { UNKNOWN_VERSION, type Update, type UpdateJournal } from './update-journal.ts';
import type { UpdateEvent } from './update-states.ts';
import type { BuiltInHandler, StepOutcome, UpdaterDeps } from './updater-deps.ts';

/** A request at the command line: a bundle that lies here, or a release that is kept. */
export type UpdateWish =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'back'; readonly version: string };

export interface Beginning {
  readonly update: Update;
  readonly outcome: StepOutcome<UpdateEvent<'idle'>>;
}

/** It becomes an argument of the handler's program: it must not look like an option, nor hold a line break. */
const HANDLER_VERSION = /^[0-9A-Za-z][\x20-\x7e]{0,127}$/;

const NO_CHECKSUM = 'it has no checksum';

type ChooseDeps = Pick<UpdaterDeps, 'kind' | 'config' | 'release' | 'builtIn' | 'clock' | 'newId'>;

/** Undefined when nothing is offered, or when this offer has already ended. */
export function chooseOffer(
  deps: ChooseDeps,
  journal: UpdateJournal,
  offer: FirmwareOffer | RefusedOffer | undefined,
): Beginning | undefined {
  if (offer === undefined || offer.fingerprint === journal.settledOffer) return undefined;
  const { title, version, fingerprint } = offer;
  const from = isOurs(deps, title) ? runningVersion(deps) : installedVersion(journal, title);
  const update = { ...newUpdate(deps, { title, version, source: 'platform', fingerprint }), from };
  const reason = 'fault' in offer ? offer.fault : refusalOf(deps, journal, offer);
  if (reason !== undefined) return { update, outcome: { event: 'refused', reason } };
  // A configuration that was kept may have been changed since.
  const isInstalled = isOurs(deps, title)
    ? version === runningVersion(deps)
    : builtInOf(deps, title) === undefined && fingerprint === journal.installedOffer;
  if (isInstalled) return { update: { ...update, isThere: true }, outcome: { event: 'runs-already' } };
  return { update: { ...update, offer: offer as FirmwareOffer }, outcome: { event: 'offered' } };
}

/**
 * Makes an update of a wish; a file is copied to where the image is expected.
 * @throws AgentError `firmware/bad-archive`, `firmware/too-large`, `firmware/no-space` (drop) for a file that cannot be used,
 * `firmware/no-release` (drop) for a release that is not kept, `firmware/same-release` (drop) for what runs.
 */
export async function chooseWish(
  deps: ChooseDeps & Pick<UpdaterDeps, 'files' | 'paths'>,
  wish: UpdateWish,
  image: string,
  signal: AbortSignal,
): Promise<Beginning> {
  const { title } = deps.config;
  if (wish.kind === 'back') {
    await expectKept(deps, wish.version);
    return {
      update: newUpdate(deps, { title, version: wish.version, source: 'kept' }),
      outcome: { event: 'back-asked' },
    };
  }
  await copyPlain(deps.files, wish.path, image, deps.config.maxSizeBytes);
  const version = await releaseIn(deps, image, signal);
  return { update: newUpdate(deps, { title, version, source: 'file' }), outcome: { event: 'file-given' } };
}

/** Checks a wish and changes nothing. @throws AgentError as `chooseWish`, except for faults of copying. */
export async function expectUsable(
  deps: Pick<UpdaterDeps, 'release' | 'files' | 'paths'>,
  wish: UpdateWish,
  signal: AbortSignal,
): Promise<void> {
  if (wish.kind === 'back') await expectKept(deps, wish.version);
  else await releaseIn(deps, wish.path, signal);
}

/** The version of this process; unknown of a device whose packages replace no agent. */
export function runningVersion({ release }: Pick<UpdaterDeps, 'release'>): string {
  return release?.runningVersion ?? UNKNOWN_VERSION;
}

/** True for a package that replaces this agent, and not the program of something attached to it. */
export function isOurs(
  { kind, config, release }: Pick<UpdaterDeps, 'kind' | 'config' | 'release'>,
  title: string,
): boolean {
  return release !== undefined && kind === 'firmware' && title === config.title;
}

/** The handler of a package; undefined where there is none. */
export function handlerOf(
  { kind, config }: Pick<UpdaterDeps, 'kind' | 'config'>,
  title: string,
): FirmwareHandlerConfig | undefined {
  return config.handlers.find((handler) => handler.title === title && handler.package === kind);
}

/** The agent's own handler of a package, which goes before those of the configuration; undefined where there is none. */
export function builtInOf(
  { kind, builtIn }: Pick<UpdaterDeps, 'kind' | 'builtIn'>,
  title: string,
): BuiltInHandler | undefined {
  return kind === 'software' ? builtIn?.(title) : undefined;
}

async function releaseIn(
  deps: Pick<UpdaterDeps, 'release' | 'files'>,
  path: string,
  signal: AbortSignal,
): Promise<string> {
  const { release } = await withPlain(deps.files, path, async (file) =>
    readImageManifest(file, await file.size(), signal),
  );
  expectAnother(deps, release);
  return release;
}

async function expectKept(deps: Pick<UpdaterDeps, 'release' | 'files' | 'paths'>, version: string): Promise<void> {
  const kept = isVersion(version) && (await deps.files.list(join(deps.paths.home, 'releases'))).includes(version);
  if (!kept) throw refusal('firmware/no-release', `no release ${JSON.stringify(version)} is kept here`);
  expectAnother(deps, version);
}

function expectAnother(deps: Pick<UpdaterDeps, 'release'>, release: string): void {
  if (release === runningVersion(deps)) throw refusal('firmware/same-release', `release ${release} runs already`);
}

function refusalOf(deps: ChooseDeps, journal: UpdateJournal, offer: FirmwareOffer): string | undefined {
  const { config } = deps;
  const running = runningVersion(deps);
  const { title, version, checksum } = offer;
  if (!isOurs(deps, title)) {
    const builtIn = builtInOf(deps, title);
    if (builtIn !== undefined) return refusalByItself(builtIn, offer);
    const handler = handlerOf(deps, title);
    if (handler === undefined) return `nothing here is called "${title}"`;
    if (!HANDLER_VERSION.test(version))
      return 'the offered version is not one: a letter or a digit first, then up to 127 printable characters';
    return refusalBy(handler, offer);
  }
  if (checksum === undefined) return NO_CHECKSUM;
  if (!isVersion(version)) return 'the offered version is not one';
  const { confirmedVersion = running } = journal;
  // A release installed by hand since may be newer.
  const confirmed = compareVersions(confirmedVersion, running) > 0 ? confirmedVersion : running;
  if (config.allowDowngrade || version === running || compareVersions(version, confirmed) >= 0) return undefined;
  return `${version} is older than ${confirmed}, and allowDowngrade is off`;
}

function refusalBy(
  { allowWithoutChecksum, source }: FirmwareHandlerConfig,
  { checksum, url }: FirmwareOffer,
): string | undefined {
  if (checksum === undefined && !allowWithoutChecksum)
    return `${NO_CHECKSUM}; its handler takes a signed one without it where allowWithoutChecksum is true`;
  if (url !== undefined && source !== undefined && !hasHost(url, source))
    return 'the host of its external address is not among the hosts in the source of its handler';
  return undefined;
}

function refusalByItself(
  { maxPayloadBytes }: BuiltInHandler,
  { checksum, sizeBytes = 0 }: FirmwareOffer,
): string | undefined {
  if (checksum === undefined) return NO_CHECKSUM;
  return sizeBytes > maxPayloadBytes + SIGNATURE_FRAME_BYTES
    ? `it has ${sizeBytes} bytes, and may have ${maxPayloadBytes}`
    : undefined;
}

/** Version of a handler's package that was installed last. */
function installedVersion({ history }: UpdateJournal, title: string): string {
  return history.find((one) => one.title === title && one.outcome === 'UPDATED')?.version ?? UNKNOWN_VERSION;
}

function newUpdate(deps: ChooseDeps, what: Pick<Update, 'title' | 'version' | 'source' | 'fingerprint'>): Update {
  return {
    ...what,
    id: deps.newId(),
    from: runningVersion(deps),
    startedAtMs: deps.clock.wallMs(),
    unanswered: 0,
    attempts: 0,
  };
}
