/**
 * Reading the two files that hold the credentials. One of them may be missing, damaged or unreadable: the other is used, and what lies in its
 * place is set aside as `*.corrupt`.
 */
import { join } from 'node:path';
import { AgentError, hasCode, retryable, systemCode } from '../errors/agent-error.ts';
import type { Alerts } from '../host/alert-list.ts';
import { type Files, isLost } from '../host/files.ts';
import type { Log } from '../host/log.ts';
import { readWhole } from '../host/whole-file.ts';
import { PRIVATE_MODE, removeDurably, setAside } from '../store/durable-file.ts';
import { isSealed } from '../store/sealed-json.ts';
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

interface OneFile {
  readonly path: string;
  readonly text?: string;
  /** Its check value agrees. What an earlier release or a person wrote has none, or another. */
  readonly isSealed: boolean;
  readonly state?: CredentialsState;
  /** It is there and has no state to use. */
  readonly fault?: AgentError;
}

/**
 * The stored credentials, and whether both files say them with a check value; undefined when there are none.
 * @throws AgentError `provisioning/newer-format` (stop), `host/read-failed` (retry).
 */
export async function readCredentialsFiles(
  deps: CredentialsFilesDeps,
): Promise<{ readonly state: CredentialsState; readonly isWhole: boolean } | undefined> {
  const first = await readOne(deps, CREDENTIALS_FILES[0]);
  const twin = await readOne(deps, CREDENTIALS_FILES[1]);
  const both = [first, twin];
  const used = both.find(({ isSealed, state }) => isSealed && state) ?? both.find(({ state }) => state);
  for (const { fault, isSealed } of both) {
    // A later release writes a check value too: without one, what says that it is of a later release is damaged.
    const stops = hasCode(fault, 'provisioning/newer-format')
      ? isSealed || used === undefined
      : used === undefined && isUnread(fault);
    if (stops) throw fault;
  }
  for (const one of both) {
    // A twin that says something else is only older: the power was cut before it was written.
    const isDifferent = one === first && used === twin && one.state !== undefined;
    const why = isDifferent ? `${one.path} was damaged, or changed by hand` : one.fault?.message;
    if (why !== undefined) await putAside(deps, one.path, why);
  }
  return used?.state && { state: used.state, isWhole: used.isSealed && first.text === twin.text };
}

/** Removes set-aside files: they hold the token too. @throws AgentError `host/write-failed` (retry). */
export async function removeAsides({
  files,
  stateFolder,
}: Pick<CredentialsFilesDeps, 'files' | 'stateFolder'>): Promise<void> {
  for (const file of CREDENTIALS_FILES) {
    const path = join(stateFolder, `${file}.corrupt`);
    await removeDurably(files, path).catch((cause: unknown) => {
      throw retryable('host/write-failed', `cannot remove ${path}: ${systemCode(cause) ?? 'unknown fault'}`, cause);
    });
  }
}

/** @throws AgentError `host/read-failed` (retry) for a fault that may pass, such as too many open files. */
async function readOne(deps: CredentialsFilesDeps, file: string): Promise<OneFile> {
  const path = join(deps.stateFolder, file);
  let text: string | undefined;
  try {
    text = (await readWhole(deps.files, path))?.toString('utf8');
    if (text === undefined) return { path, isSealed: false };
    await closePermissions(deps, path);
    return { path, text, isSealed: isSealed(text), state: parseCredentials(text) };
  } catch (fault) {
    if (!(fault instanceof AgentError) || (isUnread(fault) && !isLost(fault.cause))) throw fault;
    return { path, isSealed: isSealed(text ?? ''), fault };
  }
}

/** A folder in its place, or a file that is far too large, would stay there. */
function isUnread(fault: AgentError | undefined): boolean {
  return fault?.code === 'host/read-failed' && fault.recovery === 'retry';
}

async function putAside({ files, alerts }: CredentialsFilesDeps, path: string, why: string): Promise<void> {
  const aside = await setAside(files, path).catch(() => undefined);
  const where =
    aside === undefined
      ? `it is left as ${path}`
      : `it was set aside as ${aside}, from which the access token may be read by hand`;
  alerts.raise(CORRUPT_ALERT, `${why}; ${where}`);
}

async function closePermissions({ files, log }: CredentialsFilesDeps, path: string): Promise<void> {
  const mode = (await files.facts(path))?.mode ?? 0;
  if ((mode & OTHERS_MAY_READ) === 0) return;
  const closed = await files.chmod(path, PRIVATE_MODE).then(
    () => true,
    () => false,
  );
  log.warn(
    { file: path, mode: (mode & 0o777).toString(8), closed },
    'the credentials could be read by others; rotate the access token',
  );
}
