/** The file beneath the journal: a log of records. Every call goes through the thread pool: a slow card makes it late, never the agent. */
import { AgentError } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';
import type { Files } from '../host/files.ts';
import { PRIVATE_MODE, setAside } from '../store/durable-file.ts';
import { type AppendOptions, type ReadRecords, RecordLog, sealedObject } from '../store/record-log.ts';
import { sealJson } from '../store/sealed-json.ts';
import type { JsonObject } from '../values/json.ts';
import { type FormerJournal, readFormerJournal } from './former-journal.ts';
import { entryFromJson, entryToJson, type JournalEntry } from './journal-entries.ts';

/**
 * `boot` stands at the head of a file, and at its end when it is left in good order: it says how long the boot has lasted. A later entry of the
 * same key replaces an earlier one; `answered` says when the platform took its reply; `former` tells which content of the former file is among the
 * entries. Times are ms since the boot `bootId`.
 */
export type JournalRecord =
  | { readonly kind: 'boot'; readonly bootId: string; readonly atMs: number }
  | { readonly kind: 'entry'; readonly entry: JournalEntry }
  | { readonly kind: 'answered'; readonly key: string; readonly answeredAtMs: number; readonly bootId: string }
  | { readonly kind: 'former'; readonly sum: number };

export const JOURNAL_FORMAT = { format: 'turnstone/rpc-journal', version: 2 } as const;
/** Its name in the folder of a device. */
export const JOURNAL_FILE = 'rpc-journal.jsonl';
export const FORMER_JOURNAL_FILE = 'rpc.journal';

/** A journal larger than this is not ours: compaction keeps it far below. */
const MAX_FILE_BYTES = 32 * 1024 * 1024;
/** The file is rewritten, with what is not past, after this much was added. */
const COMPACT_AFTER_BYTES = 512 * 1024;

export class JournalFile {
  readonly #files: Files;
  readonly #path: string;
  readonly #formerPath: string | undefined;
  readonly #log: RecordLog<JournalRecord>;
  #former: JournalRecord | undefined;

  /** @param formerPath file of the release before, which may be in force again after a rollback: it is read, too, and stays as it is. */
  constructor(files: Files, path: string, formerPath?: string) {
    this.#files = files;
    this.#path = path;
    this.#formerPath = formerPath;
    this.#log = new RecordLog({
      ...JOURNAL_FORMAT,
      files,
      path,
      mode: PRIVATE_MODE,
      limitBytes: MAX_FILE_BYTES,
      compactAfterBytes: COMPACT_AFTER_BYTES,
      lineOf: (record) => sealJson(jsonOfRecord(record)),
      recordOf: (line) => recordOfJson(sealedObject(line) ?? {}),
    });
  }

  /** @throws AgentError `host/read-failed` (drop) for what cannot be a journal, (retry) when the disk may give it another time. */
  async read(): Promise<ReadRecords<JournalRecord>> {
    const former = await this.#readFormer();
    const read = await this.#log.read();
    if (former === undefined) return read;
    this.#former = { kind: 'former', sum: former.sum };
    // The previous release ran since, so its entries are the newer ones.
    const isTaken = read.values.some((record) => record.kind === 'former' && record.sum === former.sum);
    const newer = isTaken ? [] : former.payloads.flatMap((json) => recordOfJson(json) ?? []);
    return { ...read, values: [...read.values, ...newer] };
  }

  /** Record of the former content that was read; to be written with the entries. */
  get former(): readonly JournalRecord[] {
    return this.#former === undefined ? [] : [this.#former];
  }

  /** Returns the former journal; undefined where there is none, or the file cannot be a journal. */
  async #readFormer(): Promise<FormerJournal | undefined> {
    if (this.#formerPath === undefined) return undefined;
    try {
      return await readFormerJournal(this.#files, this.#formerPath, MAX_FILE_BYTES);
    } catch (error) {
      if (error instanceof AgentError && error.recovery === 'drop') return undefined;
      throw error;
    }
  }

  append(records: readonly JournalRecord[], options: AppendOptions<JournalRecord>): Promise<void> {
    return this.#log.append(records, options);
  }

  replace(records: readonly JournalRecord[]): Promise<void> {
    return this.#log.replace(records);
  }

  /** Moves what is there out of the way, keeping it for a person. */
  async setAside(): Promise<void> {
    await setAside(this.#files, this.#path);
  }
}

export function bootRecord(clock: Clock): JournalRecord {
  return { kind: 'boot', bootId: clock.bootId, atMs: Math.floor(clock.monotonicMs()) };
}

function jsonOfRecord(record: JournalRecord): JsonObject {
  return record.kind === 'entry' ? { kind: 'entry', ...entryToJson(record.entry) } : record;
}

function recordOfJson(json: JsonObject): JournalRecord | undefined {
  const { kind, bootId, atMs, key, answeredAtMs, sum } = json;
  if (kind === 'former') return typeof sum === 'number' ? { kind, sum } : undefined;
  if (typeof bootId !== 'string') return undefined;
  if (kind === 'boot') return typeof atMs === 'number' ? { kind, bootId, atMs } : undefined;
  if (kind === 'answered')
    return typeof key === 'string' && typeof answeredAtMs === 'number'
      ? { kind, key, answeredAtMs, bootId }
      : undefined;
  const entry = kind === 'entry' ? entryFromJson(json) : undefined;
  return entry === undefined ? undefined : { kind: 'entry', entry };
}
