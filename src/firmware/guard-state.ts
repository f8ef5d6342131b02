/**
 * The few small files through which agent, root helper and boot guard speak. Lines of KEY=VALUE, because the guard is a shell script.
 *
 *   agent ── firmware/request, firmware/confirmed ──►  root helper, boot guard   (in the service's own folder, trusted for nothing)
 *   agent ◄── turnstone-guard/trial, result ─────────  root helper, boot guard   (in root's folder, for all to read)
 */
import { join } from 'node:path';
import { keyValueLines, oneLine, parseKeyValueLines } from '../store/key-value-lines.ts';
import { withPlain } from './file-pieces.ts';
import { isVersion } from './release-version.ts';
import type { UpdateFiles } from './update-files.ts';

export interface ReleasePaths {
  /** /opt/turnstone: `releases/<version>` and the link `current`. */
  readonly home: string;
  /** /var/lib/turnstone-guard, root's. */
  readonly guard: string;
  /** The service's own folder, <state folder>/firmware. */
  readonly firmware: string;
}

/** Where things lie below a file system's root. */
export function releasePaths(root = '/'): ReleasePaths {
  return {
    home: join(root, 'opt/turnstone'),
    guard: join(root, 'var/lib/turnstone-guard'),
    firmware: join(root, 'var/lib/turnstone/firmware'),
  };
}

/**
 * A request of the agent to the helper. `swap` takes the verified image beside the request, or goes to a kept release; `configure` tries
 * the configuration beside the request, `settle` ends its trial.
 */
export type HelperRequest = Partial<AskedAt> &
  (
    | { readonly request: 'swap'; readonly id: string; readonly version: string; readonly source: 'image' | 'kept' }
    | { readonly request: 'reboot'; readonly id: string }
    | ConfigureRequest
    | SettleRequest
  );

export interface ConfigureRequest {
  readonly request: 'configure';
  readonly id: string;
  /** SHA-256 of the new file in hex. */
  readonly hash: string;
  /** SHA-256 of the file that it replaces. */
  readonly before: string;
  /** Length of the trial in seconds, 60 to 3600. */
  readonly trialS: number;
  /** How the agent takes the new file up. */
  readonly needs: 'reload' | 'restart';
  readonly origin: ConfigurationOrigin;
}

export interface SettleRequest {
  readonly request: 'settle';
  readonly id: string;
  readonly outcome: 'kept' | 'returned';
  readonly reason: string;
  /** SHA-256 of a file that somebody has put in place on site and the agent cannot take: it is set aside. */
  readonly refused?: string;
}

/** Where a configuration came from. */
export type ConfigurationOrigin = 'package' | 'patch' | 'page' | 'local';

/** Time of a request: a request that nobody came for must not act later. Releases before did not write it. */
export interface AskedAt {
  readonly bootId: string;
  /** Ms since that boot. */
  readonly askedAtMs: number;
}

/** A release that has not confirmed itself, and the one to go back to. */
export interface Trial {
  readonly id: string;
  readonly version: string;
  readonly previous: string;
}

/** How the last request or trial ended; `swapped` is the start of a trial. */
export interface GuardResult {
  readonly id: string;
  readonly outcome: 'swapped' | 'refused' | 'confirmed' | 'rolled-back';
  readonly version: string;
  readonly reason: string;
}

/** The verified image that a swap takes; the request cannot name another. */
export const IMAGE_NAME = 'image';
/** A person's file on its way to the updater, which makes its own copy. */
export const HANDED_OVER_NAME = 'handed-over';
export const REQUEST_NAME = 'request';
/** The helper's program in `<home>/guard`, which install.sh puts there. */
export const HELPER_NAME = 'root-helper.mjs';
export const CONFIRMED_NAME = 'confirmed';
const MAX_BYTES = 4096;
const ID = /^[0-9a-zA-Z-]{1,64}$/;
const HASH = /^[0-9a-f]{64}$/;
const MIN_TRIAL_S = 60;
const MAX_TRIAL_S = 3600;
const ORIGINS: readonly string[] = ['package', 'patch', 'page', 'local'] satisfies ConfigurationOrigin[];
const OUTCOMES: readonly string[] = [
  'swapped',
  'refused',
  'confirmed',
  'rolled-back',
] satisfies GuardResult['outcome'][];

/** Reads what an agent wrote, which may be anything; undefined for all but the four requests. */
export function parseRequest(bytes: Uint8Array): HelperRequest | undefined {
  const fields = parseKeyValueLines(bytes);
  const { request, id = '', version = '', source, bootId = '', askedAtMs = '' } = fields;
  if (!ID.test(id)) return undefined;
  const asked = ID.test(bootId) && /^\d{1,15}$/.test(askedAtMs) ? { bootId, askedAtMs: Number(askedAtMs) } : {};
  if (request === 'reboot') return { request, id, ...asked };
  if (request === 'configure') return parseConfigure(id, fields, asked);
  if (request === 'settle') return parseSettle(id, fields, asked);
  if (request !== 'swap' || !isVersion(version) || (source !== 'image' && source !== 'kept')) return undefined;
  return { request, id, version, source, ...asked };
}

type Fields = Readonly<Record<string, string | undefined>>;

function parseConfigure(id: string, fields: Fields, asked: Partial<AskedAt>): HelperRequest | undefined {
  const { hash = '', before = '', trialS: seconds = '', needs, origin = '' } = fields;
  const trialS = /^\d{2,4}$/.test(seconds) ? Number(seconds) : 0;
  if (!HASH.test(hash) || !HASH.test(before) || trialS < MIN_TRIAL_S || trialS > MAX_TRIAL_S) return undefined;
  if ((needs !== 'reload' && needs !== 'restart') || !isOrigin(origin)) return undefined;
  return { request: 'configure', id, hash, before, trialS, needs, origin, ...asked };
}

function parseSettle(id: string, fields: Fields, asked: Partial<AskedAt>): HelperRequest | undefined {
  const { outcome, reason = '', refused = '' } = fields;
  if (outcome !== 'kept' && outcome !== 'returned') return undefined;
  const aside = HASH.test(refused) ? { refused } : {};
  return { request: 'settle', id, outcome, reason: oneLine(reason), ...aside, ...asked };
}

function isOrigin(word: string): word is ConfigurationOrigin {
  return ORIGINS.includes(word);
}

export async function readTrial(files: UpdateFiles, paths: ReleasePaths): Promise<Trial | undefined> {
  const { id, version, previous } = parseKeyValueLines(await files.read(join(paths.guard, 'trial'), MAX_BYTES));
  if (id === undefined || version === undefined || !isVersion(version) || previous === undefined) return undefined;
  return { id, version, previous };
}

export async function readResult(files: UpdateFiles, paths: ReleasePaths): Promise<GuardResult | undefined> {
  const {
    id,
    outcome,
    version = '',
    reason = '',
  } = parseKeyValueLines(await files.read(join(paths.guard, 'result'), MAX_BYTES));
  if (id === undefined || outcome === undefined || !OUTCOMES.includes(outcome)) return undefined;
  return { id, outcome: outcome as GuardResult['outcome'], version, reason };
}

/** The trial that the agent says it has confirmed. */
export async function confirmedId(files: UpdateFiles, paths: ReleasePaths): Promise<string | undefined> {
  return readHead(files, join(paths.firmware, CONFIRMED_NAME)).then(
    (bytes) => parseKeyValueLines(bytes).id,
    () => undefined,
  );
}

/** The beginning of a file in a folder where another user may put a link, a pipe or an endless file. */
export function readHead(files: UpdateFiles, path: string): Promise<Uint8Array> {
  const bytes = Buffer.alloc(MAX_BYTES);
  return withPlain(files, path, async (file) => bytes.subarray(0, await file.read(bytes, 0)));
}

/** The version that `current` leads to; undefined when nothing is installed. */
export async function currentVersion(files: UpdateFiles, paths: ReleasePaths): Promise<string | undefined> {
  const version = (await files.readLink(join(paths.home, 'current')))?.split('/').at(-1);
  return version !== undefined && isVersion(version) ? version : undefined;
}

/** One KEY=VALUE a line; a value keeps to its line. */
export function guardLines(fields: HelperRequest | Trial | GuardResult | { readonly id: string }): string {
  return keyValueLines(fields);
}
