/**
 * The files beneath every room, as a port: the real one is the kernel's, the ones in tests fail, shorten, reorder, forget and record.
 * Every call is asynchronous, so that no thread of ours waits for a disk; callers keep no more than two calls outstanding,
 * because libuv has four threads for everything and a stuck disk holds each one it is given. But for those whose names end in `Now`: they are
 * for a folder in memory, and for a name that the kernel remembers, where nothing waits but the queue behind a stuck disk.
 */
import * as fs from 'node:fs';
import { dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import { systemCode } from '../errors/agent-error.ts';

/**
 * `read`: must exist. `update`: must exist, read and write. `create`: must not exist. `replace`: made, or emptied when it exists.
 * `keep`: made when it does not exist, read and write. None but `read` with `follow` goes through a link in the last step of the path.
 */
export type OpenMode = 'read' | 'update' | 'create' | 'replace' | 'keep';

export interface OpenFile {
  /** Reads up to `into.length` bytes from `position`; returns how many there were, 0 at the end. */
  read(into: Uint8Array, position: number): Promise<number>;
  /** Writes all of `bytes`, or rejects. */
  write(bytes: Uint8Array, position: number): Promise<void>;
  /** Once it resolves, what was written survives a power cut, and so does the file's size. */
  datasync(): Promise<void>;
  /** In bytes. */
  size(): Promise<number>;
  truncate(bytes: number): Promise<void>;
  close(): Promise<void>;
}

export interface OpenOptions {
  /** Each write is durable when it resolves, as if `datasync` followed: one call in place of two. */
  readonly synced?: boolean;
  /** Permissions of a file that is written, whatever the umask; default: 0640 when it is made, unchanged when it exists. */
  readonly mode?: number;
  /** Goes through links, as a person's own files may be; only for `read`. */
  readonly follow?: boolean;
}

export interface FileFacts {
  readonly kind: 'file' | 'folder' | 'link' | 'other';
  readonly bytes: number;
  /** Permission bits. */
  readonly mode: number;
}

export interface Files {
  /** Opens a regular file; anything else (a pipe, a device, a folder) is refused with EINVAL and never waited for. */
  open(path: string, mode: OpenMode, options?: OpenOptions): Promise<OpenFile>;
  /** Names in a folder, in no particular order. */
  list(folder: string): Promise<readonly string[]>;
  /** Returns the facts of the path itself, not of a link's target; undefined when there is nothing. */
  facts(path: string): Promise<FileFacts | undefined>;
  chmod(path: string, mode: number): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** A file or a link. */
  unlink(path: string): Promise<void>;
  /** An empty folder. */
  removeFolder(path: string): Promise<void>;
  /** Makes a folder and its parents, durably; one that exists stays as it is. Default mode 0750. */
  makeFolder(path: string, mode?: number): Promise<void>;
  /** A symbolic link, which must not exist. */
  link(target: string, path: string): Promise<void>;
  /** Returns the target of a link; undefined when there is no link. */
  readLink(path: string): Promise<string | undefined>;
  /** Makes creations, renames and unlinks in a folder survive a power cut. */
  syncFolder(path: string): Promise<void>;
  /** Returns the bytes that an unprivileged process may still use of the file system. */
  freeBytes(folder: string): Promise<number>;
  /** Tells if a path leads to anything, links followed. @throws the fault when that cannot be told. */
  isThereNow(path: string): boolean;
  /** Replaces a few bytes before it returns, and makes the folder they lie in: they survive this process, not a power cut. */
  writeNow(path: string, content: string): void;
  /** Removes a file before it returns; nothing there is no error. */
  unlinkNow(path: string): void;
}

const { O_RDONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_DSYNC } = fs.constants;
const FLAGS: Readonly<Record<OpenMode, number>> = {
  read: O_RDONLY,
  update: O_RDWR,
  create: O_RDWR | O_CREAT | O_EXCL,
  replace: O_RDWR | O_CREAT | O_TRUNC,
  keep: O_RDWR | O_CREAT,
};
/** The group may read: the command line of a technician. */
const FILE_MODE = 0o640;
const FOLDER_MODE = 0o750;
const PERMISSIONS = 0o7777;

// Callbacks on a descriptor take half the time of a FileHandle's promises, and a commit is two of them.
const openFd = promisify(fs.open);
const closeFd = promisify(fs.close);
const datasyncFd = promisify(fs.fdatasync);
const syncFd = promisify(fs.fsync);
const statFd = promisify(fs.fstat);
const chmodFd = promisify(fs.fchmod);
const truncateFd = promisify(fs.ftruncate);

/** The machine's files. */
export const systemFiles: Files = {
  open: openRegular,
  list: (folder) => fs.promises.readdir(folder),
  facts: async (path) => {
    const found = await fs.promises.lstat(path).catch(undefinedWhenMissing);
    return found === undefined ? undefined : { kind: kindOf(found), bytes: found.size, mode: found.mode & PERMISSIONS };
  },
  chmod: (path, mode) => fs.promises.chmod(path, mode),
  rename: (from, to) => fs.promises.rename(from, to),
  unlink: (path) => fs.promises.unlink(path),
  removeFolder: (path) => fs.promises.rmdir(path),
  makeFolder: makeFolders,
  link: (target, path) => fs.promises.symlink(target, path),
  readLink: (path) => fs.promises.readlink(path).catch(() => undefined),
  syncFolder,
  freeBytes: async (folder) => {
    const { bavail, bsize } = await fs.promises.statfs(folder);
    return bavail * bsize;
  },
  isThereNow: (path) => {
    try {
      fs.statSync(path);
      return true;
    } catch (error) {
      if (isMissing(error) || systemCode(error) === 'ENOTDIR') return false;
      throw error;
    }
  },
  writeNow: (path, content) => {
    fs.mkdirSync(dirname(path), { recursive: true, mode: FOLDER_MODE });
    const fd = fs.openSync(path, FLAGS.replace | O_NOFOLLOW | O_NONBLOCK, FILE_MODE);
    try {
      fs.writeFileSync(fd, content);
    } finally {
      fs.closeSync(fd);
    }
  },
  unlinkNow: (path) => fs.rmSync(path, { force: true }),
};

/** Makes a folder and its parents on this machine; what it holds is for the owner and the group to enter. */
export function makeFolder(path: string, mode = 0o750): Promise<void> {
  return systemFiles.makeFolder(path, mode);
}

async function syncFolder(path: string): Promise<void> {
  const fd = await openFd(path, O_RDONLY | O_DIRECTORY);
  try {
    await syncFd(fd);
  } finally {
    await closeFd(fd);
  }
}

async function makeFolders(path: string, mode = FOLDER_MODE): Promise<void> {
  const first = await fs.promises.mkdir(path, { recursive: true, mode });
  if (first === undefined) return;
  for (let made = resolve(path); made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made));
}

async function openRegular(path: string, mode: OpenMode, options: OpenOptions = {}): Promise<OpenFile> {
  const follow = options.follow === true && mode === 'read' ? 0 : O_NOFOLLOW;
  // Without O_NONBLOCK opening a pipe waits for its other end; regular files do not know the flag.
  const fd = await openFd(
    path,
    FLAGS[mode] | follow | O_NONBLOCK | (options.synced === true ? O_DSYNC : 0),
    options.mode ?? FILE_MODE,
  );
  try {
    if (!(await statFd(fd)).isFile())
      throw Object.assign(new Error(`${path} is not a regular file`), { code: 'EINVAL' });
    if (options.mode !== undefined && mode !== 'read') await chmodFd(fd, options.mode);
  } catch (error) {
    await closeFd(fd);
    throw error;
  }
  return fileOn(fd);
}

function fileOn(fd: number): OpenFile {
  return {
    read: (into, position) =>
      new Promise((resolve, reject) => {
        fs.read(fd, into, 0, into.length, position, (error, bytes) =>
          error === null ? resolve(bytes) : reject(error),
        );
      }),
    // The kernel may take less than all, on a full disk for example; the next call then says why.
    write: (bytes, position) =>
      new Promise((resolve, reject) => {
        const step = (from: number): void => {
          fs.write(fd, bytes, from, bytes.length - from, position + from, (error, written) => {
            if (error !== null) reject(error);
            else if (from + written < bytes.length) step(from + written);
            else resolve();
          });
        };
        step(0);
      }),
    datasync: () => datasyncFd(fd),
    size: async () => (await statFd(fd)).size,
    truncate: (bytes) => truncateFd(fd, bytes),
    close: () => closeFd(fd),
  };
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

/** Tells if a path may lead to anything; a fault counts as yes. */
export function mayBeThereNow(files: Pick<Files, 'isThereNow'>, path: string): boolean {
  try {
    return files.isThereNow(path);
  } catch {
    return true;
  }
}

/** For a call that may find nothing there. */
export function undefinedWhenMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}

/** True when a fault means that the data may be lost; too many open files, memory or permissions are passing faults. */
export function isLost(error: unknown): boolean {
  const code = systemCode(error);
  return code === 'EIO' || code === 'EUCLEAN' || code === 'EBADMSG';
}

function kindOf(found: fs.Stats): FileFacts['kind'] {
  if (found.isFile()) return 'file';
  if (found.isDirectory()) return 'folder';
  return found.isSymbolicLink() ? 'link' : 'other';
}
