/** Logs of records that go on in another file, and end with the oldest: the files of a folder whose names are in their order. */
import { undefinedWhenMissing } from '../host/files.ts';
import { RecordLog, type RecordLogDeps } from './record-log.ts';

export interface RecordLogsDeps<Value> extends Omit<RecordLogDeps<Value>, 'path'> {
  readonly folder: string;
  readonly name: RegExp;
}

export class RecordLogs<Value> {
  readonly #deps: RecordLogsDeps<Value>;
  /** The file that is written: its log knows what a write that failed has left in it. */
  #written: { readonly name: string; readonly log: RecordLog<Value> } | undefined;

  constructor(deps: RecordLogsDeps<Value>) {
    this.#deps = deps;
  }

  /** Names of the files, the oldest first; none without the folder. */
  async names(): Promise<string[]> {
    const names = (await this.#deps.files.list(this.#deps.folder).catch(undefinedWhenMissing)) ?? [];
    return names.filter((name) => this.#deps.name.test(name)).sort();
  }

  /** The log of a file that is written from now on, and no other until the next call. */
  logToWrite(name: string): RecordLog<Value> {
    if (this.#written?.name !== name) this.#written = { name, log: this.#logAt(name) };
    return this.#written.log;
  }

  logToRead(name: string): RecordLog<Value> {
    return this.#written?.name === name ? this.#written.log : this.#logAt(name);
  }

  /** Removes a file; nothing there is no error. */
  async remove(name: string): Promise<void> {
    await this.#deps.files.unlink(`${this.#deps.folder}/${name}`).catch(undefinedWhenMissing);
  }

  async bytesOf(name: string): Promise<number> {
    return (await this.#deps.files.facts(`${this.#deps.folder}/${name}`))?.bytes ?? 0;
  }

  #logAt(name: string): RecordLog<Value> {
    return new RecordLog({ ...this.#deps, path: `${this.#deps.folder}/${name}` });
  }
}
