/** Root's commands in folders of others: for the time of a piece of work, and back again. */
import { stat } from 'node:fs/promises';

/**
 * Does the work with the rights of a folder's owner where this process is root's and the folder somebody else's: a link that was left there
 * leads root nowhere. Nothing else of this process may be under way meanwhile.
 */
export async function asOwnerOf<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const { geteuid, seteuid, getegid, setegid, getgroups, setgroups } = process;
  if (geteuid?.() !== 0) return work();
  const owner = await stat(folder).catch(() => undefined);
  if (owner === undefined || owner.uid === 0) return work();
  const [group, groups] = [getegid?.() ?? 0, getgroups?.() ?? []];
  setgroups?.([owner.gid]);
  setegid?.(owner.gid);
  seteuid?.(owner.uid);
  try {
    return await work();
  } finally {
    seteuid?.(0);
    setegid?.(group);
    setgroups?.(groups);
  }
}
