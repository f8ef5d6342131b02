/**
 * Reading the two files that hold the credentials. One of them may be missing or spoilt; what cannot be understood is set aside as `*.corrupt`.
 * After a fault that may pass the other one is not used, as it may be older; it is used once a sector has stayed unreadable for long.
 */
import { join } from 'node:path';
import { AgentError, hasCode, messageOf, retryable, systemCode } from '../errors.ts';
import type { Alerts } from '../host/alert-list.ts';
import { PRIVATE_MODE, readWhole, removeDurably, setAside } from '../host/durable-file.ts';
import { type Files, isLost, undefinedWhenMissing } from '../host/files.ts';
import type { Log } from '../host/log.ts';
import { type CredentialsState, parseCredentials } from './credentials-record.ts';

export interface CredentialsFilesDeps {
  readonly stateFolder: string;
  readonly files: Files;
  readonly log: Log;
  readonly alerts: Alerts;
}

/** In order of trust: the second is written after the first. */
export const CREDENTIALS_FILES = ['credentials.json', 'credentials.backup.json'] as const;
const CORRUPT_ALERT = 'credentials-corrupt';
const OTHERS_MAY_READ = 0o077;

interface Found {
  readonly state: CredentialsState;
  readonly text: string;
}

export interface CredentialsFound {
  readonly state: CredentialsState;
  /** Whether both files say it. */
  readonly isWhole: boolean;
  /** The path of a file that could not be read and may be the newer one: nothing is written over it. */
  readonly unread?: string;
}

/**
 * The stored credentials; undefined when there are none. `withoutUnread` uses the twin when the first cannot be read.
 * @throws AgentError `provisioning/newer-format` (stop), `host/read-failed` (retry).
 */
export async function readCredentialsFiles(
  deps: CredentialsFilesDeps,
  options: { readonly withoutUnread: boolean },
): Promise<CredentialsFound | undefined> {
  let found: Found | undefined;
  let healthy = 0;
  let unread: { readonly path: string; readonly error: unknown } | undefined;
  for (const file of CREDENTIALS_FILES) {
    const path = join(deps.stateFolder, file);
    const one = await readOne(deps, path).catch((error: unknown) => {
      if (!mayBeLost(error)) throw error;
      unread ??= found === undefined ? { path, error } : undefined;
      return undefined;
    });
    if (one === undefined) continue;
    found ??= one;
    if (one.text === found.text) healthy += 1;
  }
  if (unread !== undefined && (found === undefined || !options.withoutUnread)) throw unread.error;
  if (found === undefined) return undefined;
  const common = { state: found.state, isWhole: healthy === CREDENTIALS_FILES.length };
  if (unread === undefined) return common;
  deps.alerts.raise(CORRUPT_ALERT, `${messageOf(unread.error)}; its twin is used, which may be older, and it is set aside as *.corrupt`);
  return { ...common, unread: unread.path };
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

async function readOne(deps: CredentialsFilesDeps, path: string): Promise<Found | undefined> {
  try {
    const text = (await readWhole(deps.files, path))?.toString('utf8');
    if (text === undefined) return undefined;
    await closePermissions(deps, path);
    return { state: parseCredentials(text), text };
  } catch (error) {
    // A folder in its place, or a file that is far too large, would stay there, and nothing could be written over it.
    const isNoFileOfOurs = error instanceof AgentError && error.code === 'host/read-failed' && error.recovery === 'drop';
    if (!isNoFileOfOurs && !hasCode(error, 'provisioning/corrupt')) throw error;
    const aside = await setAside(deps.files, path).catch(() => undefined);
    const where =
      aside === undefined ? `it is left as ${path}` : `it was set aside as ${aside}, from which the access token may be read by hand`;
    deps.alerts.raise(CORRUPT_ALERT, `${messageOf(error)}; ${where}`);
    return undefined;
  }
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
