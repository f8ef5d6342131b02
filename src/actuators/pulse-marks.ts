/**
 * Which actuators are in a pulse, as empty files in the run folder: what a kill leaves there, the stop hook and the next start know to switch off.
 * The run folder is in memory: nothing is worn by it, and after a power cut the outputs have forgotten the pulse as well.
 */
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../errors.ts';
import { makeFolder } from '../host/durable-file.ts';
import type { Log } from '../host/log.ts';

const FOLDER = 'pulses';

export class PulseMarks {
  /** Of an earlier process, when this one began. */
  readonly left: ReadonlySet<string>;
  readonly #folder: string;
  readonly #log: Log;
  /** Marks are set and removed in order. */
  #last: Promise<void> = Promise.resolve();

  private constructor(folder: string, log: Log, left: ReadonlySet<string>) {
    this.#folder = folder;
    this.#log = log;
    this.left = left;
  }

  /** A folder that cannot be read holds no marks. */
  static async open(runFolder: string, log: Log): Promise<PulseMarks> {
    const folder = join(runFolder, FOLDER);
    const left = await readdir(folder).catch(() => []);
    return new PulseMarks(folder, log, new Set(left));
  }

  /** On its way at once; no movement waits for it. */
  set(name: string): void {
    this.#queue(async () => {
      await makeFolder(this.#folder);
      await writeFile(join(this.#folder, name), '');
    });
  }

  remove(name: string): void {
    this.#queue(() => rm(join(this.#folder, name), { force: true }));
  }

  async flush(): Promise<void> {
    await this.#last;
  }

  #queue(work: () => Promise<void>): void {
    this.#last = this.#last
      .then(work)
      .catch((error: unknown) => this.#log.warn({ error: messageOf(error) }, 'a pulse could not be marked'));
  }
}
