/**
 * A small JSON file that follows a value in memory: the latest state is written soon, whole, and never in the caller's way.
 * A file that cannot be understood is set aside as `*.corrupt`, never overwritten.
 */
import { messageOf } from '../errors.ts';
import { readWhole, setAside, writeDurably } from './durable-file.ts';
import { isJsonObject, type JsonObject, parseJson, stringifyJson } from './json.ts';
import type { Log } from './log.ts';

export interface StateFileDeps {
  readonly path: string;
  /** What the file says it is, for example `turnstone/actuators`. */
  readonly format: string;
  /** Versions up to this one are understood. */
  readonly version: number;
  readonly log: Log;
  /** Default: the durable write of the host. */
  readonly write?: (path: string, content: string) => Promise<void>;
}

export class StateFile {
  readonly #deps: StateFileDeps;
  #next: JsonObject | undefined;
  #writing: Promise<void> | undefined;

  constructor(deps: StateFileDeps) {
    this.#deps = deps;
  }

  /** The state of an earlier run; undefined when there is none, or none that can be read and understood. Never rejects. */
  async read(): Promise<JsonObject | undefined> {
    const { path, format, version, log } = this.#deps;
    try {
      const bytes = await readWhole(path);
      if (bytes === undefined) return undefined;
      const json = parseJson(bytes.toString('utf8'));
      if (!isJsonObject(json) || json.format !== format) throw new Error(`not a file of format ${format}`);
      if (typeof json.version !== 'number' || json.version > version) throw new Error(`version ${String(json.version)} is not known`);
      return isJsonObject(json.state) ? json.state : {};
    } catch (error) {
      log.error({ file: path, error: messageOf(error) }, 'a state file cannot be used and is set aside');
      await setAside(path).catch(() => {});
      return undefined;
    }
  }

  /** Has the state written soon; states that come faster than the disk are skipped, the last one never. */
  save(state: JsonObject): void {
    this.#next = state;
    this.#writing ??= this.#writeAll();
  }

  /** Resolves when the last saved state is durable, or its write has failed and was logged. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    const { path, format, version, log, write = writeDurably } = this.#deps;
    for (let state = this.#take(); state !== undefined; state = this.#take()) {
      try {
        await write(path, stringifyJson({ format, version, state }));
      } catch (error) {
        log.warn({ file: path, error: messageOf(error) }, 'a state file was not written');
      }
    }
    this.#writing = undefined;
  }

  #take(): JsonObject | undefined {
    const next = this.#next;
    this.#next = undefined;
    return next;
  }
}
