/**
 * The data folder: one file of JSON lines, appended before a request is answered and read again at start. It survives the end of the
 * process at any moment; a torn last line is cut off. Nothing is synced: this platform is a bench, and its machine keeps running.
 */
import { closeSync, createReadStream, ftruncateSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { isJsonObject, type JsonObject, parseJsonNumbers, stringifyJson } from '../host/json.ts';
import { LineReader } from '../host/line-reader.ts';
import { spelledNumber } from './stored-value.ts';

const FILE = 'platform.jsonl';
const HEAD: JsonObject = { t: 'format', format: 'turnstone-local-platform', version: 1 };

export class Journal {
  readonly #file: number;
  #lines: string[] = [];
  #closed = false;

  private constructor(file: number) {
    this.#file = file;
  }

  /** Opens the folder's file, giving every record of it to `replay` in order. Throws when the file is another program's. */
  static async open(folder: string, replay: (record: JsonObject) => void): Promise<Journal> {
    mkdirSync(folder, { recursive: true, mode: 0o750 });
    const path = join(folder, FILE);
    const file = openSync(path, 'a+', 0o600);
    let wholeBytes = 0;
    try {
      wholeBytes = await readLines(path, (line) => {
        const record = recordIn(line);
        if (record?.t === 'format') checkFormat(record);
        else if (record !== undefined) replay(record);
      });
      ftruncateSync(file, wholeBytes);
    } catch (error) {
      closeSync(file);
      throw error;
    }
    const journal = new Journal(file);
    if (wholeBytes === 0) journal.append(HEAD);
    return journal;
  }

  /** Written when the code that runs now is done, together with what else it appends: before any answer of it leaves. */
  append(record: JsonObject): void {
    if (this.#closed) return;
    if (this.#lines.length === 0) queueMicrotask(() => this.#write());
    this.#lines.push(`${stringifyJson(record)}\n`);
  }

  /** Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#write();
    this.#closed = true;
    closeSync(this.#file);
  }

  #write(): void {
    const text = this.#lines.splice(0).join('');
    if (text !== '') writeSync(this.#file, text);
  }
}

/** Calls back for each whole line; answers the bytes up to the end of the last one. */
async function readLines(path: string, onLine: (line: string) => void): Promise<number> {
  const reader = new LineReader(Number.POSITIVE_INFINITY);
  let bytes = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    for (const line of reader.readLines(chunk) ?? []) onLine(line);
  }
  return bytes - reader.heldBytes;
}

/** A damaged line costs only itself. */
function recordIn(line: string): JsonObject | undefined {
  try {
    const record = parseJsonNumbers(line, spelledNumber, { depth: 512 });
    return isJsonObject(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

function checkFormat({ format, version }: JsonObject): void {
  if (format === HEAD.format && version === HEAD.version) return;
  throw new Error(
    `the data folder holds ${String(format)} version ${String(version)}, not ${String(HEAD.format)} version ${String(HEAD.version)}`,
  );
}
