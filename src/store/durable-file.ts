/**
 * Small files that are whole or absent after any crash: written beside the target, synced, renamed over it, and the folder synced.
 * A crash may leave a `*.tmp` file, which the next write replaces.
 */
import { dirname, join } from 'node:path';
import { retryable, systemCode } from '../errors/agent-error.ts';
import { type Files, type OpenFile, undefinedWhenMissing } from '../host/files.ts';

/** For files that hold secrets: the service user only. */
export const PRIVATE_MODE = 0o600;
/** For files that a technician's command line may read: the service's group. */
export const GROUP_MODE = 0o640;

export interface WriteOptions {
  /** Permissions of the file; default 0600. */
  readonly mode?: number;
}

/**
 * Replaces a file's content; once this resolves it survives a power cut. One writer a path at a time: two would share the file beside it.
 * @throws AgentError `host/write-failed` (retry) that names the file and the cause (ENOSPC, EROFS, EACCES …).
 */
export async function writeDurably(
  files: Files,
  path: string,
  content: string | Uint8Array,
  { mode }: WriteOptions = {},
): Promise<void> {
  try {
    const file = await replaceContent(files, path, Buffer.from(content), mode ?? PRIVATE_MODE);
    await file.close();
  } catch (cause) {
    throw retryable('host/write-failed', `cannot write ${path}: ${systemCode(cause) ?? 'unknown fault'}`, cause);
  }
}

/** As `writeDurably`, but the new file stays open, and faults are the system's own. */
export async function replaceContent(files: Files, path: string, content: Uint8Array, mode: number): Promise<OpenFile> {
  const temporary = `${path}.tmp`;
  const file = await files.open(temporary, 'replace', { mode });
  try {
    await file.write(content, 0);
    await file.datasync();
    await files.rename(temporary, path);
    await files.syncFolder(dirname(path));
  } catch (cause) {
    await file.close();
    throw cause;
  }
  return file;
}

/** Moves an unreadable file out of the way, to `<path>.corrupt`, keeping its content for a person; the newest such copy stays. */
export async function setAside(files: Files, path: string): Promise<string> {
  const aside = asidePath(path);
  await files.rename(path, aside);
  await files.syncFolder(dirname(path));
  return aside;
}

/** Tells if content was quarantined. Unknown counts as yes. */
export function mayBeSetAside(files: Files, path: string): Promise<boolean> {
  const isThere = files.facts(asidePath(path)).then((facts) => facts !== undefined);
  return isThere.catch(() => true);
}

function asidePath(path: string): string {
  return `${path}.corrupt`;
}

/**
 * Where lies what holds less than was known: it is found there, and not believed. A release that does not know the name, taken up again while a
 * disk is full, finds nothing, as at its first start: what is wished from afar is new to it and moves what was moved otherwise since, within all
 * limits, and how long outputs were on is lost. With the old content it would have believed that, which is no less.
 */
export function behindPath(path: string): string {
  return `${path}.behind`;
}

/** Makes a file that cannot be rewritten unbelievable, for which a full disk has room. Where there is none, the beginning of the new one says that it was to be. */
export async function disown(files: Files, path: string): Promise<void> {
  for (const from of [path, `${path}.tmp`]) {
    const isThere = await files.rename(from, behindPath(path)).then(() => true, undefinedWhenMissing);
    if (isThere) return await files.syncFolder(dirname(path));
  }
}

/** Removes a file durably; nothing there is no error. */
export async function removeDurably(files: Files, path: string): Promise<void> {
  await files.unlink(path).catch(undefinedWhenMissing);
  await files.syncFolder(dirname(path)).catch(undefinedWhenMissing);
}

/** Files and folders; nothing there is no error. Durable once it resolves. */
export async function removeTreeDurably(files: Files, path: string): Promise<void> {
  await removeTree(files, path);
  await files.syncFolder(dirname(path)).catch(undefinedWhenMissing);
}

async function removeTree(files: Files, path: string): Promise<void> {
  const found = await files.facts(path);
  if (found === undefined) return;
  if (found.kind !== 'folder') return void (await files.unlink(path).catch(undefinedWhenMissing));
  for (const name of await files.list(path)) await removeTree(files, join(path, name));
  await files.removeFolder(path).catch(undefinedWhenMissing);
}
