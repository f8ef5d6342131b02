/** The ledger on disk: lines of flushed cells, in files that are begun anew at a bound; the oldest go. */

import { type LedgerCell, type LedgerCells, ledgerLines, parseLedgerLine } from './delivery-ledger.ts';
import type { FileLayer } from './file-layer.ts';
import { readAll } from './file-layer.ts';

const NAME = /^ledger-(\d{10})\.jsonl$/;
const HEADER = `${JSON.stringify({ format: 'turnstone-outbox-ledger', version: 1 })}\n`;
const KEPT_FILES = 8;

export interface LedgerQuery {
  readonly key?: string;
  /** UTC epoch ms: hours that end after `fromMs` and begin before `toMs`. */
  readonly fromMs?: number;
  readonly toMs?: number;
}

export class LedgerFile {
  readonly #files: FileLayer;
  readonly #folder: string;
  readonly #maxBytes: number;

  /** `maxBytes` bounds each of the eight files. */
  constructor(deps: { readonly files: FileLayer; readonly folder: string; readonly maxBytes: number }) {
    this.#files = deps.files;
    this.#folder = deps.folder;
    this.#maxBytes = deps.maxBytes;
  }

  /** Cuts off lines of flushes that the delivery state does not know: what they counted will be delivered, and counted, again. */
  async open(lastFlush: number): Promise<void> {
    const names = await this.#names();
    const newest = names.at(-1);
    if (newest === undefined) return;
    const path = `${this.#folder}/${newest}`;
    const text = Buffer.from((await readAll(this.#files, path)) ?? []).toString('latin1');
    let keep = 0;
    for (const line of text.split('\n')) {
      const parsed = parseLedgerLine(line);
      if (parsed !== undefined && parsed.flush > lastFlush) break;
      keep += line.length + 1;
    }
    if (keep >= text.length) return;
    const file = await this.#files.open(path, 'update');
    await file.truncate(keep).finally(() => file.close());
  }

  /** Adds one flush; durable when it resolves. */
  async add(flush: number, cells: readonly LedgerCell[]): Promise<void> {
    const names = await this.#names();
    const newest = names.at(-1);
    const size = newest === undefined ? 0 : await this.#files.size(`${this.#folder}/${newest}`);
    const isNew = newest === undefined || size > this.#maxBytes;
    const name = isNew ? `ledger-${String(flush).padStart(10, '0')}.jsonl` : newest;
    const file = await this.#files.open(`${this.#folder}/${name}`, isNew ? 'replace' : 'update');
    try {
      // A line cut off by a crash must not swallow the first of this flush.
      const lines = ledgerLines(flush, cells);
      await file.write(Buffer.from(isNew ? HEADER + lines : `\n${lines}`), isNew ? 0 : size);
      await file.datasync();
    } finally {
      await file.close();
    }
    if (!isNew) return;
    await this.#files.syncFolder(this.#folder);
    for (const old of names.slice(0, Math.max(0, names.length + 1 - KEPT_FILES))) await this.#files.unlink(`${this.#folder}/${old}`);
  }

  /** Adds the lines of each cell up into `cells`. */
  async read(query: LedgerQuery, cells: LedgerCells): Promise<void> {
    for (const name of await this.#names()) {
      const bytes = await readAll(this.#files, `${this.#folder}/${name}`);
      for (const line of Buffer.from(bytes ?? [])
        .toString()
        .split('\n')) {
        const cell = parseLedgerLine(line)?.cell;
        if (cell !== undefined && matches(cell, query)) cells.merge(cell);
      }
    }
  }

  async #names(): Promise<string[]> {
    return (await this.#files.list(this.#folder)).filter((name) => NAME.test(name)).sort();
  }
}

export function matches(cell: LedgerCell, { key, fromMs, toMs }: LedgerQuery): boolean {
  if (key !== undefined && cell.key !== key) return false;
  return cell.hourMs + 3_600_000 > (fromMs ?? Number.NEGATIVE_INFINITY) && cell.hourMs < (toMs ?? Number.POSITIVE_INFINITY);
}
