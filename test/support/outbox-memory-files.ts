/**
 * A disk in memory that can do what disks do: lose what was not synced, keep some sectors of a write and not others, fail, fill up,
 * and hang. What a crash leaves is chosen by the caller's random numbers.
 */
import type { FileLayer, OpenFile, OpenMode, OpenOptions } from '../../src/outbox/file-layer.ts';

/** Disks keep or lose whole sectors. */
const SECTOR_BYTES = 512;

interface Write {
  readonly position: number;
  readonly bytes: Uint8Array;
}

/** A file's content as the process sees it, as it would be after a power cut, and what lies between. */
class Content {
  current = Buffer.alloc(0);
  durable = Buffer.alloc(0);
  pending: Write[] = [];

  write({ position, bytes }: Write): void {
    this.current = patched(this.current, position, bytes);
    this.pending.push({ position, bytes: Uint8Array.from(bytes) });
  }

  sync(): void {
    this.durable = Buffer.from(this.current);
    this.pending = [];
  }

  truncate(bytes: number): void {
    this.current = Buffer.from(this.current.subarray(0, bytes));
    this.pending = [];
    this.durable = Buffer.from(this.durable.subarray(0, bytes));
  }
}

export type Operation = 'open' | 'read' | 'write' | 'sync' | 'rename' | 'unlink' | 'list' | 'statfs';
export interface Faults {
  /** Asked before each operation; a code makes it fail. `short` lets half of a write through first. */
  readonly fail?: (operation: Operation, path: string) => { readonly code: string; readonly short?: boolean } | undefined;
  /** Awaited before each operation. */
  readonly delay?: (operation: Operation, path: string) => Promise<void> | undefined;
}

export class MemoryFiles implements FileLayer {
  faults: Faults = {};
  /** A build that forgets to sync: everything claims to be durable and nothing is. */
  ignoreSync = false;
  /** What the disk holds at most. */
  capacityBytes = Number.POSITIVE_INFINITY;
  #names = new Map<string, Content>();
  #durableNames = new Map<string, Content>();
  #folders = new Set<string>();

  get usedBytes(): number {
    let sum = 0;
    for (const { current } of this.#names.values()) sum += current.length;
    return sum;
  }

  get paths(): readonly string[] {
    return [...this.#names.keys()].sort();
  }

  contentOf(path: string): Buffer {
    return Buffer.from(this.#find(path).current);
  }

  put(path: string, bytes: Uint8Array): void {
    const content = new Content();
    content.current = Buffer.from(bytes);
    content.sync();
    this.#names.set(path, content);
    this.#durableNames.set(path, content);
  }

  /** The power goes: what was not synced stays sector by sector, as `keeps` decides. The process' own view is gone too. */
  cutPower(keeps: () => boolean): void {
    if (keeps()) this.#durableNames = new Map(this.#names);
    for (const content of new Set([...this.#durableNames.values(), ...this.#names.values()])) {
      let left = Buffer.from(content.durable);
      for (const { position, bytes } of content.pending) {
        for (let from = 0; from < bytes.length; ) {
          const to = Math.min(bytes.length, from + SECTOR_BYTES - ((position + from) % SECTOR_BYTES));
          if (keeps()) left = patched(left, position + from, bytes.subarray(from, to));
          from = to;
        }
      }
      content.current = left;
      content.sync();
    }
    this.#names = new Map(this.#durableNames);
  }

  async open(path: string, mode: OpenMode, options?: OpenOptions): Promise<OpenFile> {
    await this.#check('open', path);
    let content = this.#names.get(path);
    if (mode === 'create' && content !== undefined) throw fault('EEXIST', path);
    if ((mode === 'read' || mode === 'update') && content === undefined) throw fault('ENOENT', path);
    if (content === undefined || mode === 'replace') {
      content = new Content();
      this.#names.set(path, content);
    }
    return this.#opened(path, content, options?.synced === true);
  }

  async list(folder: string): Promise<readonly string[]> {
    await this.#check('list', folder);
    const inside = (path: string): string[] =>
      path.startsWith(`${folder}/`) ? [path.slice(folder.length + 1).split('/')[0] as string] : [];
    const names = new Set([...this.#names.keys(), ...this.#folders].flatMap(inside));
    if (names.size === 0 && !this.#folders.has(folder)) throw fault('ENOENT', folder);
    return [...names];
  }

  async size(path: string): Promise<number> {
    return this.#find(path).current.length;
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#check('rename', from);
    this.#names.set(to, this.#find(from));
    this.#names.delete(from);
  }

  async unlink(path: string): Promise<void> {
    await this.#check('unlink', path);
    this.#find(path);
    this.#names.delete(path);
  }

  async makeFolder(path: string): Promise<void> {
    this.#folders.add(path);
  }

  async syncFolder(path: string): Promise<void> {
    await this.#check('sync', path);
    if (!this.ignoreSync) this.#durableNames = new Map(this.#names);
  }

  async freeBytes(folder: string): Promise<number> {
    await this.#check('statfs', folder);
    return Math.max(0, this.capacityBytes - this.usedBytes);
  }

  #opened(path: string, content: Content, synced: boolean): OpenFile {
    const sync = (): void => {
      if (!this.ignoreSync) content.sync();
    };
    return {
      read: async (into, position) => {
        await this.#check('read', path);
        const part = content.current.subarray(position, position + into.length);
        into.set(part);
        return part.length;
      },
      write: async (bytes, position) => {
        await this.faults.delay?.('write', path);
        const failure = this.faults.fail?.('write', path) ?? this.#fullness(content, position + bytes.length);
        if (failure !== undefined) {
          if (failure.short === true) content.write({ position, bytes: bytes.subarray(0, bytes.length >> 1) });
          throw fault(failure.code, path);
        }
        content.write({ position, bytes });
        if (synced) sync();
      },
      datasync: async () => {
        await this.#check('sync', path);
        sync();
      },
      size: async () => content.current.length,
      truncate: async (bytes) => content.truncate(bytes),
      close: async () => {},
    };
  }

  #fullness(content: Content, end: number): { readonly code: string; readonly short: boolean } | undefined {
    const more = Math.max(0, end - content.current.length);
    return this.usedBytes + more > this.capacityBytes ? { code: 'ENOSPC', short: true } : undefined;
  }

  async #check(operation: Operation, path: string): Promise<void> {
    await this.faults.delay?.(operation, path);
    const failure = this.faults.fail?.(operation, path);
    if (failure !== undefined) throw fault(failure.code, path);
  }

  #find(path: string): Content {
    const content = this.#names.get(path);
    if (content === undefined) throw fault('ENOENT', path);
    return content;
  }
}

function patched(content: Buffer, position: number, bytes: Uint8Array): Buffer<ArrayBuffer> {
  const result = Buffer.alloc(Math.max(content.length, position + bytes.length));
  content.copy(result);
  result.set(bytes, position);
  return result;
}

function fault(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}
