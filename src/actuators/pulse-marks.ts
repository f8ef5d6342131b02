/**
 * Which actuators somebody must switch off when this process cannot: those in a pulse, and those with a longest time on. One file each in the
 * run folder: what a kill leaves there, the stop hook and the next start know. The run folder is in memory: nothing is worn by it, no stuck
 * disk is waited for, and after a power cut the board's pins have forgotten as well (what has not is in kept-pulses.ts, or on for nobody knows
 * how long when this boot begins). What cannot be understood counts as a pulse: it is switched off.
 */
import { join } from 'node:path';
import { messageOf } from '../errors/agent-error.ts';
import type { Files } from '../host/files.ts';
import type { Log } from '../host/log.ts';
import { readWhole } from '../host/whole-file.ts';
import { isJsonObject, parseJson } from '../values/json.ts';

/** Mark that outlives the process, so that someone else switches off in its place. */
export interface OnMark {
  /** When it first may have been on, ms since boot. */
  readonly sinceMs: number;
  /** True when the next process is to switch it off: it is in a pulse, or refuses to go off. */
  readonly pulse: boolean;
}

export interface PulseMarksOptions {
  readonly files: Files;
  /** Times of another boot say nothing. */
  readonly bootId: string;
}

interface PulseMarksDeps extends PulseMarksOptions {
  readonly runFolder: string;
  readonly log: Log;
}

const FOLDER = 'pulses';
/** Holds the boot in which a process has looked at all outputs. */
const LOOKED_AT = 'outputs-looked-at';
export const NOT_UNDERSTOOD: OnMark = { sinceMs: 0, pulse: true };

export class PulseMarks {
  /** Marks of an earlier process, when this one began. */
  readonly left: ReadonlyMap<string, OnMark>;
  /** True until a process of this boot has looked at all outputs, and marked what it found on. */
  readonly isFirstOfBoot: boolean;
  readonly #deps: PulseMarksDeps;

  private constructor(deps: PulseMarksDeps, left: ReadonlyMap<string, OnMark>, isFirstOfBoot: boolean) {
    this.#deps = deps;
    this.left = left;
    this.isFirstOfBoot = isFirstOfBoot;
  }

  /** A folder that cannot be read holds no marks. */
  static async open(runFolder: string, log: Log, { files, bootId }: PulseMarksOptions): Promise<PulseMarks> {
    const folder = join(runFolder, FOLDER);
    const left = new Map<string, OnMark>();
    for (const name of await files.list(folder).catch(() => []))
      left.set(name, await readMark(files, join(folder, name), bootId));
    const lookedAtIn = (await readWhole(files, join(runFolder, LOOKED_AT)).catch(() => undefined))?.toString('utf8');
    return new PulseMarks({ runFolder, log, files, bootId }, left, lookedAtIn !== bootId);
  }

  /** All outputs were looked at, and what is on is marked. Where this cannot be noted, the next process counts as the first. */
  lookedAtAll(): void {
    const { runFolder, log, files, bootId } = this.#deps;
    try {
      files.writeNow(join(runFolder, LOOKED_AT), bootId);
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'that the outputs were looked at could not be noted');
    }
  }

  /** It is there for whoever comes after this process when this returns. @throws what the run folder says; a mark may be there all the same. */
  set(name: string, mark: OnMark): void {
    const { runFolder, files, bootId } = this.#deps;
    files.writeNow(join(runFolder, FOLDER, name), JSON.stringify({ bootId, ...mark }));
  }

  /** Returns true when the mark is gone. */
  remove(name: string): boolean {
    const { runFolder, files, log } = this.#deps;
    try {
      files.unlinkNow(join(runFolder, FOLDER, name));
      return true;
    } catch (error) {
      log.warn({ actuator: name, error: messageOf(error) }, 'the mark of an actuator that is off could not be removed');
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
