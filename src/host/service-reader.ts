/** Tells root, who may read everything, what the service may read. */
import { realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { MachineFacts, MachineUser } from './machine-facts.ts';

export type MayRead = (path: string) => Promise<boolean>;

const SERVICE_USER = 'turnstone';
const READ = 4;
const ENTER = 1;

/** Undefined where the question does not arise: another user asks, who is told by the kernel, or the service has no user here. */
export async function serviceMayRead(
  machine: Pick<MachineFacts, 'user' | 'file'>,
  isRoot = process.geteuid?.() === 0,
): Promise<MayRead | undefined> {
  const user = isRoot ? await machine.user(SERVICE_USER) : undefined;
  if (user === undefined || user.uid === 0) return undefined;
  return async (path) => {
    const real = await realpath(path).catch(() => path);
    for (let at = real; ; at = dirname(at)) {
      const found = await machine.file(at);
      // Nothing there is told as that.
      if (found !== undefined && (bitsFor(user, found) & (at === real ? READ : ENTER)) === 0) return false;
      if (at === dirname(at)) return true;
    }
  };
}

function bitsFor(
  { uid, groupIds }: MachineUser,
  file: { readonly uid: number; readonly gid: number; readonly mode: number },
): number {
  if (uid === file.uid) return file.mode >> 6;
  return groupIds.includes(file.gid) ? file.mode >> 3 : file.mode;
}
