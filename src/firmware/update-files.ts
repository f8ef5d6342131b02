/**
 * Every change that an update makes to the disk goes through this, so that a test can end the process before, inside and after each
 * of them. Each call is durable once it resolves, apart from a part file's writes, which are durable after its `datasync`.
 */
import { dirname } from 'node:path';
import { readWhole, removeTreeDurably, writeDurably } from '../host/durable-file.ts';
import { type Files, type OpenFile, undefinedWhenMissing } from '../host/files.ts';

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
  /** Opens for reading and writing, each piece at its place, and makes it when needed; never through a link. */
  openPart(path: string, mode: number): Promise<OpenFile>;

  /** What follows only looks. */
  read(path: string, limitBytes?: number): Promise<Buffer | undefined>;
  readLink(path: string): Promise<string | undefined>;
  /** Opens a regular file, never through a link. */
  openPlain(path: string): Promise<OpenFile>;
  list(path: string): Promise<readonly string[]>;
  freeBytes(path: string): Promise<number>;
}

export function updateFiles(files: Files): UpdateFiles {
  return {
    write: (path, content, mode = 0o644) => writeDurably(files, path, content, { mode }),

    async rename(from, to) {
      await files.rename(from, to);
      await files.syncFolder(dirname(to));
    },

    remove: (path) => removeTreeDurably(files, path),

    async makeFolder(path, mode) {
      await files.makeFolder(path, mode);
      await files.chmod(path, mode);
      await files.syncFolder(dirname(path));
    },

    syncFolder: (path) => files.syncFolder(path),

    async link(target, path) {
      const temporary = `${path}.tmp`;
      await files.unlink(temporary).catch(undefinedWhenMissing);
      await files.link(target, temporary);
      await files.rename(temporary, path);
      await files.syncFolder(dirname(path));
    },

    openPart: (path, mode) => files.open(path, 'keep', { mode }),
    read: (path, limitBytes) => readWhole(files, path, limitBytes === undefined ? {} : { limitBytes }),
    readLink: (path) => files.readLink(path),
    openPlain: (path) => files.open(path, 'read'),
    list: (path) => files.list(path).catch(() => []),
    freeBytes: (path) => files.freeBytes(path),
  };
}
