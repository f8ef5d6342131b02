/**
 * What was delivered, and what was counted: the acknowledged ranges, the counters, and the ledger cells not yet in their file. One
 * small file, written in place and not synced, because its loss only re-sends; two of them in turns of a minute, so that a cut in the
 * middle of a write leaves the other. All of it is one piece: what is re-sent after a loss is also counted again, once.
 */
import { crc32 } from 'node:zlib';
import type { Clock } from '../host/clock.ts';
import { type JsonValue, parseJson, stringifyJson } from '../host/json.ts';
import { type LedgerCell, LedgerCells } from './delivery-ledger.ts';
import { type FileLayer, type OpenFile, readAll } from './file-layer.ts';
import { type SequenceRange, SequenceRanges } from './sequence-ranges.ts';

export interface OutboxCounters {
  /** Entries refused by the platform and kept in `rejected`. */
  rejected: number;
  /** Entries decimated away. */
  thinned: number;
  /** Entries that gave way undelivered: to age, to the bound, or in memory. */
  dropped: number;
  /** Entries that damage on the disk took. */
  damaged: number;
  /** Files and parts of files that were moved to `set-aside`. */
  setAside: number;
  /** Bytes handed to the disk, in whole pages; the file system's own journal comes on top. */
  diskBytes: number;
}

const FORMAT = 'turnstone-outbox-delivery';
const VERSION = 1;
const NAMES = ['delivered-0.state', 'delivered-1.state'] as const;
/** Which of the two is written changes after this long: by then the kernel has written the other one back. */
const TURN_MS = 60_000;
/** Beyond this the shortest ranges are not written: they would be sent again after a crash. */
const MOST_RANGES = 2_000;

interface StateBody {
  readonly number: number;
  readonly acknowledged: readonly SequenceRange[];
  readonly counters: OutboxCounters;
  readonly flush: number;
  readonly cells: readonly LedgerCell[];
}

interface DeliveryStateDeps {
  readonly files: FileLayer;
  readonly folder: string;
  readonly clock: Clock;
}

export class DeliveryState {
  readonly acknowledged: SequenceRanges;
  readonly counters: OutboxCounters;
  readonly cells: LedgerCells;
  /** The counters as they were when this was opened. */
  readonly countersAtOpen: Readonly<OutboxCounters>;
  /** Of the ledger: the last flush whose lines count. */
  flush: number;
  readonly #deps: DeliveryStateDeps;
  readonly #open: (OpenFile | undefined)[] = [undefined, undefined];
  #number: number;
  #dirty = false;

  private constructor(deps: DeliveryStateDeps, body: StateBody | undefined) {
    this.#deps = deps;
    this.acknowledged = new SequenceRanges(body?.acknowledged);
    this.counters = { rejected: 0, thinned: 0, dropped: 0, damaged: 0, setAside: 0, diskBytes: 0, ...body?.counters };
    this.countersAtOpen = { ...this.counters };
    this.cells = new LedgerCells(body?.cells);
    this.flush = body?.flush ?? 0;
    this.#number = body?.number ?? 0;
  }

  static async open(deps: DeliveryStateDeps, setAside: (name: string) => Promise<void>): Promise<DeliveryState> {
    let newest: StateBody | undefined;
    for (const name of NAMES) {
      const bytes = await readAll(deps.files, `${deps.folder}/${name}`);
      if (bytes === undefined || bytes.length === 0) continue;
      const body = parseState(Buffer.from(bytes));
      if (body === undefined) await setAside(name);
      else if (newest === undefined || body.number > newest.number) newest = body;
    }
    return new DeliveryState(deps, newest);
  }

  get dirty(): boolean {
    return this.#dirty;
  }

  count(counter: keyof OutboxCounters, by: number): void {
    this.counters[counter] += by;
    this.#dirty = true;
  }

  touch(): void {
    this.#dirty = true;
  }

  /** Writes what changed since; with `durable`, also syncs it. */
  async save(options: { readonly durable?: boolean } = {}): Promise<void> {
    if (!this.#dirty && options.durable !== true) return;
    this.#dirty = false;
    this.#number += 1;
    const body: StateBody = {
      number: this.#number,
      acknowledged: longest(this.acknowledged.list()),
      counters: this.counters,
      flush: this.flush,
      cells: this.cells.list(),
    };
    const text = stringifyJson(body as unknown as JsonValue);
    const header = stringifyJson({ format: FORMAT, version: VERSION, bytes: Buffer.byteLength(text), crc32: crc32(text) });
    const bytes = Buffer.from(`${header}\n${text}\n`);
    const turn = Math.floor(this.#deps.clock.monotonicMs() / TURN_MS) % 2;
    try {
      const file = await this.#file(turn);
      await file.write(bytes, 0);
      if (options.durable === true) await file.datasync();
    } catch (error) {
      this.#dirty = true;
      throw error;
    }
  }

  async close(): Promise<void> {
    for (const file of this.#open.splice(0)) await file?.close();
  }

  async #file(turn: number): Promise<OpenFile> {
    const known = this.#open[turn];
    if (known !== undefined) return known;
    const path = `${this.#deps.folder}/${NAMES[turn]}`;
    const file = await this.#deps.files.open(path, 'update').catch(() => this.#deps.files.open(path, 'replace'));
    this.#open[turn] = file;
    return file;
  }
}

function longest(ranges: readonly SequenceRange[]): readonly SequenceRange[] {
  if (ranges.length <= MOST_RANGES) return ranges;
  const width = ([first, last]: SequenceRange): number => last - first;
  const kept = new Set([...ranges].sort((a, b) => width(b) - width(a)).slice(0, MOST_RANGES));
  return ranges.filter((range) => kept.has(range));
}

function parseState(bytes: Buffer): StateBody | undefined {
  try {
    const end = bytes.indexOf(0x0a);
    const header = parseJson(bytes.toString('utf8', 0, end)) as { format?: string; version?: number; bytes?: number; crc32?: number };
    const text = bytes.subarray(end + 1, end + 1 + (header.bytes ?? 0));
    if (header.format !== FORMAT || header.version !== VERSION || crc32(text) !== header.crc32) return undefined;
    return parseJson(text.toString()) as unknown as StateBody;
  } catch {
    return undefined;
  }
}
