/** One agent per state folder, and per run folder: an exclusive lock that the kernel releases when the process ends, however it ends. */
import { constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentError, retryable, systemCode } from '../errors/agent-error.ts';
import { nativeAddon } from './native-addon.ts';

/** Something that was opened and is to be closed once. */
export interface Held {
  close(): Promise<void>;
}

interface LockAddon {
  lockFile(fd: number): boolean;
}

/**
 * Takes the lock of a folder, which must exist; on a card that has become read-only too, where an agent ran before: what it holds can be sent.
 * @throws AgentError `host/already-running` (stop) when another process holds it, `host/write-failed` (retry) when the folder cannot be written.
 */
export async function takeLock(folder: string): Promise<Held> {
  const path = join(folder, 'agent.lock');
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
  const file = await open(path, flags, 0o640).catch(async (cause: unknown) => {
    const kept = systemCode(cause) === 'EROFS' ? await openAsItIs(path) : undefined;
    if (kept !== undefined) return kept;
    const remedy = systemCode(cause) === 'EACCES' ? await remedyFor(folder) : '';
    throw retryable(
      'host/write-failed',
      `cannot write in the state folder ${folder}: ${systemCode(cause)}${remedy}`,
      cause,
    );
  });
  const lock = await hold(file, folder);
  // A full disk, or one that is read-only, does not take the name; the lock holds all the same.
  await file
    .truncate(0)
    .then(() => file.write(`${process.pid}\n`))
    .catch(() => {});
  return lock;
}

/**
 * The lock, for a command that must not wait for a disk: undefined where there is none to take, or none that can be opened. Nothing is made or
 * written. @throws AgentError `host/already-running` (stop) when another process holds it.
 */
export async function takeLockIfThere(folder: string): Promise<Held | undefined> {
  const file = await openAsItIs(join(folder, 'agent.lock'));
  return file === undefined ? undefined : await hold(file, folder);
}

async function hold(file: FileHandle, folder: string): Promise<Held> {
  if (nativeAddon<LockAddon>().lockFile(file.fd)) return { close: () => file.close() };
  const holder = (await file.readFile('utf8').catch(() => '')).trim();
  await file.close();
  const who = holder === '' ? 'another agent' : `another agent (process ${holder})`;
  throw new AgentError('host/already-running', `${who} uses ${folder}`, { recovery: 'stop' });
}

function openAsItIs(path: string): Promise<FileHandle | undefined> {
  return open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => undefined);
}

/** A command that was run as root once leaves files that the service may not write. */
async function remedyFor(folder: string): Promise<string> {
  const { uid, gid } = await stat(folder).catch(() => ({ uid: undefined, gid: undefined }));
  return uid === undefined ? '' : `; something in it belongs to another user: sudo chown -R ${uid}:${gid} ${folder}`;
}
