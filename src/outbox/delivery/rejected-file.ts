/** Entries that the platform refuses one by one, with its answer, for a person to see and to send again. JSON lines, two files in turns. */
import type { Clock, EpochMs } from '../../host/clock.ts';
import { GROUP_MODE, readWhole, writeDurably } from '../../host/durable-file.ts';
import { undefinedWhenMissing } from '../../host/files.ts';
import { sealJson, unsealJson } from '../../host/sealed-json.ts';
import { isJsonObject, OWN_JSON } from '../../values/json.ts';
import type { ResolvedEntry } from '../format/entry-columns.ts';
import type { TelemetryEntry } from '../format/telemetry-entry.ts';
import { SerialQueue } from '../segments/serial-queue.ts';
import { type LineFileDeps, SMALL_FILE, writeLines } from '../segments/small-file.ts';

export interface RejectedEntry extends ResolvedEntry {
  /** Answer of the platform, cut to 500 characters. */
  readonly answer: string;
  /** Time of the refusal, by the clock as it was. */
  readonly atMs: EpochMs;
}

const NAME = 'rejected.jsonl';
const OLD_NAME = 'rejected.old.jsonl';
const HEADER = `${JSON.stringify({ format: 'turnstone-outbox-rejected', version: 1 })}\n`;
const MAX_ANSWER_LENGTH = 500;
const LINE_FEED = Buffer.from('\n');

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
      const isFull = size + Buffer.byteLength(lines) > maxBytes && size > 0;
      if (isFull) await files.rename(path, `${folder}/${OLD_NAME}`);
      await writeLines(this.#deps, { name: NAME, header: HEADER, lines, at: isFull ? 0 : size, cut: false });
    });
  }

  /** All that are kept, oldest first; torn lines are left out, and one that was added again after a fault is there once. */
  async list(): Promise<RejectedEntry[]> {
    return (await this.#read()).entries;
  }

  /** Keeps all but these, and what cannot be understood as it is: a person may see what it was. */
  forget(sent: readonly ResolvedEntry[]): Promise<void> {
    return this.#changes.run(async () => {
      const { files, folder } = this.#deps;
      const names = new Set(sent.map(nameOf));
      const { entries, others } = await this.#read();
      const lines = entries.filter((entry) => !names.has(nameOf(entry))).map((entry) => `${sealJson(entry)}\n`);
      await writeDurably(
        files,
        `${folder}/${NAME}`,
        Buffer.concat([Buffer.from(HEADER), ...others, Buffer.from(lines.join(''))]),
        {
          mode: GROUP_MODE,
        },
      );
      await files.unlink(`${folder}/${OLD_NAME}`).catch(undefinedWhenMissing);
    });
  }

  /** `others`: lines that are no entry, with their line feeds. */
  async #read(): Promise<{ readonly entries: RejectedEntry[]; readonly others: Buffer[] }> {
    const entries = new Map<string, RejectedEntry>();
    const others: Buffer[] = [];
    for (const name of [OLD_NAME, NAME]) {
      const bytes = await readWhole(this.#deps.files, `${this.#deps.folder}/${name}`, SMALL_FILE);
      for (const line of bytes === undefined ? [] : linesOf(bytes)) {
        const text = line.toString();
        const entry = parseRejected(text);
        if (entry !== undefined) entries.set(nameOf(entry), entry);
        else if (text !== '' && `${text}\n` !== HEADER) others.push(Buffer.concat([line, LINE_FEED]));
      }
    }
    return { entries: [...entries.values()], others };
  }
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

/** By bytes: a damaged line need not be UTF-8. */
function* linesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; ) {
    const found = bytes.indexOf(LINE_FEED, at);
    const end = found === -1 ? bytes.length : found;
    yield bytes.subarray(at, end);
    at = end + 1;
  }
}

function parseRejected(line: string): RejectedEntry | undefined {
  try {
    const entry = unsealJson(line, OWN_JSON);
    const isEntry = isJsonObject(entry) && typeof entry.key === 'string' && typeof entry.sequence === 'number';
    // A line of anything else does not have these.
    return isEntry ? (entry as unknown as RejectedEntry) : undefined;
  } catch {
    return undefined;
  }
}
