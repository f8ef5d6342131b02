/**
 * A disk whose user can be killed: every change goes through to the real one and is recorded; at the chosen one the process dies before
 * it, or in the midst of it (what a torn write leaves). From then on nothing of that process reaches the disk.
 */
import { open, symlink } from 'node:fs/promises';
import { relative } from 'node:path';
import type { UpdateFiles } from '../../src/firmware/update-files.ts';
import type { OpenFile } from '../../src/host/files.ts';
import { systemUpdateFiles } from './system-update-files.ts';

export class Killed extends Error {}

export interface Death {
  /** Index of the change at which to die. */
  readonly at: number;
  /** `inside`: the change has begun and left what such a change leaves. */
  readonly when: 'before' | 'inside';
}

export class MortalFiles {
  /** Changes in order: the kind and the path below the root. */
  readonly changes: string[] = [];
  /** Resolves at death. */
  readonly died: Promise<void>;
  readonly files: UpdateFiles;
  readonly #root: string;
  readonly #death: Death | undefined;
  #die!: () => void;
  isDead = false;

  constructor(root: string, death?: Death) {
    this.#root = root;
    this.#death = death;
    this.died = new Promise((resolve) => {
      this.#die = resolve;
    });
    this.files = this.#wrap();
  }

  /** A change that is not the disk's, like starting a service; counted and mortal all the same. */
  async change<T>(
    name: string,
    path: string,
    act: () => Promise<T>,
    inside: () => Promise<void> = async () => {},
  ): Promise<T> {
    this.expectAlive();
    const index = this.changes.push(`${name} ${relative(this.#root, path)}`) - 1;
    if (this.#death?.at === index) {
      if (this.#death.when === 'inside') await inside();
      this.kill();
    }
    this.expectAlive();
    return act();
  }

  /** Dies now. */
  kill(): void {
    this.isDead = true;
    this.#die();
  }

  expectAlive(): void {
    if (this.isDead) throw new Killed('the process is gone');
  }

  #wrap(): UpdateFiles {
    const look =
      <A extends unknown[], R>(act: (...args: A) => Promise<R>) =>
      async (...args: A): Promise<R> => {
        this.expectAlive();
        return act(...args);
      };
    return {
      write: (path, content, mode) =>
        this.change(
          'write',
          path,
          () => systemUpdateFiles.write(path, content, mode),
          () => half(`${path}.tmp`, content),
        ),
      rename: (from, to) => this.change('rename', to, () => systemUpdateFiles.rename(from, to)),
      remove: (path) => this.change('remove', path, () => systemUpdateFiles.remove(path)),
      makeFolder: (path, mode) => this.change('folder', path, () => systemUpdateFiles.makeFolder(path, mode)),
      syncFolder: (path) => this.change('sync', path, () => systemUpdateFiles.syncFolder(path)),
      link: (target, path) =>
        this.change(
          'link',
          path,
          () => systemUpdateFiles.link(target, path),
          () => symlink(target, `${path}.tmp`).catch(() => undefined),
        ),
      openPart: (path, mode) =>
        this.change('open', path, async () => this.#part(path, await systemUpdateFiles.openPart(path, mode))),
      read: look(systemUpdateFiles.read),
      readLink: look(systemUpdateFiles.readLink),
      openPlain: look(systemUpdateFiles.openPlain),
      list: look(systemUpdateFiles.list),
      freeBytes: look(systemUpdateFiles.freeBytes),
    };
  }

  #part(path: string, part: OpenFile): OpenFile {
    return {
      read: (into, at) => part.read(into, at),
      size: () => part.size(),
      write: (bytes, at) =>
        this.change(
          'part',
          path,
          () => part.write(bytes, at),
          () => part.write(bytes.subarray(0, bytes.length / 2), at),
        ),
      truncate: (bytes) => this.change('truncate', path, () => part.truncate(bytes)),
      datasync: () => this.change('sync', path, () => part.datasync()),
      close: () => part.close(),
    };
  }
}

async function half(path: string, content: string | Uint8Array): Promise<void> {
  const bytes = Buffer.from(content);
  const file = await open(path, 'w');
  await file.write(bytes.subarray(0, bytes.length / 2)).finally(() => file.close());
}
