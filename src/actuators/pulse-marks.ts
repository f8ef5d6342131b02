/**
 * Which actuators somebody must switch off when this process cannot: those in a pulse, and those with a longest time on. One file each in the
 * run folder: what a kill leaves there, the stop hook and the next start know. The run folder is in memory: nothing is worn by it, no stuck
 * disk is waited for, and after a power cut the board's pins have forgotten as well (what has not is in kept-pulses.ts). What cannot be
 * understood counts as a pulse: it is switched off.
 */
import { join } from 'node:path';
import { messageOf } from '../errors.ts';
import { readWhole } from '../host/durable-file.ts';
import type { Files } from '../host/files.ts';
import { isJsonObject, parseJson } from '../host/json.ts';
import type { Log } from '../host/log.ts';
import type { OnMark } from './pin-record.ts';

export interface PulseMarksOptions {
  readonly files: Files;
  /** Times of another boot say nothing. */
  readonly bootId: string;
}

const FOLDER = 'pulses';
export const NOT_UNDERSTOOD: OnMark = { sinceMs: 0, pulse: true };

export class PulseMarks {
  /** Of an earlier process, when this one began. */
  readonly left: ReadonlyMap<string, OnMark>;
  readonly #folder: string;
  readonly #log: Log;
  readonly #options: PulseMarksOptions;

  private constructor(folder: string, log: Log, parts: PulseMarksOptions & { readonly left: ReadonlyMap<string, OnMark> }) {
    this.#folder = folder;
    this.#log = log;
    this.#options = parts;
    this.left = parts.left;
  }

  /** A folder that cannot be read holds no marks. */
  static async open(runFolder: string, log: Log, options: PulseMarksOptions): Promise<PulseMarks> {
    const { files, bootId } = options;
    const folder = join(runFolder, FOLDER);
    const left = new Map<string, OnMark>();
    for (const name of await files.list(folder).catch(() => [])) left.set(name, await readMark(files, join(folder, name), bootId));
    return new PulseMarks(folder, log, { files, bootId, left });
  }

  /** It is there for whoever comes after this process when this returns. @throws what the run folder says; a mark may be there all the same. */
  set(name: string, mark: OnMark): void {
    const { files, bootId } = this.#options;
    files.writeNow(join(this.#folder, name), JSON.stringify({ bootId, ...mark }));
  }

  /** Whether it is gone. */
  remove(name: string): boolean {
    try {
      this.#options.files.unlinkNow(join(this.#folder, name));
      return true;
    } catch (error) {
      this.#log.warn({ actuator: name, error: messageOf(error) }, 'the mark of an actuator that is off could not be removed');
      return false;
    }
  }
}

async function readMark(files: Files, path: string, bootId: string): Promise<OnMark> {
  try {
    const json = parseJson((await readWhole(files, path))?.toString('utf8') ?? '');
    if (!isJsonObject(json) || json.bootId !== bootId || typeof json.sinceMs !== 'number') return NOT_UNDERSTOOD;
    return { sinceMs: json.sinceMs, pulse: json.pulse !== false };
  } catch {
    return NOT_UNDERSTOOD;
  }
}
