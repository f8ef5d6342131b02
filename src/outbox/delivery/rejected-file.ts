/** Entries that the platform refuses one by one, with its answer, for a person to see and to send again: two logs in turns. */
import type { Clock, EpochMs } from '../../host/clock.ts';
import { undefinedWhenMissing } from '../../host/files.ts';
import { RecordLog, sealedObject } from '../../store/record-log.ts';
import { sealJson } from '../../store/sealed-json.ts';
import type { ResolvedEntry } from '../format/entry-columns.ts';
import type { TelemetryEntry } from '../format/telemetry-entry.ts';
import type { OutboxPlace } from '../segments/outbox-place.ts';
import { SerialQueue } from '../segments/serial-queue.ts';
import { SMALL_FILE } from '../segments/small-file.ts';

export interface RejectedEntry extends ResolvedEntry {
  /** Answer of the platform, cut to 500 characters. */
  readonly answer: string;
  /** Time of the refusal, by the clock as it was. */
  readonly atMs: EpochMs;
}

export interface RejectedFileDeps extends Pick<OutboxPlace, 'files' | 'folder'> {
  /** Size of each of the two. */
  readonly maxBytes: number;
}

const NAME = 'rejected.jsonl';
const OLD_NAME = 'rejected.old.jsonl';
const MAX_ANSWER_LENGTH = 500;

export class RejectedFile {
  readonly #deps: RejectedFileDeps;
  #log: RecordLog<RejectedEntry>;
  /** Reads and changes of the two, one after the other; commits do not wait for them. */
  readonly #turns = new SerialQueue();

  constructor(deps: RejectedFileDeps) {
    this.#deps = deps;
    this.#log = logOf(deps, NAME);
  }

  /** Durable when it resolves. */
  add(entry: ResolvedEntry, answer: string, atMs: EpochMs): Promise<void> {
    return this.#turns.run(async () => {
      const { files, folder, maxBytes } = this.#deps;
      const rejected = { ...entry, answer: answer.slice(0, MAX_ANSWER_LENGTH), atMs };
      const size = await this.#log.size();
      if (size > 0 && size + Buffer.byteLength(lineOf(rejected)) + 1 > maxBytes) {
        await files.rename(`${folder}/${NAME}`, `${folder}/${OLD_NAME}`);
        this.#log = logOf(this.#deps, NAME);
      }
      await this.#log.append([rejected], { isDurable: true });
    });
  }

  /** All that are kept, oldest first; torn lines are left out, and one that was added again after a fault is there once. */
  list(): Promise<RejectedEntry[]> {
    return this.#turns.run(async () => (await this.#read()).entries);
  }

  /** Keeps all but these, and what cannot be understood as it is: a person may see what it was. */
  forget(sent: readonly ResolvedEntry[]): Promise<void> {
    return this.#turns.run(async () => {
      const { files, folder } = this.#deps;
      const names = new Set(sent.map(nameOf));
      const { entries, damaged } = await this.#read();
      await this.#log.replace(
        entries.filter((entry) => !names.has(nameOf(entry))),
        damaged,
      );
      await files.unlink(`${folder}/${OLD_NAME}`).catch(undefinedWhenMissing);
    });
  }

  async #read(): Promise<{ readonly entries: RejectedEntry[]; readonly damaged: readonly Buffer[] }> {
    const old = await logOf(this.#deps, OLD_NAME).read();
    const newer = await this.#log.read();
    const entries = new Map([...old.values, ...newer.values].map((entry) => [nameOf(entry), entry]));
    return { entries: [...entries.values()], damaged: [...old.damaged, ...newer.damaged] };
  }
}

function logOf({ files, folder }: RejectedFileDeps, name: string): RecordLog<RejectedEntry> {
  return new RecordLog({
    files,
    path: `${folder}/${name}`,
    format: 'turnstone-outbox-rejected',
    version: 1,
    limitBytes: SMALL_FILE.limitBytes,
    lineOf,
    recordOf,
  });
}

function lineOf(entry: RejectedEntry): string {
  return sealJson(entry);
}

function recordOf(line: string): RejectedEntry | undefined {
  const entry = sealedObject(line);
  if (typeof entry?.key !== 'string' || typeof entry.sequence !== 'number') return undefined;
  // The seal says that it is what was written.
  return entry as unknown as RejectedEntry;
}

/** A number may be given again on a disk that lost all but this list; with its time it is one entry's. */
export function nameOf({ sequence, ts }: ResolvedEntry): string {
  return `${sequence} ${ts}`;
}

/** Entries to be appended again, with the times they had. */
export function asAppended(entries: readonly ResolvedEntry[], clock: Clock): TelemetryEntry[] {
  const again = { bootId: clock.bootId, monotonicMs: clock.monotonicMs(), isAgain: true };
  return entries.map(({ device, key, value, ts: takenAtMs, class: own }) => ({
    device,
    key,
    value,
    takenAtMs,
    class: own,
    ...again,
  }));
}
