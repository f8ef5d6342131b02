/**
 * Reading the two files that hold the credentials. One of them may be missing or spoilt; what cannot be understood is set aside as `*.corrupt`.
 * After a fault that may pass the other one is not used, as it may be older; it is used once a sector has stayed unreadable for long.
 */
import { join } from 'node:path';
import { AgentError, hasCode, messageOf, retryable, systemCode } from '../errors.ts';
import type { Alerts } from '../host/alert-list.ts';
import { PRIVATE_MODE, readWhole, removeDurably, setAside } from '../host/durable-file.ts';
import { type Files, isLost, undefinedWhenMissing } from '../host/files.ts';
import { given } from '../host/given.ts';
import type { Log } from '../host/log.ts';
import { isChanged, isSealed } from '../host/sealed-json.ts';
import { type CredentialsState, joinedWith, parseCredentials } from './credentials-record.ts';

export interface CredentialsFilesDeps {
  readonly stateFolder: string;
  readonly files: Files;
  readonly log: Log;
  readonly alerts: Alerts;
}

/** In order of trust: the second is written after the first. */
export const CREDENTIALS_FILES = ['credentials.json', 'credentials.backup.json'] as const;
const CORRUPT_ALERT = 'credentials-corrupt';
const NEWER = 'provisioning/newer-format';
const OTHERS_MAY_READ = 0o077;

interface OneFile {
  readonly path: string;
  /** It has a check value that agrees. What an earlier release or a person wrote has none, or another. */
  readonly isSealed?: boolean;
  readonly text?: string;
  readonly state?: CredentialsState;
  /** It is there, and its state is not: unreadable, or written by a later release. */
  readonly fault?: unknown;
}

export interface CredentialsFound {
  readonly state: CredentialsState;
  /** Whether both files say it, with a check value. */
  readonly isWhole: boolean;
  /** The path of a file that may be the right one, or the newer: nothing is written over it. */
  readonly inTheWay?: string;
}

/**
 * The stored credentials; undefined when there are none. `withoutUnread` uses the twin when the first cannot be read.
 * @throws AgentError `provisioning/newer-format` (stop), `host/read-failed` (retry).
 */
export async function readCredentialsFiles(
  deps: CredentialsFilesDeps,
  { withoutUnread }: { readonly withoutUnread: boolean },
): Promise<CredentialsFound | undefined> {
  const first = await readOne(deps, CREDENTIALS_FILES[0]);
  const twin = await readOne(deps, CREDENTIALS_FILES[1]);
  // A later release writes a check value too: what says that it is of one without it, beside one that has it, is damaged.
  const isDamaged = isNewer(first) && first.isSealed === false && twin.isSealed === true;
  const isDoneWithout = isDamaged || (mayBeLost(first.fault) && twin.state !== undefined && withoutUnread);
  if (first.fault !== undefined && !isDoneWithout) throw first.fault;
  // Of one that was damaged the twin may tell the truth, once it can be read.
  const isAwaited = isChanged(first.text ?? '') && mayBeLost(twin.fault) && !withoutUnread;
  if (twin.fault !== undefined && (first.state === undefined || isAwaited)) throw twin.fault;
  const used = betterOf(first, twin);
  if (used?.state === undefined) return undefined;
  const other = used === first ? twin : first;
  // Written by an earlier release, changed by hand, or damaged: which of the two is right nobody can tell.
  const isDoubtful = other.state !== undefined && other.text !== used.text && first.isSealed !== true;
  const reason = isDoubtful
    ? `${other.path} differs from its twin`
    : used !== first || !isSealed(used.text ?? '') || isNewer(other)
      ? other.fault
      : undefined;
  if (reason !== undefined)
    deps.alerts.raise(CORRUPT_ALERT, `${messageOf(reason)}; its twin is used, which may be older, and it is set aside as *.corrupt`);
  if (isChanged(used.text ?? ''))
    deps.alerts.raise(CORRUPT_ALERT, `${used.path} was damaged, or changed by hand; it is used, as there is no better file`);
  return {
    state: isDoubtful ? joinedWith(used.state, other.state) : used.state,
    isWhole: other.text === used.text && used.isSealed === true,
    ...given({ inTheWay: reason === undefined ? undefined : other.path }),
  };
}

function betterOf(first: OneFile, twin: OneFile): OneFile | undefined {
  const there = [first, twin].filter(({ state }) => state !== undefined);
  return there.length === 2 && first.isSealed !== true && twin.isSealed === true ? twin : there[0];
}

/** Whether a read fault can mean that the content is lost for good. */
export function mayBeLost(error: unknown): boolean {
  return hasCode(error, 'host/read-failed') && isLost(error.cause);
}

/** Renames a file that could not be read, so that a person can still look at it. @throws AgentError `host/write-failed` (retry): then nothing may be written there. */
export async function setUnreadAside(files: Files, path: string | undefined): Promise<void> {
  if (path !== undefined) await setAside(files, path).catch(undefinedWhenMissing).catch(asWriteFailure('set aside', path));
}

/** Removes set-aside files: they hold the token too. @throws AgentError `host/write-failed` (retry). */
export async function removeAsides({ files, stateFolder }: Pick<CredentialsFilesDeps, 'files' | 'stateFolder'>): Promise<void> {
  for (const file of CREDENTIALS_FILES) {
    const path = join(stateFolder, `${file}.corrupt`);
    await removeDurably(files, path).catch(asWriteFailure('remove', path));
  }
}

function asWriteFailure(what: string, path: string): (cause: unknown) => never {
  return (cause) => {
    const why = systemCode(cause) ?? 'unknown fault';
    throw retryable('host/write-failed', `cannot ${what} ${path}: ${why}`, cause);
  };
}

async function readOne(deps: CredentialsFilesDeps, file: string): Promise<OneFile> {
  const path = join(deps.stateFolder, file);
  let text: string | undefined;
  try {
    text = (await readWhole(deps.files, path))?.toString('utf8');
    if (text === undefined) return { path };
    await closePermissions(deps, path);
    return { path, text, isSealed: isSealed(text), state: parseCredentials(text) };
  } catch (error) {
    if (hasCode(error, NEWER) || mayBeLost(error)) return { path, isSealed: isSealed(text ?? ''), fault: error };
    // A folder in its place, or a file that is far too large, would stay there, and nothing could be written over it.
    const isNoFileOfOurs = error instanceof AgentError && error.code === 'host/read-failed' && error.recovery === 'drop';
    if (!isNoFileOfOurs && !hasCode(error, 'provisioning/corrupt')) throw error;
    const aside = await setAside(deps.files, path).catch(() => undefined);
    const where =
      aside === undefined ? `it is left as ${path}` : `it was set aside as ${aside}, from which the access token may be read by hand`;
    deps.alerts.raise(CORRUPT_ALERT, `${messageOf(error)}; ${where}`);
    return { path };
  }
}

function isNewer({ fault }: OneFile): boolean {
  return hasCode(fault, NEWER);
}

async function closePermissions({ files, log }: CredentialsFilesDeps, path: string): Promise<void> {
  const mode = (await files.facts(path))?.mode ?? 0;
  if ((mode & OTHERS_MAY_READ) === 0) return;
  const closed = await files.chmod(path, PRIVATE_MODE).then(
    () => true,
    () => false,
  );
  log.warn({ file: path, mode: (mode & 0o777).toString(8), closed }, 'the credentials could be read by others; rotate the access token');
}
