/** Drops root's rights where a folder is the service's: its files are for the service's own rights, never for root's. */
import { lchown, lstat, mkdir, realpath, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { systemCode } from '../errors/agent-error.ts';

/**
 * When this process is root's and the folder is another user's, becomes that user, for good: a link that was left there then leads root
 * nowhere, and what is written there can be read by the service. Does nothing for a folder that is not there, or is root's own.
 * Files that only root may read are to be open before. Folders of `own`, below root's own folders, are made and given to that user first; one
 * that is there already keeps its owner.
 */
export async function actAsOwnerOf(folder: string, own: readonly string[] = []): Promise<void> {
  if (process.geteuid?.() !== 0) return;
  const owner = await stat(folder).catch(undefinedWhenImpossible);
  if (owner === undefined || owner.uid === 0) return;
  for (const path of own) {
    const made = await mkdir(path, { recursive: true, mode: 0o755 }).catch(undefinedWhenImpossible);
    if (made !== undefined) await lchown(path, owner.uid, owner.gid).catch(undefinedWhenImpossible);
  }
  become(owner);
}

/**
 * When this process is root's and another user's folder lies on the way to a path, becomes that user, for good: whoever owns a folder decides
 * where everything below it leads.
 */
export async function actAsOwnerOfWay(path: string): Promise<void> {
  if (process.geteuid?.() !== 0) return;
  const named = dirname(resolve(path));
  const real = await realpath(named).catch(undefinedWhenImpossible);
  for (const step of [...stepsTo(named), ...stepsTo(real ?? named)]) {
    const found = await lstat(step).catch(undefinedWhenImpossible);
    if (found !== undefined && found.uid !== 0) {
      become(found);
      return;
    }
  }
}

/** `/a`, `/a/b` of `/a/b`. */
function stepsTo(path: string): readonly string[] {
  return path === dirname(path) ? [path] : [...stepsTo(dirname(path)), path];
}

function become(owner: { readonly uid: number; readonly gid: number }): void {
  // Node has initgroups, its types do not.
  const system: typeof process & { readonly initgroups?: (user: number, group: number) => void } = process;
  try {
    system.initgroups?.(owner.uid, owner.gid);
  } catch {
    // A user that no table names has no other groups.
    system.setgroups?.([owner.gid]);
  }
  system.setgid?.(owner.gid);
  system.setuid?.(owner.uid);
}

/** There is no such folder, and there will be none: whoever reads the configuration says what is wrong with its path. */
function undefinedWhenImpossible(error: unknown): undefined {
  if (!['ENOENT', 'ENOTDIR', 'EEXIST', 'ENAMETOOLONG', 'ELOOP'].includes(systemCode(error) ?? '')) throw error;
}
