/**
 * The files below the outbox, as a port: the real one is the kernel's, the ones in tests fail, shorten, reorder and forget.
 * Every call is asynchronous, so that no thread of ours waits for a disk; callers keep no more than two calls outstanding,
 * because libuv has four threads for everything and a stuck disk holds each one it is given.
 */
import * as fs from 'node:fs';
import { promisify } from 'node:util';

/** `read`: must exist. `update`: must exist, read and write. `create`: must not exist. `replace`: made, or emptied when it exists. */
export type OpenMode = 'read' | 'update' | 'create' | 'replace';

export interface OpenFile {
  /** Reads up to `into.length` bytes; returns how many there were. */
  read(into: Uint8Array, position: number): Promise<number>;
  /** Writes all of `bytes`, or rejects. */
  write(bytes: Uint8Array, position: number): Promise<void>;
  /** Once it resolves, what was written survives a power cut, and so does the file's size. */
  datasync(): Promise<void>;
  size(): Promise<number>;
  truncate(bytes: number): Promise<void>;
  close(): Promise<void>;
}

export interface OpenOptions {
  /** Each write is durable when it resolves, as if `datasync` followed: one call in place of two. */
  readonly synced?: boolean;
}

export interface FileLayer {
  open(path: string, mode: OpenMode, options?: OpenOptions): Promise<OpenFile>;
  /** Names in a folder, in no particular order. */
  list(folder: string): Promise<readonly string[]>;
  size(path: string): Promise<number>;
  rename(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  makeFolder(path: string): Promise<void>;
  /** Makes creations, renames and unlinks in a folder survive a power cut. */
  syncFolder(path: string): Promise<void>;
  /** What an unprivileged process may still use of the file system. */
  freeBytes(folder: string): Promise<number>;
}

const { O_RDONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC, O_DIRECTORY, O_NOFOLLOW, O_DSYNC } = fs.constants;
const FLAGS: Readonly<Record<OpenMode, number>> = {
  read: O_RDONLY | O_NOFOLLOW,
  update: O_RDWR | O_NOFOLLOW,
  create: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
  replace: O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW,
};
/** The group may read: the command line of a technician. */
const FILE_MODE = 0o640;
const FOLDER_MODE = 0o750;

// Callbacks on a descriptor take half the time of a FileHandle's promises, and a commit is two of them.
const openFd = promisify(fs.open);
const closeFd = promisify(fs.close);
const datasyncFd = promisify(fs.fdatasync);
const syncFd = promisify(fs.fsync);
const statFd = promisify(fs.fstat);
const truncateFd = promisify(fs.ftruncate);

/** The machine's files. */
export const systemFiles: FileLayer = {
  open: async (path, mode, options) =>
    new SystemFile(await openFd(path, FLAGS[mode] | (options?.synced === true ? O_DSYNC : 0), FILE_MODE)),
  list: (folder) => fs.promises.readdir(folder),
  size: async (path) => (await fs.promises.stat(path)).size,
  rename: (from, to) => fs.promises.rename(from, to),
  unlink: (path) => fs.promises.unlink(path),
  makeFolder: async (path) => void (await fs.promises.mkdir(path, { recursive: true, mode: FOLDER_MODE })),
  syncFolder: async (path) => {
    const fd = await openFd(path, O_RDONLY | O_DIRECTORY);
    try {
      await syncFd(fd);
    } finally {
      await closeFd(fd);
    }
  },
  freeBytes: async (folder) => {
    const { bavail, bsize } = await fs.promises.statfs(folder);
    return bavail * bsize;
  },
};

class SystemFile implements OpenFile {
  readonly #fd: number;

  constructor(fd: number) {
    this.#fd = fd;
  }

  read(into: Uint8Array, position: number): Promise<number> {
    return new Promise((resolve, reject) => {
      fs.read(this.#fd, into, 0, into.length, position, (error, bytes) => (error === null ? resolve(bytes) : reject(error)));
    });
  }

  /** The kernel may take less than all, on a full disk for example; the next call then says why. */
  write(bytes: Uint8Array, position: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const step = (from: number): void => {
        fs.write(this.#fd, bytes, from, bytes.length - from, position + from, (error, written) => {
          if (error !== null) reject(error);
          else if (from + written < bytes.length) step(from + written);
          else resolve();
        });
      };
      step(0);
    });
  }

  datasync(): Promise<void> {
    return datasyncFd(this.#fd);
  }

  async size(): Promise<number> {
    return (await statFd(this.#fd)).size;
  }

  truncate(bytes: number): Promise<void> {
    return truncateFd(this.#fd, bytes);
  }

  close(): Promise<void> {
    return closeFd(this.#fd);
  }
}

/** Reads a small file whole; undefined when there is none. */
export async function readAll(files: FileLayer, path: string): Promise<Uint8Array | undefined> {
  const file = await files.open(path, 'read').catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (file === undefined) return undefined;
  try {
    const bytes = Buffer.allocUnsafe(await file.size());
    return bytes.subarray(0, await file.read(bytes, 0));
  } finally {
    await file.close();
  }
}

/** Replaces a small file: whole or absent after any crash, durable when this resolves. */
export async function replaceDurably(files: FileLayer, folder: string, name: string, bytes: Uint8Array): Promise<void> {
  const temporary = `${folder}/${name}.tmp`;
  const file = await files.open(temporary, 'replace');
  try {
    await file.write(bytes, 0);
    await file.datasync();
  } finally {
    await file.close();
  }
  await files.rename(temporary, `${folder}/${name}`);
  await files.syncFolder(folder);
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
