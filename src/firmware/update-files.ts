/**
 * Every change that an update makes to the disk goes through this door, so that a test can end the process before, inside and after each
 * of them. Each call is durable once it resolves, apart from a part file's writes, which are durable after its `sync`.
 */
import { constants, write } from 'node:fs';
import { chmod, type FileHandle, lstat, open, readdir, readlink, rename, rm, statfs, symlink, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder, readWhole, syncFolder, writeDurably } from '../host/durable-file.ts';

/** A file that is written piece by piece, each at its place. */
export interface PartFile {
  write(bytes: Uint8Array, at: number): Promise<void>;
  truncate(bytes: number): Promise<void>;
  sync(): Promise<void>;
  /** For reading what was written; never to be written through. */
  readonly handle: FileHandle;
  close(): Promise<void>;
}

export interface UpdateFiles {
  /** Whole, or absent or as before. Default mode 0644: the guard's state is for all to read. */
  write(path: string, content: string | Uint8Array, mode?: number): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Files and folders; nothing there is no error. */
  remove(path: string): Promise<void>;
  makeFolder(path: string, mode: number): Promise<void>;
  /** Makes the names in a folder durable. */
  syncFolder(path: string): Promise<void>;
  /** Makes `path` a symbolic link to `target` in one step, whatever it was. */
  link(target: string, path: string): Promise<void>;
  /** Opens for reading and writing and makes it when needed; never through a link. */
  openPart(path: string, mode: number): Promise<PartFile>;

  /** What follows only looks. */
  read(path: string, limitBytes?: number): Promise<Buffer | undefined>;
  readLink(path: string): Promise<string | undefined>;
  /** Opens a regular file, never through a link. */
  openPlain(path: string): Promise<FileHandle>;
  list(path: string): Promise<string[]>;
  isFolder(path: string): Promise<boolean>;
  freeBytes(path: string): Promise<number>;
}

/** The machine's disk. */
export const systemFiles: UpdateFiles = {
  write: (path, content, mode = 0o644) => writeDurably(path, content, { mode }),

  async rename(from, to) {
    await rename(from, to);
    await syncFolder(dirname(to));
  },

  async remove(path) {
    await rm(path, { recursive: true, force: true });
    await syncFolder(dirname(path)).catch(ignoreMissing);
  },

  async makeFolder(path, mode) {
    await makeFolder(path, mode);
    await chmod(path, mode);
    await syncFolder(dirname(path));
  },

  syncFolder: (path) => syncFolder(path),

  async link(target, path) {
    const temporary = `${path}.tmp`;
    await unlink(temporary).catch(ignoreMissing);
    await symlink(target, temporary);
    await rename(temporary, path);
    await syncFolder(dirname(path));
  },

  async openPart(path, mode) {
    const handle = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, mode);
    await handle.chmod(mode);
    return {
      handle,
      async write(bytes, at) {
        for (let done = 0; done < bytes.length; ) done += await writeAt(handle.fd, bytes.subarray(done), at + done);
      },
      truncate: (bytes) => handle.truncate(bytes),
      sync: () => handle.datasync(),
      close: () => handle.close(),
    };
  },

  read: (path, limitBytes) => readWhole(path, limitBytes),

  readLink: (path) => readlink(path).catch(() => undefined),

  async openPlain(path) {
    const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if ((await handle.stat()).isFile()) return handle;
    await handle.close();
    throw new Error(`${path} is no plain file`);
  },

  list: (path) => readdir(path).catch(() => []),

  isFolder: async (path) => (await lstat(path).catch(() => undefined))?.isDirectory() === true,

  async freeBytes(path) {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  },
};

/** By descriptor: a FileHandle's own write makes so much garbage per call that collecting it costs more than an image's hash. */
function writeAt(fd: number, bytes: Uint8Array, at: number): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, 0, bytes.length, at, (error, written) => (error === null ? resolve(written) : reject(error)));
  });
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
