/**
 * The dead-letter queue on the disk. A later record about an entry replaces an earlier one, and one without rows ends it; the log is bound to
 * twice of what the queue may take.
 */
import { join } from 'node:path';
import type { EpochMs } from '../../host/clock.ts';
import { RecordLog, sealedObject } from '../../store/record-log.ts';
import { sealJson } from '../../store/sealed-json.ts';
import type { ResolvedEntry } from '../format/entry-columns.ts';
import { SET_ASIDE } from '../segments/outbox-folder.ts';
import type { OutboxPlace } from '../segments/outbox-place.ts';
import { SerialQueue } from '../segments/serial-queue.ts';
import { readSmallFile, SMALL_FILE, type SmallFileDeps } from '../segments/small-file.ts';

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

/** A later record about an entry replaces an earlier one; one without a letter ends it. */
interface LetterRecord {
  readonly sequence: number;
  readonly letter?: DeadLetter | undefined;
}

export interface DeadLetterFileDeps extends Pick<OutboxPlace, 'files' | 'folder'> {
  /** Bytes that the queue may take. */
  readonly maxBytes: number;
}

export class DeadLetterFile {
  readonly #log: RecordLog<LetterRecord>;
  /** By sequence, the oldest first. */
  readonly #letters: ReadonlyMap<number, DeadLetter>;
  readonly #changes = new SerialQueue();

  constructor(deps: DeadLetterFileDeps, letters: ReadonlyMap<number, DeadLetter>) {
    this.#log = logOf(deps);
    this.#letters = letters;
  }

  /** Damaged lines are left out; `isWhole` when there are none. @throws AgentError `host/read-failed` when it may be read another time. */
  static async read(
    deps: SmallFileDeps,
  ): Promise<{ readonly letters: Map<number, DeadLetter>; readonly isWhole: boolean }> {
    let isWhole = true;
    const setAside = (name: string): Promise<void> => {
      isWhole = false;
      return deps.setAside(name);
    };
    const log = logOf({ files: deps.files, folder: deps.folder, maxBytes: 0 });
    const { values, damaged, isForeign } = await log.read(() => readSmallFile({ ...deps, setAside }, NAME));
    if (isForeign) await setAside(NAME);
    // The process that quarantined it may have ended before its entries were given back.
    const quarantined = values.length === 0 ? await deps.files.list(join(deps.folder, SET_ASIDE)).catch(() => []) : [];
    if (quarantined.some((name) => name.includes(NAME))) isWhole = false;
    const letters = new Map<number, DeadLetter>();
    for (const { sequence, letter } of values) {
      if (letter === undefined) letters.delete(sequence);
      else letters.set(sequence, letter);
    }
    return { letters, isWhole: isWhole && damaged.length === 0 };
  }

  /** Writes that an entry is this letter now, or none any more. Durable when it resolves. */
  write(sequence: number, letter?: DeadLetter): Promise<void> {
    const record = { sequence, letter };
    const inForce = (): readonly LetterRecord[] => {
      const others = [...this.#letters].filter(([other]) => other !== sequence);
      const records = others.map(([other, known]): LetterRecord => ({ sequence: other, letter: known }));
      return letter === undefined ? records : [...records, record];
    };
    return this.#changes.run(() => this.#log.append([record], { isDurable: true, inForce }));
  }
}

export function lineOf(sequence: number, letter: DeadLetter | undefined): string {
  return letter === undefined ? sealJson({ sequence }) : sealJson({ sequence, ...letter });
}

function logOf({ files, folder, maxBytes }: DeadLetterFileDeps): RecordLog<LetterRecord> {
  return new RecordLog({
    files,
    path: `${folder}/${NAME}`,
    format: 'turnstone-outbox-dead-letters',
    version: 1,
    limitBytes: SMALL_FILE.limitBytes,
    // A week of retries adds ten lines to a letter: the file holds as much beside the letters in force.
    compactAfterBytes: maxBytes,
    lineOf: ({ sequence, letter }) => lineOf(sequence, letter),
    recordOf,
  });
}

function recordOf(line: string): LetterRecord | undefined {
  const { sequence, ...letter } = sealedObject(line) ?? {};
  if (typeof sequence !== 'number') return undefined;
  // The seal says that it is what was written.
  return Array.isArray(letter.rows) ? { sequence, letter: letter as unknown as DeadLetter } : { sequence };
}
