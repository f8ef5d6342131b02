/**
 * A log of records in one file: a line that names format and version, and a line for each record, which carries a check value. A line feed ends a
 * record, so that reading finds the next one behind any damage. What stands behind the last whole record is the rest of a write that a crash or a
 * full disk cut off: nobody reads it, and the next write begins where it began.
 */
import { dirname } from 'node:path';
import type { Files, OpenFile } from '../host/files.ts';
import { readWhole } from '../host/whole-file.ts';
import { isJsonObject, type JsonObject, OWN_JSON } from '../values/json.ts';
import { GROUP_MODE, writeDurably } from './durable-file.ts';
import { fieldsOf, isSealed, type StateFormat, unsealJson } from './sealed-json.ts';

export interface RecordLogDeps<Value> extends StateFormat {
  readonly files: Files;
  readonly path: string;
  /** Largest size that is read. */
  readonly limitBytes: number;
  /** Once this much was added to what was written at once, a write puts the records in force in place of all; undefined: the log only grows. */
  readonly compactAfterBytes?: number;
  /** Permissions of the file; default 0640. */
  readonly mode?: number;
  /** Makes the line of a record, without its line feed: `sealJson` ends it. */
  readonly lineOf: (value: Value) => string;
  /** Returns the record of a line; undefined for a line of anything else. `sealedObject` reads what `sealJson` made. */
  readonly recordOf: (line: string) => Value | undefined;
}

export interface ReadRecords<Value> {
  readonly values: Value[];
  /** Lines that are no record. */
  readonly damaged: readonly Buffer[];
  /** The file names another format, or a version that is not known: nothing of it was read, and the next write takes its place. */
  readonly isForeign: boolean;
}

export interface AppendOptions<Value> {
  /** True when the records survive a power cut once they are written; else a kill alone. */
  readonly isDurable: boolean;
  /** Makes the records in force, the added ones among them: written in place of all when much was added, and after a write that failed. */
  readonly inForce?: () => readonly Value[];
}

interface PlacedRecord<Value> {
  readonly value: Value;
  /** Where its line begins. */
  readonly at: number;
}

const LINE_FEED = 0x0a;
const LINE_FEED_BYTES = Buffer.from('\n');
const LOOK_BACK_BYTES = 64 * 1024;

/** One write at a time. A read beside an append gives what was there before it. */
export class RecordLog<Value> {
  readonly #deps: RecordLogDeps<Value>;
  readonly #header: string;
  /** Where the last whole record ends; undefined while nobody has looked. */
  #end: number | undefined;
  /** Size of what was written at once last; 0 while nobody has. */
  #wholeBytes = 0;
  /** A write failed: the file lacks records that are in force. */
  #isBehind = false;

  constructor(deps: RecordLogDeps<Value>) {
    this.#deps = deps;
    this.#header = `${JSON.stringify({ format: deps.format, version: deps.version })}\n`;
  }

  /** @param readFile reads the file, where its owner has a patience of its own. @throws AgentError `host/read-failed`. */
  async read(readFile?: () => Promise<Buffer | undefined>): Promise<ReadRecords<Value>> {
    const { placed, damaged, isForeign } = await this.#read(readFile);
    return { values: placed.map(({ value }) => value), damaged, isForeign };
  }

  /** Adds records at the end, in one write. @throws the disk's fault: what it left of them is cut off before the next write. */
  async append(values: readonly Value[], { isDurable, inForce }: AppendOptions<Value>): Promise<void> {
    const { compactAfterBytes = Number.POSITIVE_INFINITY } = this.#deps;
    const lines = Buffer.from(this.#linesOf(values));
    const isPastBound = (await this.size()) + lines.length - this.#wholeBytes > compactAfterBytes;
    if (inForce !== undefined && (this.#isBehind || isPastBound)) return await this.replace(inForce());
    this.#isBehind = true;
    await this.#write(lines, isDurable);
    this.#isBehind = false;
  }

  /** Exchanges all records at once, durably: until then the file stays as it is. @param damaged lines that stay as they are, before the records. */
  async replace(values: readonly Value[], damaged: readonly Buffer[] = []): Promise<void> {
    const { files, path, mode = GROUP_MODE } = this.#deps;
    const kept = damaged.flatMap((line) => [line, LINE_FEED_BYTES]);
    const content = Buffer.concat([Buffer.from(this.#header), ...kept, Buffer.from(this.#linesOf(values))]);
    await files.makeFolder(dirname(path));
    await writeDurably(files, path, content, { mode });
    this.#end = content.length;
    this.#wholeBytes = content.length;
    this.#isBehind = false;
  }

  /** Cuts off the first record that is not to stay, and all behind it. */
  async cutFrom(isCut: (value: Value) => boolean): Promise<void> {
    const { placed } = await this.#read();
    const first = placed.find(({ value }) => isCut(value));
    if (first === undefined) return;
    this.#end = first.at;
    const file = await this.#deps.files.open(this.#deps.path, 'update');
    await this.#cutTail(file).finally(() => file.close());
  }

  /** Size of the whole records; 0 without a file. */
  async size(): Promise<number> {
    return this.#end ?? (await this.#deps.files.facts(this.#deps.path))?.bytes ?? 0;
  }

  async #write(lines: Buffer, isDurable: boolean): Promise<void> {
    const { files, path } = this.#deps;
    const file = await this.#open();
    try {
      const end = await this.#cutTail(file);
      const bytes = end === 0 ? Buffer.concat([Buffer.from(this.#header), lines]) : lines;
      if (bytes.length > 0) await file.write(bytes, end);
      if (isDurable) await file.datasync();
      if (isDurable && end === 0) await files.syncFolder(dirname(path));
      this.#end = end + bytes.length;
    } finally {
      await file.close();
    }
  }

  async #open(): Promise<OpenFile> {
    const { files, path, mode = GROUP_MODE } = this.#deps;
    await files.makeFolder(dirname(path));
    return await files.open(path, 'keep', { mode });
  }

  /** Returns where the last whole record ends, which is then the end of the file. */
  async #cutTail(file: OpenFile): Promise<number> {
    const size = await file.size();
    // A file that is shorter than it was is not the one that was written.
    if (this.#end === undefined || this.#end > size) this.#end = await endOfLines(file, size);
    if (this.#end < size) await file.truncate(this.#end);
    return this.#end;
  }

  async #read(readFile?: () => Promise<Buffer | undefined>): Promise<{
    readonly placed: readonly PlacedRecord<Value>[];
    readonly damaged: readonly Buffer[];
    readonly isForeign: boolean;
  }> {
    const { files, path, limitBytes, recordOf } = this.#deps;
    const end = this.#end;
    const whole = await (readFile?.() ?? readWhole(files, path, { limitBytes }));
    const bytes = whole?.subarray(0, end) ?? Buffer.alloc(0);
    const placed: PlacedRecord<Value>[] = [];
    const damaged: Buffer[] = [];
    let at = 0;
    for (let to = bytes.indexOf(LINE_FEED); to !== -1; to = bytes.indexOf(LINE_FEED, at)) {
      const line = bytes.subarray(at, to);
      const text = line.toString();
      const value = text === '' ? undefined : recordOf(text);
      if (value !== undefined) placed.push({ value, at });
      else if (at === 0 && isOfOthers(text, this.#deps)) {
        this.#end ??= 0;
        return { placed: [], damaged: [], isForeign: true };
      } else if (text !== '' && `${text}\n` !== this.#header) damaged.push(line);
      at = to + 1;
    }
    this.#end ??= at;
    return { placed, damaged, isForeign: false };
  }

  #linesOf(values: readonly Value[]): string {
    return values.map((value) => `${this.#deps.lineOf(value)}\n`).join('');
  }
}

/** The members of a line that `sealJson` made; undefined when it was damaged. */
export function sealedObject(line: string): JsonObject | undefined {
  if (!isSealed(line)) return undefined;
  try {
    const json = unsealJson(line, OWN_JSON);
    return isJsonObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

/** True for a whole first line of another format; a damaged one says nothing of the lines after it. */
function isOfOthers(line: string, format: StateFormat): boolean {
  try {
    unsealJson(line);
  } catch {
    return false;
  }
  try {
    fieldsOf(line, format);
    return false;
  } catch {
    return true;
  }
}

async function endOfLines(file: OpenFile, size: number): Promise<number> {
  for (let to = size; to > 0; ) {
    const from = Math.max(0, to - LOOK_BACK_BYTES);
    const piece = Buffer.alloc(to - from);
    await file.read(piece, from);
    const found = piece.lastIndexOf(LINE_FEED);
    if (found !== -1) return from + found + 1;
    to = from;
  }
  return 0;
}
