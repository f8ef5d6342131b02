/** The ledger on disk: a log of flushed cells, which goes on in another file at a bound; the oldest files go. */
import { RecordLogs } from '../../store/record-logs.ts';
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
  readonly #logs: RecordLogs<FlushedCell>;
  readonly #maxBytes: number;
  /** Counts the begins and ends of flushes. */
  #changes = 0;

  constructor({ files, folder, maxBytes }: LedgerFileDeps) {
    this.#maxBytes = maxBytes;
    this.#logs = new RecordLogs({
      files,
      folder,
      name: NAME,
      format: 'turnstone-outbox-ledger',
      version: 1,
      limitBytes: SMALL_FILE.limitBytes,
      lineOf: ledgerLine,
      recordOf: parseLedgerLine,
    });
  }

  /** Cuts off lines of flushes that the delivery state does not know: what they counted will be delivered, and counted, again. */
  async open(lastFlush: number): Promise<void> {
    const newest = (await this.#logs.names()).at(-1);
    if (newest !== undefined) await this.#logs.logToWrite(newest).cutFrom(({ flush }) => flush > lastFlush);
  }

  /** Adds one flush; durable when it resolves. */
  async add(flush: number, cells: readonly LedgerCell[]): Promise<void> {
    const names = await this.#logs.names();
    const log = this.#logs.logToWrite(await this.#nameOfNext(names, flush));
    const isNew = (await log.size()) === 0;
    this.#changes += 1;
    const records = cells.map((cell) => ({ flush, cell }));
    await log.append(records, { isDurable: true }).finally(() => (this.#changes += 1));
    if (!isNew) return;
    for (const old of names.slice(0, Math.max(0, names.length + 1 - KEPT_FILES))) await this.#logs.remove(old);
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
    for (const name of await this.#logs.names())
      for (const { cell } of (await this.#logs.logToRead(name).read()).values)
        if (matches(cell, query)) cells.merge(cell);
    return cells;
  }

  /** Where the next flush goes. */
  async #nameOfNext(names: readonly string[], flush: number): Promise<string> {
    const newest = names.at(-1);
    // The newest by its name, too, where the count of flushes was lost.
    const number = Math.max(flush, 1 + Number(NAME.exec(newest ?? '')?.[1] ?? 0));
    const another = `ledger-${String(number).padStart(10, '0')}.jsonl`;
    if (newest === undefined) return another;
    return (await this.#logs.logToWrite(newest).size()) > this.#maxBytes ? another : newest;
  }
}

function matches(cell: LedgerCell, { key, fromMs, toMs }: LedgerQuery): boolean {
  if (key !== undefined && cell.key !== key) return false;
  return (
    cell.hourMs + 3_600_000 > (fromMs ?? Number.NEGATIVE_INFINITY) && cell.hourMs < (toMs ?? Number.POSITIVE_INFINITY)
  );
}
