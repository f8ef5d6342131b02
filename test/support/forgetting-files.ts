/**
 * Real files of a process that is going to be killed, as a power cut would leave them: what was written and not synced stays in this
 * process's memory, and dies with it. With `broken: 'never-syncs'` nothing is ever synced although everything says it was.
 */

import type { Files, OpenFile, OpenMode, OpenOptions } from '../../src/host/files.ts';
import { systemFiles } from '../../src/host/files.ts';

interface Write {
  readonly position: number;
  readonly bytes: Uint8Array;
}

export function forgettingFiles(options: { readonly broken?: 'never-syncs' } = {}): Files {
  const unsynced = new Map<string, Write[]>();
  return {
    ...systemFiles,
    open: async (path, mode, openOptions) => {
      const file = await openBeneath(path, mode, openOptions);
      if (mode === 'replace') unsynced.delete(path);
      const writes = unsynced.get(path) ?? [];
      unsynced.set(path, writes);
      return new ForgettingFile(file, writes, {
        synced: openOptions?.synced === true,
        never: options.broken === 'never-syncs',
      });
    },
    rename: async (from, to) => {
      const writes = unsynced.get(from);
      if (writes !== undefined) unsynced.set(to, writes);
      unsynced.delete(from);
      await systemFiles.rename(from, to);
    },
  };
}

/** The kernel's own sync would only cost time: the process dies, the machine does not. */
function openBeneath(path: string, mode: OpenMode, _options: OpenOptions | undefined): Promise<OpenFile> {
  return systemFiles.open(path, mode);
}

class ForgettingFile implements OpenFile {
  readonly #file: OpenFile;
  readonly #writes: Write[];
  readonly #behaviour: { readonly synced: boolean; readonly never: boolean };

  constructor(file: OpenFile, writes: Write[], behaviour: { readonly synced: boolean; readonly never: boolean }) {
    this.#file = file;
    this.#writes = writes;
    this.#behaviour = behaviour;
  }

  async read(into: Uint8Array, position: number): Promise<number> {
    let read = await this.#file.read(into, position);
    for (const write of this.#writes) {
      const from = Math.max(position, write.position);
      const to = Math.min(position + into.length, write.position + write.bytes.length);
      if (from >= to) continue;
      into.set(write.bytes.subarray(from - write.position, to - write.position), from - position);
      read = Math.max(read, to - position);
    }
    return read;
  }

  async write(bytes: Uint8Array, position: number): Promise<void> {
    this.#writes.push({ position, bytes: Uint8Array.from(bytes) });
    if (this.#behaviour.synced) await this.datasync();
    else await new Promise((resolve) => setImmediate(resolve));
  }

  async datasync(): Promise<void> {
    if (this.#behaviour.never) return;
    for (const { bytes, position } of this.#writes.splice(0)) await this.#file.write(bytes, position);
  }

  async size(): Promise<number> {
    return Math.max(await this.#file.size(), ...this.#writes.map(({ position, bytes }) => position + bytes.length));
  }

  async truncate(bytes: number): Promise<void> {
    await this.datasync();
    await this.#file.truncate(bytes);
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}
