/** Entries that the platform refuses one by one, with its answer, for a person to see and to send again. JSON lines, two files in turns. */
import type { Clock, EpochMs } from '../../host/clock.ts';
import { GROUP_MODE, readWhole, writeDurably } from '../../host/durable-file.ts';
import { undefinedWhenMissing } from '../../host/files.ts';
import { isJsonObject, OWN_JSON } from '../../host/json.ts';
import { sealJson, unsealJson } from '../../host/sealed-json.ts';
import type { ResolvedEntry } from '../format/entry-columns.ts';
import type { TelemetryEntry } from '../format/telemetry-entry.ts';
import { SerialQueue } from '../segments/serial-queue.ts';
import { type LineFileDeps, SMALL_FILE, writeLines } from '../segments/small-file.ts';

export interface RejectedEntry extends ResolvedEntry {
  /** What the platform said, cut to 500 characters. */
  readonly answer: string;
  /** Of the refusal, by the clock as it was. */
  readonly atMs: EpochMs;
}

const NAME = 'rejected.jsonl';
const OLD_NAME = 'rejected.old.jsonl';
const HEADER = `${JSON.stringify({ format: 'turnstone-outbox-rejected', version: 1 })}\n`;
const MAX_ANSWER_LENGTH = 500;

export class RejectedFile {
  readonly #deps: LineFileDeps;
  /** Changes of the two; commits do not wait for them. */
  readonly #changes = new SerialQueue();

  constructor(deps: LineFileDeps) {
    this.#deps = deps;
  }

  /** Durable when it resolves. */
  add(entry: ResolvedEntry, answer: string, atMs: EpochMs): Promise<void> {
    return this.#changes.run(async () => {
      const { files, folder, maxBytes } = this.#deps;
      const lines = `${sealJson({ ...entry, answer: answer.slice(0, MAX_ANSWER_LENGTH), atMs })}\n`;
      const path = `${folder}/${NAME}`;
      const size = (await files.facts(path))?.bytes ?? 0;
      const isFull = size + lines.length > maxBytes && size > 0;
      if (isFull) await files.rename(path, `${folder}/${OLD_NAME}`);
      await writeLines(this.#deps, { name: NAME, header: HEADER, lines, at: isFull ? 0 : size, cut: false });
    });
  }

  /** All that are kept, oldest first; torn lines are left out, and one that was added again after a fault is there once. */
  async list(): Promise<RejectedEntry[]> {
    const entries = new Map<string, RejectedEntry>();
    for (const name of [OLD_NAME, NAME]) {
      const bytes = await readWhole(this.#deps.files, `${this.#deps.folder}/${name}`, SMALL_FILE);
      for (const line of bytes === undefined ? [] : bytes.toString().split('\n')) {
        const entry = parseRejected(line);
        if (entry !== undefined) entries.set(`${entry.sequence} ${entry.ts}`, entry);
      }
    }
    return [...entries.values()];
  }

  /** Keeps all but these. */
  forget(sent: readonly ResolvedEntry[]): Promise<void> {
    return this.#changes.run(async () => {
      const { files, folder } = this.#deps;
      const sequences = new Set(sent.map(({ sequence }) => sequence));
      const kept = (await this.list()).filter(({ sequence }) => !sequences.has(sequence));
      const lines = kept.map((entry) => `${sealJson(entry)}\n`);
      await writeDurably(files, `${folder}/${NAME}`, HEADER + lines.join(''), { mode: GROUP_MODE });
      await files.unlink(`${folder}/${OLD_NAME}`).catch(undefinedWhenMissing);
    });
  }
}

/** Rejected entries to be appended again, with the times they had. */
export function asAppended(entries: readonly RejectedEntry[], clock: Clock): TelemetryEntry[] {
  const again = { bootId: clock.bootId, monotonicMs: clock.monotonicMs(), isAgain: true };
  return entries.map(({ device, key, value, ts: takenAtMs, class: own }) => ({ device, key, value, takenAtMs, class: own, ...again }));
}

function parseRejected(line: string): RejectedEntry | undefined {
  try {
    const entry = unsealJson(line, OWN_JSON);
    return isRejected(entry) ? entry : undefined;
  } catch {
    return undefined;
  }
}

/** By what a line of anything else does not have. */
function isRejected(entry: unknown): entry is RejectedEntry {
  return isJsonObject(entry) && typeof entry.key === 'string' && typeof entry.sequence === 'number';
}
