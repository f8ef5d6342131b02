/**
 * The dead-letter queue on the disk, as JSON lines. A later line about an entry replaces an earlier one, and a line without rows ends it. The
 * file is written anew when it has grown to twice what the queue may take, and after a write that failed.
 */
import { join } from 'node:path';
import type { EpochMs } from '../../host/clock.ts';
import { GROUP_MODE, writeDurably } from '../../host/durable-file.ts';
import { sealJson, unsealJson } from '../../host/sealed-json.ts';
import { isJsonObject, OWN_JSON } from '../../values/json.ts';
import type { ResolvedEntry } from '../format/entry-columns.ts';
import { SET_ASIDE } from '../segments/outbox-folder.ts';
import { SerialQueue } from '../segments/serial-queue.ts';
import { type LineFileDeps, readSmallFile, type SmallFileDeps, writeLines } from '../segments/small-file.ts';

/** Part of a boot's time; it passes whatever the wall clock does. */
export interface BootMoment {
  readonly bootId: string;
  readonly ms: number;
}

export interface DeadLetter {
  /** The entry, and its mark if it has one. */
  readonly rows: readonly ResolvedEntry[];
  /** The platform's last words about it. */
  readonly answer: string;
  /** Time of the first refusal, by the clock as it was. */
  readonly atMs: EpochMs;
  readonly firstRefused: BootMoment;
  readonly lastRefused: BootMoment;
  /** Refusals since it came, or since the platform was found at fault; they choose the next wait. */
  readonly attempts: number;
}

const NAME = 'dead-letters.jsonl';
const HEADER = `${JSON.stringify({ format: 'turnstone-outbox-dead-letters', version: 1 })}\n`;
/** A week of retries adds ten lines to a letter. */
const MAX_FILE_SHARE = 2;

export class DeadLetterFile {
  readonly #deps: LineFileDeps;
  /** By sequence, the oldest first. */
  readonly #letters: ReadonlyMap<number, DeadLetter>;
  readonly #changes = new SerialQueue();
  /** A line is missing. */
  #isBehind = false;

  constructor(deps: LineFileDeps, letters: ReadonlyMap<number, DeadLetter>) {
    this.#deps = deps;
    this.#letters = letters;
  }

  /** Damaged lines are left out; `isWhole` when there are none. @throws AgentError `host/read-failed` when it may be read another time. */
  static async read(
    deps: SmallFileDeps,
  ): Promise<{ readonly letters: Map<number, DeadLetter>; readonly isWhole: boolean }> {
    const letters = new Map<number, DeadLetter>();
    let isWhole = true;
    const setAside = (name: string): Promise<void> => {
      isWhole = false;
      return deps.setAside(name);
    };
    const bytes = await readSmallFile({ ...deps, setAside }, NAME);
    const lines = bytes?.toString().split('\n') ?? [];
    for (const line of lines.filter((one) => one !== '' && `${one}\n` !== HEADER)) {
      const found = parseLine(line);
      if (found === undefined) isWhole = false;
      else if (found.letter === undefined) letters.delete(found.sequence);
      else letters.set(found.sequence, found.letter);
    }
    // A release before this queue moves a file that it does not know.
    const others = bytes === undefined ? await deps.files.list(join(deps.folder, SET_ASIDE)).catch(() => []) : [];
    if (others.some((name) => name.includes(NAME))) isWhole = false;
    return { letters, isWhole };
  }

  /** Writes that an entry is this letter now, or none any more. Durable when it resolves. */
  write(sequence: number, letter?: DeadLetter): Promise<void> {
    return this.#changes.run(async () => {
      const { files, folder, maxBytes } = this.#deps;
      const path = `${folder}/${NAME}`;
      const size = (await files.facts(path))?.bytes ?? 0;
      const line = lineOf(sequence, letter);
      const isWhole = this.#isBehind || size + Buffer.byteLength(line) > maxBytes * MAX_FILE_SHARE;
      this.#isBehind = true;
      if (!isWhole) await writeLines(this.#deps, { name: NAME, header: HEADER, lines: line, at: size, cut: false });
      else await writeDurably(files, path, HEADER + this.#whole(sequence, letter), { mode: GROUP_MODE });
      this.#isBehind = false;
    });
  }

  #whole(sequence: number, letter: DeadLetter | undefined): string {
    const others = [...this.#letters]
      .filter(([other]) => other !== sequence)
      .map(([other, known]) => lineOf(other, known));
    return others.join('') + (letter === undefined ? '' : lineOf(sequence, letter));
  }
}

export function lineOf(sequence: number, letter: DeadLetter | undefined): string {
  return `${letter === undefined ? sealJson({ sequence }) : sealJson({ sequence, ...letter })}\n`;
}

function parseLine(line: string): { readonly sequence: number; readonly letter?: DeadLetter } | undefined {
  try {
    const json = unsealJson(line, OWN_JSON);
    if (!isJsonObject(json) || typeof json.sequence !== 'number') return undefined;
    const { sequence, ...letter } = json;
    // The seal says that it is what was written.
    return Array.isArray(letter.rows) ? { sequence, letter: letter as unknown as DeadLetter } : { sequence };
  } catch {
    return undefined;
  }
}
