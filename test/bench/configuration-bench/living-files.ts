/** A disk as processes see it that may be ended at any step: what one of them asks after its end never happens, and never returns. */
import type { Files, OpenFile } from '../../../src/host/files.ts';

/** A process. */
export class Life {
  readonly name: string;
  /** Resolves at its end. */
  readonly over: Promise<void>;
  isOver = false;
  #end!: () => void;

  constructor(name: string) {
    this.name = name;
    this.over = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  end(): void {
    this.isOver = true;
    this.#end();
  }

  /** Resolves when it still lives, else never. */
  async alive(): Promise<void> {
    if (this.isOver) await new Promise<never>(() => {});
  }
}

/** Told of each change, before and after it; may end the process, or let it wait. */
export interface Steps {
  readonly before: (life: Life) => void;
  readonly after: (life: Life) => Promise<void>;
}

/** Carries out a change of a process, on the disk or elsewhere, unless it ends before. */
export async function inLife<T>(life: Life, steps: Steps, act: () => Promise<T>): Promise<T> {
  await life.alive();
  steps.before(life);
  await life.alive();
  const result = await act();
  await steps.after(life);
  await life.alive();
  return result;
}

export function livingFiles(files: Files, life: Life, steps: Steps): Files {
  const change = <T>(act: () => Promise<T>): Promise<T> => inLife(life, steps, act);
  const look = async <T>(act: () => Promise<T>): Promise<T> => {
    await life.alive();
    return act();
  };
  const living = (file: OpenFile): OpenFile => ({
    read: (into, at) => look(() => file.read(into, at)),
    size: () => look(() => file.size()),
    write: (bytes, at) => change(() => file.write(bytes, at)),
    truncate: (bytes) => change(() => file.truncate(bytes)),
    datasync: () => change(() => file.datasync()),
    close: () => file.close(),
  });
  return {
    open: async (path, mode, options) => {
      const open = (): Promise<OpenFile> => files.open(path, mode, options);
      return living(await (mode === 'read' || mode === 'update' ? look(open) : change(open)));
    },
    list: (folder) => look(() => files.list(folder)),
    facts: (path) => look(() => files.facts(path)),
    readLink: (path) => look(() => files.readLink(path)),
    freeBytes: (folder) => look(() => files.freeBytes(folder)),
    chmod: (path, mode) => change(() => files.chmod(path, mode)),
    rename: (from, to) => change(() => files.rename(from, to)),
    unlink: (path) => change(() => files.unlink(path)),
    removeFolder: (path) => change(() => files.removeFolder(path)),
    makeFolder: (path, mode) => change(() => files.makeFolder(path, mode)),
    link: (target, path) => change(() => files.link(target, path)),
    syncFolder: (path) => change(() => files.syncFolder(path)),
    isThereNow: (path) => files.isThereNow(path),
    writeNow: (path, content) => files.writeNow(path, content),
    unlinkNow: (path) => files.unlinkNow(path),
  };
}
