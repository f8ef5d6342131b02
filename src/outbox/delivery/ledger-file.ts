/** The ledger on disk: a log of flushed cells, which goes on in another file at a bound; the oldest files go. */
import { RecordLog } from '../../store/record-log.ts';
import type { OutboxPlace } from '../segments/outbox-place.ts';
import { SMALL_FILE } from '../segments/small-file.ts';
import { type FlushedCell, type LedgerCell, LedgerCells, ledgerLine, parseLedgerLine } from './delivery-ledger.ts';

const NAME = /^ledger-(\d{10})\.jsonl$/;
const KEPT_FILES = 8;

export interface LedgerQuery {
  readonly key?: string;
  /** UTC epoch ms: hours that end after `fromMs` and begin before `toMs`. */
  readonly fromMs?: number;
  readonly toMs?: number;
}

export interface LedgerFileDeps extends Pick<OutboxPlace, 'files' | 'folder'> {
  /** Size past which it goes on in another file. */
  readonly maxBytes: number;
}

export class LedgerFile {
  readonly #deps: LedgerFileDeps;
  /** The file that is written: its log knows what a flush that failed has left in it. */
  #newest: { readonly name: string; readonly log: RecordLog<FlushedCell> } | undefined;
  /** Counts the begins and ends of flushes. */
  #changes = 0;

  constructor(deps: LedgerFileDeps) {
    this.#deps = deps;
  }

  /** Cuts off lines of flushes that the delivery state does not know: what they counted will be delivered, and counted, again. */
  async open(lastFlush: number): Promise<void> {
    const newest = (await this.#names()).at(-1);
    if (newest !== undefined) await this.#logToWrite(newest).cutFrom(({ flush }) => flush > lastFlush);
  }

  /** Adds one flush; durable when it resolves. */
  async add(flush: number, cells: readonly LedgerCell[]): Promise<void> {
    const names = await this.#names();
    const log = this.#logToWrite(await this.#nameOfNext(names, flush));
    const isNew = (await log.size()) === 0;
    this.#changes += 1;
    const records = cells.map((cell) => ({ flush, cell }));
    await log.append(records, { isDurable: true }).finally(() => (this.#changes += 1));
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
    for (const name of await this.#names())
      for (const { cell } of (await this.#logOf(name).read()).values) if (matches(cell, query)) cells.merge(cell);
    return cells;
  }

  /** Where the next flush goes. */
  async #nameOfNext(names: readonly string[], flush: number): Promise<string> {
    const newest = names.at(-1);
    // The newest by its name, too, where the count of flushes was lost.
    const number = Math.max(flush, 1 + Number(NAME.exec(newest ?? '')?.[1] ?? 0));
    const another = `ledger-${String(number).padStart(10, '0')}.jsonl`;
    if (newest === undefined) return another;
    return (await this.#logToWrite(newest).size()) > this.#deps.maxBytes ? another : newest;
  }

  #logToWrite(name: string): RecordLog<FlushedCell> {
    if (this.#newest?.name !== name) this.#newest = { name, log: logOf(this.#deps, name) };
    return this.#newest.log;
  }

  #logOf(name: string): RecordLog<FlushedCell> {
    return this.#newest?.name === name ? this.#newest.log : logOf(this.#deps, name);
  }

  async #names(): Promise<string[]> {
    return (await this.#deps.files.list(this.#deps.folder)).filter((name) => NAME.test(name)).sort();
  }
}

function logOf({ files, folder }: LedgerFileDeps, name: string): RecordLog<FlushedCell> {
  return new RecordLog({
    files,
    path: `${folder}/${name}`,
    format: 'turnstone-outbox-ledger',
    version: 1,
    limitBytes: SMALL_FILE.limitBytes,
    lineOf: ledgerLine,
    recordOf: parseLedgerLine,
  });
}

function matches(cell: LedgerCell, { key, fromMs, toMs }: LedgerQuery): boolean {
  if (key !== undefined && cell.key !== key) return false;
  return (
    cell.hourMs + 3_600_000 > (fromMs ?? Number.NEGATIVE_INFINITY) && cell.hourMs < (toMs ?? Number.POSITIVE_INFINITY)
  );
}
