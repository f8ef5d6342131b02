/** Entries that the platform refuses one by one, with its answer, for a person to see and to send again. JSON lines, two files in turns. */
import type { Clock } from '../host/clock.ts';
import { type JsonValue, parseJson, stringifyJson } from '../host/json.ts';
import { type FileLayer, isMissing, readAll, replaceDurably } from './file-layer.ts';
import type { ResolvedEntry } from './outbox-batch.ts';
import type { TelemetryEntry } from './telemetry-entry.ts';

export interface RejectedEntry extends ResolvedEntry {
  /** What the platform said, cut to a sane length. */
  readonly answer: string;
  /** UTC epoch ms of the refusal, by the clock as it was. */
  readonly atMs: number;
}

const NAME = 'rejected.jsonl';
const OLD_NAME = 'rejected.old.jsonl';
const HEADER = `${JSON.stringify({ format: 'turnstone-outbox-rejected', version: 1 })}\n`;
const LONGEST_ANSWER = 500;

export class RejectedFile {
  readonly #files: FileLayer;
  readonly #folder: string;
  readonly #maxBytes: number;

  /** `maxBytes` bounds each of the two files. */
  constructor(deps: { readonly files: FileLayer; readonly folder: string; readonly maxBytes: number }) {
    this.#files = deps.files;
    this.#folder = deps.folder;
    this.#maxBytes = deps.maxBytes;
  }

  /** Durable when it resolves. */
  async add(entry: ResolvedEntry, answer: string, atMs: number): Promise<void> {
    const line = `${stringifyJson({ ...entry, answer: answer.slice(0, LONGEST_ANSWER), atMs } as unknown as JsonValue)}\n`;
    const path = `${this.#folder}/${NAME}`;
    let size = await this.#size(path);
    if (size + line.length > this.#maxBytes && size > HEADER.length) {
      await this.#files.rename(path, `${this.#folder}/${OLD_NAME}`);
      size = 0;
    }
    const isNew = size === 0;
    const file = await this.#files.open(path, isNew ? 'replace' : 'update');
    try {
      await file.write(Buffer.from(isNew ? HEADER + line : line), size);
      await file.datasync();
    } finally {
      await file.close();
    }
    if (isNew) await this.#files.syncFolder(this.#folder);
  }

  /** All that are kept, oldest first; torn lines are left out. */
  async list(): Promise<RejectedEntry[]> {
    const entries: RejectedEntry[] = [];
    for (const name of [OLD_NAME, NAME]) {
      const bytes = await readAll(this.#files, `${this.#folder}/${name}`);
      for (const line of bytes === undefined ? [] : Buffer.from(bytes).toString().split('\n')) {
        const entry = parseRejected(line);
        if (entry !== undefined) entries.push(entry);
      }
    }
    return entries;
  }

  /** Keeps only these. */
  async replace(entries: readonly RejectedEntry[]): Promise<void> {
    const lines = entries.map((entry) => `${stringifyJson(entry as unknown as JsonValue)}\n`);
    await replaceDurably(this.#files, this.#folder, NAME, Buffer.from(HEADER + lines.join('')));
    await this.#files.unlink(`${this.#folder}/${OLD_NAME}`).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
    });
  }

  async #size(path: string): Promise<number> {
    return this.#files.size(path).catch((error: unknown) => {
      if (isMissing(error)) return 0;
      throw error;
    });
  }
}

/** Rejected entries to be appended again, with the times they had. */
export function asAppended(entries: readonly RejectedEntry[], clock: Clock): TelemetryEntry[] {
  const taken = { bootId: clock.bootId, monotonicMs: clock.monotonicMs() };
  return entries.map(({ device, key, value, ts, class: own }) => ({ device, key, value, ...taken, takenAtMs: ts, class: own }));
}

function parseRejected(line: string): RejectedEntry | undefined {
  try {
    const entry = parseJson(line) as unknown as RejectedEntry;
    return typeof entry.key === 'string' && typeof entry.sequence === 'number' ? entry : undefined;
  } catch {
    return undefined;
  }
}
