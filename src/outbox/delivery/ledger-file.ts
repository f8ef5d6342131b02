/** The ledger on disk: lines of flushed cells, in files that are begun anew at a bound; the oldest go. */
import { readWhole } from '../../host/durable-file.ts';
import { type LineFileDeps, SMALL_FILE, writeLines } from '../segments/small-file.ts';
import { type LedgerCell, LedgerCells, ledgerLines, parseLedgerLine } from './delivery-ledger.ts';

const NAME = /^ledger-(\d{10})\.jsonl$/;
const HEADER = `${JSON.stringify({ format: 'turnstone-outbox-ledger', version: 1 })}\n`;
const KEPT_FILES = 8;
const LINE_FEED = 0x0a;

export interface LedgerQuery {
  readonly key?: string;
  /** UTC epoch ms: hours that end after `fromMs` and begin before `toMs`. */
  readonly fromMs?: number;
  readonly toMs?: number;
}

export class LedgerFile {
  readonly #deps: LineFileDeps;
  /** Start of what a failed flush may have left behind the lines that count: nobody reads it, and the next flush begins there. */
  #failed: { readonly name: string; readonly size: number } | undefined;
  /** Counts the begins and ends of flushes. */
  #changes = 0;

  constructor(deps: LineFileDeps) {
    this.#deps = deps;
  }

  /** Cuts off lines of flushes that the delivery state does not know: what they counted will be delivered, and counted, again. */
  async open(lastFlush: number): Promise<void> {
    const names = await this.#names();
    const newest = names.at(-1);
    if (newest === undefined) return;
    const path = `${this.#deps.folder}/${newest}`;
    const bytes = (await readWhole(this.#deps.files, path, SMALL_FILE)) ?? Buffer.alloc(0);
    let keep = 0;
    // By bytes, which the file is cut at: keys and values are UTF-8, and so is what a line's check value is of.
    while (keep < bytes.length) {
      const lineFeed = bytes.indexOf(LINE_FEED, keep);
      const end = lineFeed === -1 ? bytes.length : lineFeed;
      const parsed = parseLedgerLine(bytes.toString('utf8', keep, end));
      if (parsed !== undefined && parsed.flush > lastFlush) break;
      keep = end + 1;
    }
    if (keep >= bytes.length) return;
    const file = await this.#deps.files.open(path, 'update');
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
    await writeLines(this.#deps, {
      name,
      header: HEADER,
      lines: ledgerLines(flush, cells),
      at: size,
      cut: failed !== undefined,
    });
    this.#failed = undefined;
    this.#changes += 1;
    if (!isNew) return;
    for (const old of names.slice(0, Math.max(0, names.length + 1 - KEPT_FILES)))
      await this.#deps.files.unlink(`${this.#deps.folder}/${old}`);
  }

  /** All cells that match, with those not flushed yet. Writing goes on meanwhile: what is read in the middle of a flush is read again. */
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
      const bytes = await readWhole(this.#deps.files, `${this.#deps.folder}/${name}`, SMALL_FILE);
      const whole = this.#failed?.name === name ? bytes?.subarray(0, this.#failed.size) : bytes;
      const written = new Map<string, LedgerCell>();
      let [runs, last] = [0, 0];
      for (const line of (whole?.toString() ?? '').split('\n')) {
        const { flush, cell } = parseLedgerLine(line) ?? {};
        if (flush === undefined || cell === undefined || !matches(cell, query)) continue;
        if (flush !== last) runs += 1;
        last = flush;
        // A flush names a cell once; earlier releases wrote it again behind a try that had failed. Numbers come again where their count was lost.
        written.set(`${runs}\0${cell.hourMs}\0${cell.device}\0${cell.key}`, cell);
      }
      for (const cell of written.values()) cells.merge(cell);
    }
    return cells;
  }

  /** Where the next flush goes. */
  async #end(names: readonly string[], flush: number): Promise<{ readonly name: string; readonly size: number }> {
    const newest = names.at(-1);
    // The newest by its name, too, where the count of flushes was lost.
    const number = Math.max(flush, 1 + Number(NAME.exec(newest ?? '')?.[1] ?? 0));
    const another = `ledger-${String(number).padStart(10, '0')}.jsonl`;
    const name = newest ?? another;
    const size = (await this.#deps.files.facts(`${this.#deps.folder}/${name}`))?.bytes ?? 0;
    return size > this.#deps.maxBytes ? { name: another, size: 0 } : { name, size };
  }

  async #names(): Promise<string[]> {
    return (await this.#deps.files.list(this.#deps.folder)).filter((name) => NAME.test(name)).sort();
  }
}

function matches(cell: LedgerCell, { key, fromMs, toMs }: LedgerQuery): boolean {
  if (key !== undefined && cell.key !== key) return false;
  return (
    cell.hourMs + 3_600_000 > (fromMs ?? Number.NEGATIVE_INFINITY) && cell.hourMs < (toMs ?? Number.POSITIVE_INFINITY)
  );
}
