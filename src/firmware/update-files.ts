/**
 * Every change that an update makes to the disk goes through this, so that a test can end the process before, inside and after each
 * of them. Each call is durable once it resolves, apart from a part file's writes, which are durable after its `datasync`.
 */
import { dirname } from 'node:path';
import { type Files, type OpenFile, undefinedWhenMissing } from '../host/files.ts';
import { readWhole } from '../host/whole-file.ts';
import { removeTreeDurably, writeDurably } from '../store/durable-file.ts';

export type UpdateFiles = ReturnType<typeof updateFiles>;

export function updateFiles(files: Files) {
  return {
    /** Whole, or absent or as before. Default mode 0644: the guard's state is for all to read. */
    write: (path: string, content: string | Uint8Array, mode = 0o644): Promise<void> =>
      writeDurably(files, path, content, { mode }),

    async rename(from: string, to: string): Promise<void> {
      await files.rename(from, to);
      await files.syncFolder(dirname(to));
    },

    /** Files and folders; nothing there is no error. */
    remove: (path: string): Promise<void> => removeTreeDurably(files, path),

    async makeFolder(path: string, mode: number): Promise<void> {
      await files.makeFolder(path, mode);
      await files.chmod(path, mode);
      await files.syncFolder(dirname(path));
    },

    /** Makes the names in a folder durable. */
    syncFolder: (path: string): Promise<void> => files.syncFolder(path),

    /** Makes `path` a symbolic link to `target` in one step, whatever it was. */
    async link(target: string, path: string): Promise<void> {
      const temporary = `${path}.tmp`;
      await files.unlink(temporary).catch(undefinedWhenMissing);
      await files.link(target, temporary);
      await files.rename(temporary, path);
      await files.syncFolder(dirname(path));
    },

    /** Opens for reading and writing, each piece at its place, and makes it when needed; never through a link. */
    openPart: (path: string, mode: number): Promise<OpenFile> => files.open(path, 'keep', { mode }),

    // The rest only looks.
    read: (path: string, limitBytes?: number): Promise<Buffer | undefined> => readWhole(files, path, { limitBytes }),
    readLink: (path: string): Promise<string | undefined> => files.readLink(path),
    /** Opens a regular file, never through a link. */
    openPlain: (path: string): Promise<OpenFile> => files.open(path, 'read'),
    list: (path: string): Promise<readonly string[]> => files.list(path).catch(() => []),
    freeBytes: (path: string): Promise<number> => files.freeBytes(path),
  };
}
