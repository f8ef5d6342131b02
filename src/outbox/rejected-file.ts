/** Entries that the platform refuses one by one, with its answer, for a person to see and to send again. JSON lines, two files in turns. */
import type { Clock } from '../host/clock.ts';
import { GROUP_MODE, readWhole, writeDurably } from '../host/durable-file.ts';
import { type Files, undefinedWhenMissing } from '../host/files.ts';
import { type JsonValue, OWN_JSON, parseJson, stringifyJson } from '../host/json.ts';
import type { ResolvedEntry } from './outbox-batch.ts';
import { SerialQueue } from './serial-queue.ts';
import { SMALL_FILE } from './small-file.ts';
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
  readonly #files: Files;
  readonly #folder: string;
  readonly #maxBytes: number;
  /** Changes of the two; commits do not wait for them. */
  readonly #changes = new SerialQueue();

  /** `maxBytes` bounds each of the two files. */
  constructor(deps: { readonly files: Files; readonly folder: string; readonly maxBytes: number }) {
    this.#files = deps.files;
    this.#folder = deps.folder;
    this.#maxBytes = deps.maxBytes;
  }

  /** Durable when it resolves. */
  add(entry: ResolvedEntry, answer: string, atMs: number): Promise<void> {
    return this.#changes.run(() => this.#add(entry, answer, atMs));
  }

  /** All that are kept, oldest first; torn lines are left out, and one that was added again after a fault is there once. */
  async list(): Promise<RejectedEntry[]> {
    const entries = new Map<string, RejectedEntry>();
    for (const name of [OLD_NAME, NAME]) {
      const bytes = await readWhole(this.#files, `${this.#folder}/${name}`, SMALL_FILE);
      for (const line of bytes === undefined ? [] : bytes.toString().split('\n')) {
        const entry = parseRejected(line);
        if (entry !== undefined) entries.set(`${entry.sequence} ${entry.ts}`, entry);
      }
    }
    return [...entries.values()];
  }

  /** Keeps all but these. */
  forget(sent: readonly ResolvedEntry[]): Promise<void> {
    return this.#changes.run(() => this.#forget(sent));
  }

  async #add(entry: ResolvedEntry, answer: string, atMs: number): Promise<void> {
    const line = `${stringifyJson({ ...entry, answer: answer.slice(0, LONGEST_ANSWER), atMs } as unknown as JsonValue)}\n`;
    const path = `${this.#folder}/${NAME}`;
    let size = await this.#size(path);
    if (size + line.length > this.#maxBytes && size > 0) {
      await this.#files.rename(path, `${this.#folder}/${OLD_NAME}`);
      size = 0;
    }
    const isNew = size === 0;
    const file = await this.#files.open(path, isNew ? 'replace' : 'update');
    try {
      // A line cut off by a crash or a full disk must not swallow this one.
      await file.write(Buffer.from(isNew ? HEADER + line : `\n${line}`), size);
      await file.datasync();
    } finally {
      await file.close();
    }
    if (isNew) await this.#files.syncFolder(this.#folder);
  }

  async #forget(sent: readonly ResolvedEntry[]): Promise<void> {
    const sequences = new Set(sent.map(({ sequence }) => sequence));
    const kept = (await this.list()).filter(({ sequence }) => !sequences.has(sequence));
    const lines = kept.map((entry) => `${stringifyJson(entry as unknown as JsonValue)}\n`);
    await writeDurably(this.#files, `${this.#folder}/${NAME}`, HEADER + lines.join(''), { mode: GROUP_MODE });
    await this.#files.unlink(`${this.#folder}/${OLD_NAME}`).catch(undefinedWhenMissing);
  }

  async #size(path: string): Promise<number> {
    return (await this.#files.facts(path))?.bytes ?? 0;
  }
}

/** Rejected entries to be appended again, with the times they had. */
export function asAppended(entries: readonly RejectedEntry[], clock: Clock): TelemetryEntry[] {
  const taken = { bootId: clock.bootId, monotonicMs: clock.monotonicMs() };
  return entries.map(({ device, key, value, ts, class: own }) => ({
    device,
    key,
    value,
    ...taken,
    takenAtMs: ts,
    isAgain: true,
    class: own,
  }));
}

function parseRejected(line: string): RejectedEntry | undefined {
  try {
    const entry = parseJson(line, OWN_JSON) as unknown as RejectedEntry;
    return typeof entry.key === 'string' && typeof entry.sequence === 'number' ? entry : undefined;
  } catch {
    return undefined;
  }
}
