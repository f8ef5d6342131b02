/** Owners of files on this machine. Root gives its new files a group by standing in it, which needs CAP_SETGID and no CAP_CHOWN. */
import { lstat } from 'node:fs/promises';
import { isMissing } from './files.ts';

export interface FileOwner {
  readonly userId: number;
  readonly groupId: number;
  /** Permission bits. */
  readonly mode: number;
}

const PERMISSIONS = 0o7777;

/** Returns whose a regular file is; undefined for anything else, a link too, and where there is nothing. */
export async function ownerOf(path: string): Promise<FileOwner | undefined> {
  const found = await lstat(path).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
  if (found === undefined || !found.isFile()) return undefined;
  return { userId: found.uid, groupId: found.gid, mode: found.mode & PERMISSIONS };
}

/** Makes the files of `act` with this group; one at a time, as the group is the whole process's. */
export async function asGroup<T>(groupId: number, act: () => Promise<T>): Promise<T> {
  const own = process.getegid?.();
  if (own === undefined || own === groupId) return act();
  process.setegid?.(groupId);
  try {
    return await act();
  } finally {
    process.setegid?.(own);
  }
}
