/**
 * Small files that are whole or absent after any crash: written beside the target, synced, renamed over it, and the folder synced.
 * What a crash leaves is a `*.tmp` file, which the next write replaces.
 */
import { constants } from 'node:fs';
import { lchown, lstat, mkdir, open, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AgentError, systemCode } from '../errors.ts';

/** For files that hold secrets: the service user only. */
export const PRIVATE_MODE = 0o600;

export interface DurableFileOptions {
  /** Permissions of the file; default 0600. */
  readonly mode?: number;
}

/**
 * Replaces a file's content; once this resolves it survives a power cut.
 * @throws AgentError `host/write-failed` (retry) that names the file and the cause (ENOSPC, EROFS, EACCES …).
 */
export async function writeDurably(path: string, content: string | Uint8Array, options: DurableFileOptions = {}): Promise<void> {
  const temporary = `${path}.tmp`;
  try {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
    const file = await open(temporary, flags, options.mode ?? PRIVATE_MODE);
    try {
      await file.chmod(options.mode ?? PRIVATE_MODE);
      await file.writeFile(content);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
    await syncFolder(dirname(path));
  } catch (cause) {
    throw new AgentError('host/write-failed', `cannot write ${path}: ${systemCode(cause) ?? 'unknown fault'}`, {
      recovery: 'retry',
      cause,
    });
  }
}

/**
 * Reads a whole small file; undefined when there is none.
 * @throws AgentError `host/read-failed` (retry) on every other fault, and when it is larger than `limitBytes` (default 1 MiB).
 */
export async function readWhole(path: string, limitBytes = 1024 * 1024): Promise<Buffer | undefined> {
  try {
    const file = await open(path, 'r');
    try {
      const { size } = await file.stat();
      if (size > limitBytes)
        throw new AgentError('host/read-failed', `${path} has ${size} bytes, at most ${limitBytes} are read`, { recovery: 'drop' });
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (cause) {
    if (systemCode(cause) === 'ENOENT') return undefined;
    if (cause instanceof AgentError) throw cause;
    throw new AgentError('host/read-failed', `cannot read ${path}: ${systemCode(cause) ?? 'unknown fault'}`, { recovery: 'retry', cause });
  }
}

/** Moves an unreadable file out of the way, to `<path>.corrupt`, keeping its content for a person; the newest such copy stays. */
export async function setAside(path: string): Promise<string> {
  const aside = `${path}.corrupt`;
  await rename(path, aside);
  return aside;
}

/** Makes a folder and its parents; what it holds is for the owner and the group to enter. */
export async function makeFolder(path: string, mode = 0o750): Promise<void> {
  await mkdir(path, { recursive: true, mode });
}

/** Makes renames and unlinks in a folder survive a power cut. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Gives files in a folder to the folder's own owner, where they are another's; only root can, and only root needs to. */
export async function giveToOwnerOf(folder: string, names: readonly string[]): Promise<void> {
  const { uid, gid } = await stat(folder);
  for (const name of names) {
    const found = await lstat(join(folder, name)).catch(() => undefined);
    if (found !== undefined && (found.uid !== uid || found.gid !== gid)) await lchown(join(folder, name), uid, gid);
  }
}
