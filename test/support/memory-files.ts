/**
 * A disk in memory that can do what disks do: lose what was not synced, keep some sectors of a write and not others, forget names that no
 * folder sync made durable, fail, fill up, and hang. What a crash leaves is chosen by the caller's random numbers.
 */
import { dirname } from 'node:path';
import type { FileFacts, Files, OpenFile, OpenMode, OpenOptions } from '../../src/host/files.ts';
import { Content } from './memory-content.ts';

/** Nobody asks so much of a disk without letting anything else happen, unless it is for ever. */
const MAX_IN_A_TURN = 50_000;
/** Change of a name since the last power cut; it becomes durable with a sync of the folder it stands in. */
interface NameChange {
  readonly folders: readonly string[];
  readonly apply: (names: Map<string, Content>) => void;
}

export type Operation =
  | 'open'
  | 'read'
  | 'write'
  | 'sync'
  | 'sync-folder'
  | 'truncate'
  | 'rename'
  | 'unlink'
  | 'list'
  | 'statfs'
  | 'facts';
/** Which bytes of a file are read or written, the end excluded. */
export interface Span {
  readonly from: number;
  readonly to: number;
}
/** `short` lets half of a write through first. */
export interface Failure {
  readonly code: string;
  readonly short?: boolean;
}
export interface Faults {
  /** Asked before each operation; a code makes it fail. */
  readonly fail?: (operation: Operation, path: string, span?: Span) => Failure | undefined;
  /** A sync that says it was done and was not. */
  readonly forget?: (operation: 'sync' | 'sync-folder', path: string) => boolean;
  /** Awaited before each operation. */
  readonly delay?: (operation: Operation, path: string) => Promise<void> | undefined;
}

/** When the power goes in an operation that changes something: before it, when it is done and not synced, or when it is done. */
export type CutAt = 'before' | 'inside' | 'after';

export interface MemoryFilesOptions {
  /** Folders that a power cut empties, and that no disk stands behind. */
  readonly memoryFolders?: readonly string[];
  /** True when `changes` is kept; default: yes. */
  readonly keepsChanges?: boolean;
}

export class MemoryFiles implements Files {
  faults: Faults = {};
  /** A build that forgets to sync: everything claims to be durable and nothing is. */
  ignoreSync = false;
  /** Size of the disk. */
  capacityBytes = Number.POSITIVE_INFINITY;
  /** Bytes that others have taken of it. */
  foreignBytes = 0;
  /** True when faults were ever added. */
  wasFaulty = false;
  /** Every operation that changed something, in order: `write /state/x`. */
  readonly changes: string[] = [];
  readonly #options: MemoryFilesOptions;
  /** Beside `faults`, each until it is taken away. */
  readonly #layers = new Set<Faults>();
  #cut: { changesLeft: number; readonly at: CutAt; readonly act: () => void } | undefined;
  #inThisTurn = 0;
  #names = new Map<string, Content>();
  #durableNames = new Map<string, Content>();
  #nameChanges: NameChange[] = [];
  #folders = new Set<string>();

  constructor(options: MemoryFilesOptions = {}) {
    this.#options = options;
  }

  get usedBytes(): number {
    let sum = 0;
    for (const { length } of this.#names.values()) sum += length;
    return sum;
  }

  get paths(): readonly string[] {
    return [...this.#names.keys()].sort();
  }

  contentOf(path: string): Buffer {
    return Buffer.from(this.#find(path).current);
  }

  put(path: string, bytes: Uint8Array | string): void {
    const content = new Content();
    content.write(0, Buffer.from(bytes));
    content.sync();
    this.#names.set(path, content);
    this.#durableNames.set(path, content);
  }

  /** As if it had never been. */
  remove(path: string): void {
    this.#names.delete(path);
    this.#durableNames.delete(path);
  }

  /** These faults come too, until the returned function is called; of several that fail an operation the first one is seen. */
  addFaults(faults: Faults): () => void {
    this.#layers.add(faults);
    this.wasFaulty = true;
    return () => this.#layers.delete(faults);
  }

  /** At the so-many-th change from now on, 1 for the next, `act` is called, and that change ends with a fault; it takes the place of one before. */
  cutAt(changes: number, at: CutAt, act: () => void): () => void {
    const cut = { changesLeft: changes, at, act };
    this.#cut = cut;
    return () => {
      if (this.#cut === cut) this.#cut = undefined;
    };
  }

  /** The power goes: what was not synced stays sector by sector, name by name, as `keeps` decides. The process' own view is gone too. */
  cutPower(keeps: () => boolean): void {
    for (const change of this.#nameChanges) {
      // A journal keeps what was done to names in order, up to some point.
      if (!keeps()) break;
      change.apply(this.#durableNames);
    }
    this.#nameChanges = [];
    for (const content of new Set(this.#durableNames.values())) content.lose(keeps);
    this.#names = new Map(this.#durableNames);
  }

  async open(path: string, mode: OpenMode, options: OpenOptions = {}): Promise<OpenFile> {
    await this.#check('open', path);
    let content = this.#names.get(path);
    if (content?.target !== undefined) throw fault('ELOOP', path);
    if (mode === 'create' && content !== undefined) throw fault('EEXIST', path);
    if ((mode === 'read' || mode === 'update') && content === undefined) throw fault('ENOENT', path);
    if (content === undefined) {
      const made = new Content();
      content = made;
      this.#alter(`create ${path}`, () => this.#name(path, made));
    } else if (mode === 'replace') {
      const emptied = content;
      this.#alter(`truncate ${path}`, () => emptied.truncate(0));
    }
    if (options.mode !== undefined && mode !== 'read') content.mode = options.mode;
    return this.#opened(path, content, options.synced === true);
  }

  async list(folder: string): Promise<readonly string[]> {
    await this.#check('list', folder);
    const inside = (path: string): string[] =>
      path.startsWith(`${folder}/`) ? [path.slice(folder.length + 1).split('/')[0] as string] : [];
    const names = new Set([...this.#names.keys(), ...this.#folders].flatMap(inside));
    if (names.size === 0 && !this.#folders.has(folder)) throw fault('ENOENT', folder);
    return [...names];
  }

  async facts(path: string): Promise<FileFacts | undefined> {
    await this.#check('facts', path);
    const content = this.#names.get(path);
    if (content !== undefined)
      return { kind: content.target === undefined ? 'file' : 'link', bytes: content.length, mode: content.mode };
    const isFolder = this.#folders.has(path) || this.#holdsNames(path);
    return isFolder ? { kind: 'folder', bytes: 0, mode: 0o750 } : undefined;
  }

  async chmod(path: string, mode: number): Promise<void> {
    const content = this.#names.get(path);
    if (content !== undefined) content.mode = mode;
    else if ((await this.facts(path)) === undefined) throw fault('ENOENT', path);
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#check('rename', from);
    const isFolder = (await this.facts(from))?.kind === 'folder';
    const content = isFolder ? undefined : this.#find(from);
    this.#alter(`rename ${to}`, () => {
      this.#change([dirname(from), dirname(to)], (names) => {
        if (content !== undefined) {
          names.set(to, content);
          names.delete(from);
        } else {
          // A folder's content goes along as far as its names are there; a name that no sync made durable is lost under either.
          for (const [path, one] of [...names]) {
            if (!path.startsWith(`${from}/`)) continue;
            names.set(`${to}${path.slice(from.length)}`, one);
            names.delete(path);
          }
        }
      });
      for (const folder of [...this.#folders].filter((one) => isFolder && `${one}/`.startsWith(`${from}/`))) {
        this.#folders.delete(folder);
        this.#folders.add(`${to}${folder.slice(from.length)}`);
      }
    });
  }

  async unlink(path: string): Promise<void> {
    await this.#check('unlink', path);
    this.#find(path);
    this.#alter(`unlink ${path}`, () => this.#change([dirname(path)], (names) => names.delete(path)));
  }

  async removeFolder(path: string): Promise<void> {
    if (this.#holdsNames(path)) throw fault('ENOTEMPTY', path);
    this.#folders.delete(path);
  }

  async makeFolder(path: string): Promise<void> {
    await this.#check('open', path);
    for (let at = path; !this.#folders.has(at); at = dirname(at)) this.#folders.add(at);
  }

  async link(target: string, path: string): Promise<void> {
    await this.#check('open', path);
    if (this.#names.has(path)) throw fault('EEXIST', path);
    const content = new Content();
    content.target = target;
    this.#alter(`link ${path}`, () => this.#name(path, content));
  }

  async readLink(path: string): Promise<string | undefined> {
    return this.#names.get(path)?.target;
  }

  async syncFolder(path: string): Promise<void> {
    await this.#check('sync-folder', path);
    this.#alter(
      `sync-folder ${path}`,
      () => {},
      () => {
        if (this.#forgets('sync-folder', path)) return;
        this.#nameChanges = this.#nameChanges.filter((change) => {
          if (!change.folders.includes(path)) return true;
          change.apply(this.#durableNames);
          return false;
        });
      },
    );
  }

  async freeBytes(folder: string): Promise<number> {
    await this.#check('statfs', folder);
    return Math.max(0, this.capacityBytes - this.foreignBytes - this.usedBytes);
  }

  isThereNow(path: string): boolean {
    const failure = this.faults.fail?.('facts', path);
    if (failure !== undefined) throw fault(failure.code, path);
    return this.#names.has(path);
  }

  /** As the kernel does it: a name that takes no bytes is there, and empty. */
  writeNow(path: string, bytes: string): void {
    this.#failNow('open', path);
    this.#alter(`write ${path}`, () => {
      const content = this.#names.get(path) ?? new Content();
      if (!this.#names.has(path)) this.#name(path, content);
      content.truncate(0);
      this.#failNow('write', path);
      content.write(0, Buffer.from(bytes));
    });
  }

  unlinkNow(path: string): void {
    this.#failNow('unlink', path);
    if (!this.#names.has(path)) return;
    this.#alter(`unlink ${path}`, () => this.#change([dirname(path)], (names) => names.delete(path)));
  }

  #opened(path: string, content: Content, synced: boolean): OpenFile {
    const sync = (): void => {
      if (!this.#forgets('sync', path)) content.sync();
    };
    return {
      read: async (into, position) => {
        await this.#check('read', path, { from: position, to: position + into.length });
        const part = content.current.subarray(position, position + into.length);
        into.set(part);
        return part.length;
      },
      write: async (bytes, position) => {
        this.#countTurn();
        const span = { from: position, to: position + bytes.length };
        for (const one of this.#allFaults()) await one.delay?.('write', path);
        const failure = this.#failure('write', path, span) ?? this.#fullness(content, span.to);
        if (failure !== undefined) {
          if (failure.short === true) content.write(position, bytes.subarray(0, bytes.length >> 1));
          throw fault(failure.code, path);
        }
        this.#alter(
          `write ${path}`,
          () => content.write(position, bytes),
          () => synced && sync(),
        );
      },
      datasync: async () => {
        await this.#check('sync', path);
        this.#alter(`sync ${path}`, () => {}, sync);
      },
      size: async () => content.length,
      truncate: async (bytes) => {
        await this.#check('truncate', path);
        this.#alter(`truncate ${path}`, () => content.truncate(bytes));
      },
      close: async () => {},
    };
  }

  /** Does it and makes it durable, unless the power goes just then. */
  #alter(what: string, act: () => void, makeDurable: () => void = () => {}): void {
    if (this.#options.keepsChanges !== false) this.changes.push(what);
    const cut = this.#cut;
    if (cut === undefined || --cut.changesLeft > 0) {
      act();
      makeDurable();
      return;
    }
    this.#cut = undefined;
    if (cut.at !== 'before') act();
    if (cut.at === 'after') makeDurable();
    cut.act();
    throw fault('EIO', what);
  }

  #name(path: string, content: Content): void {
    this.#change([dirname(path)], (names) => names.set(path, content));
  }

  #change(folders: readonly string[], apply: NameChange['apply']): void {
    apply(this.#names);
    if (!folders.every((folder) => this.#isInMemory(folder))) this.#nameChanges.push({ folders, apply });
  }

  #isInMemory(folder: string): boolean {
    return this.#options.memoryFolders?.some((one) => folder === one || folder.startsWith(`${one}/`)) ?? false;
  }

  #holdsNames(folder: string): boolean {
    for (const path of this.#names.keys()) if (path.startsWith(`${folder}/`)) return true;
    return false;
  }

  #fullness(content: Content, end: number): Failure | undefined {
    if (this.capacityBytes === Number.POSITIVE_INFINITY) return undefined;
    const more = Math.max(0, end - content.length);
    return this.usedBytes + this.foreignBytes + more > this.capacityBytes ? { code: 'ENOSPC', short: true } : undefined;
  }

  #allFaults(): readonly Faults[] {
    return this.#layers.size === 0 ? [this.faults] : [this.faults, ...this.#layers];
  }

  #failure(operation: Operation, path: string, span?: Span): Failure | undefined {
    for (const { fail } of this.#allFaults()) {
      const failure = fail?.(operation, path, span);
      if (failure !== undefined) return failure;
    }
    return undefined;
  }

  #failNow(operation: Operation, path: string): void {
    const failure = this.#failure(operation, path);
    if (failure !== undefined) throw fault(failure.code, path);
  }

  #forgets(operation: 'sync' | 'sync-folder', path: string): boolean {
    return this.ignoreSync || this.#allFaults().some(({ forget }) => forget?.(operation, path) === true);
  }

  /** A disk in memory never lets others have a turn; whoever asks it for ever would never be seen to. */
  #countTurn(): void {
    if (this.#inThisTurn === 0)
      setImmediate(() => {
        this.#inThisTurn = 0;
      });
    this.#inThisTurn += 1;
    if (this.#inThisTurn > MAX_IN_A_TURN) throw new Error('the disk is asked for ever');
  }

  async #check(operation: Operation, path: string, span?: Span): Promise<void> {
    this.#countTurn();
    for (const one of this.#allFaults()) await one.delay?.(operation, path);
    const failure = this.#failure(operation, path, span);
    if (failure !== undefined) throw fault(failure.code, path);
  }

  #find(path: string): Content {
    const content = this.#names.get(path);
    if (content === undefined) throw fault('ENOENT', path);
    return content;
  }
}

function fault(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}
