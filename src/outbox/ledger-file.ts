/** The ledger on disk: lines of flushed cells, in files that are begun anew at a bound; the oldest go. */

import { readWhole } from '../host/durable-file.ts';
import type { Files } from '../host/files.ts';
import { type LedgerCell, LedgerCells, ledgerLines, parseLedgerLine } from './delivery-ledger.ts';
import { SMALL_FILE } from './small-file.ts';

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
  readonly #files: Files;
  readonly #folder: string;
  readonly #maxBytes: number;
  /** What a flush that failed may have left behind the lines that count; nobody reads it, and the next one begins there. */
  #failed: { readonly name: string; readonly size: number } | undefined;
  /** Counts the begins and ends of flushes. */
  #changes = 0;

  /** `maxBytes` bounds each of the eight files. */
  constructor(deps: { readonly files: Files; readonly folder: string; readonly maxBytes: number }) {
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
    const text = (await readWhole(this.#files, path, SMALL_FILE))?.toString('latin1') ?? '';
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
    const failed = this.#failed;
    const { name, size } = failed ?? (await this.#end(names, flush));
    const isNew = size === 0;
    this.#failed = { name, size };
    this.#changes += 1;
    const file = await this.#files.open(`${this.#folder}/${name}`, isNew ? 'replace' : 'update');
    try {
      if (failed !== undefined) await file.truncate(size);
      // A line cut off by a crash must not swallow the first of this flush.
      const lines = ledgerLines(flush, cells);
      await file.write(Buffer.from(isNew ? HEADER + lines : `\n${lines}`), size);
      await file.datasync();
    } finally {
      await file.close();
    }
    if (isNew) await this.#files.syncFolder(this.#folder);
    this.#failed = undefined;
    this.#changes += 1;
    if (!isNew) return;
    for (const old of names.slice(0, Math.max(0, names.length + 1 - KEPT_FILES))) await this.#files.unlink(`${this.#folder}/${old}`);
  }

  /**
   * All cells that match, with those that no flush has taken yet. Nothing is kept from being written meanwhile: what is read in the middle of a
   * flush is read again.
   */
  async read(query: LedgerQuery, unflushed: LedgerCells): Promise<LedgerCells> {
    for (;;) {
      const changes = this.#changes;
      const cells = await this.#readOnce(query);
      if (changes !== this.#changes) continue;
      for (const cell of unflushed.list()) if (matches(cell, query)) cells.merge(cell);
      return cells;
    }
  }

  async #readOnce(query: LedgerQuery): Promise<LedgerCells> {
    const cells = new LedgerCells();
    for (const name of await this.#names()) {
      const bytes = await readWhole(this.#files, `${this.#folder}/${name}`, SMALL_FILE);
      const whole = this.#failed?.name === name ? bytes?.subarray(0, this.#failed.size) : bytes;
      let ofFlush = new Map<string, LedgerCell>();
      let last: number | undefined;
      for (const line of (whole?.toString() ?? '').split('\n')) {
        const { flush, cell } = parseLedgerLine(line) ?? {};
        if (cell === undefined || !matches(cell, query)) continue;
        if (flush !== last) {
          for (const one of ofFlush.values()) cells.merge(one);
          ofFlush = new Map();
          last = flush;
        }
        // A flush names a cell once; earlier releases wrote it again behind a try that had failed.
        ofFlush.set(`${cell.hourMs}\0${cell.device}\0${cell.key}`, cell);
      }
      for (const one of ofFlush.values()) cells.merge(one);
    }
    return cells;
  }

  /** Where the next flush goes. */
  async #end(names: readonly string[], flush: number): Promise<{ readonly name: string; readonly size: number }> {
    const another = `ledger-${String(flush).padStart(10, '0')}.jsonl`;
    const name = names.at(-1) ?? another;
    const size = (await this.#files.facts(`${this.#folder}/${name}`))?.bytes ?? 0;
    return size > this.#maxBytes ? { name: another, size: 0 } : { name, size };
  }

  async #names(): Promise<string[]> {
    return (await this.#files.list(this.#folder)).filter((name) => NAME.test(name)).sort();
  }
}

/** All that match, with those that are not in the files yet. */
export async function readCells(
  { ledger, state }: { readonly ledger: LedgerFile; readonly state: { readonly cells: LedgerCells } },
  query: LedgerQuery,
): Promise<readonly LedgerCell[]> {
  return (await ledger.read(query, state.cells)).list();
}

function matches(cell: LedgerCell, { key, fromMs, toMs }: LedgerQuery): boolean {
  if (key !== undefined && cell.key !== key) return false;
  return cell.hourMs + 3_600_000 > (fromMs ?? Number.NEGATIVE_INFINITY) && cell.hourMs < (toMs ?? Number.POSITIVE_INFINITY);
}
