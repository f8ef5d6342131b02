/**
 * The state of delivery: the acknowledged ranges, the counters, and the ledger cells not yet in their file. One
 * small file, mostly not synced, because its loss only re-sends; two of them in turns, so that a cut in the middle of a write leaves the
 * other. All of it is one piece: what is re-sent after a loss is also counted again, once.
 */
import { crc32 } from 'node:zlib';
import { AgentError } from '../../errors/agent-error.ts';
import { endedWithin } from '../../host/bounded-wait.ts';
import { isLost } from '../../host/files.ts';
import { OWN_JSON, parseJson, stringifyJson } from '../../values/json.ts';
import { FilePair } from '../segments/file-pair.ts';
import type { OutboxPlace } from '../segments/outbox-place.ts';
import { SerialQueue } from '../segments/serial-queue.ts';
import { readSmallFile, type SmallFileDeps } from '../segments/small-file.ts';
import { type LedgerCell, LedgerCells } from './delivery-ledger.ts';
import { type SequenceRange, SequenceRanges } from './sequence-ranges.ts';

export interface OutboxCounters {
  /** Entries refused by the platform and kept in `rejected`. */
  rejected: number;
  /** Delivered entries that were sent once more after a restart of the platform. */
  resent: number;
  /** Entries decimated away. */
  thinned: number;
  /** Entries that gave way undelivered: to age, to the bound, or in memory. Here and below at least, where the end of a segment was never read. */
  dropped: number;
  /** Entries that damage on the disk took. */
  damaged: number;
  /** Files and parts of files that were moved to `set-aside`. */
  setAside: number;
  /** Bytes handed to the disk, in whole pages; the file system's own journal comes on top. */
  diskBytes: number;
}

export const LOSSES = ['rejected', 'thinned', 'dropped', 'damaged'] as const;
export type Loss = (typeof LOSSES)[number];
/** UTC epoch ms, by this machine's clock, of the last entry that was lost so; absent where none was. */
export type LastLost = { readonly [loss in Loss]?: number };

/** Losses that are telemetry; what was rejected is kept. */
export const REPORTED = ['thinned', 'dropped', 'damaged'] as const;
type Reported = Pick<OutboxCounters, (typeof REPORTED)[number]>;

const FORMAT = 'turnstone-outbox-delivery';
const VERSION = 1;
const NAMES = ['delivered-0.state', 'delivered-1.state'] as const;
/** Beyond this the shortest acknowledged ranges are not written: they would be sent again after a crash. Of the undelivered, the oldest go. */
const MAX_RANGES = 2_000;
/** Making room waits no longer for a disk that hangs. */
const SETTLED_WITHIN_MS = 1_000;

interface StateBody {
  readonly number: number;
  readonly acknowledged: readonly SequenceRange[];
  readonly undelivered: readonly SequenceRange[];
  readonly counters: OutboxCounters;
  readonly lastLost: LastLost;
  readonly reported: Reported;
  readonly flush: number;
  readonly cells: readonly LedgerCell[];
}

type DeliveryStateDeps = Pick<OutboxPlace, 'clock'> & SmallFileDeps;

export class DeliveryState {
  readonly acknowledged: SequenceRanges;
  /** Acknowledged entries that were refused or given up one by one: the ledger never counted them, and nobody sends them again unasked. */
  readonly undelivered: SequenceRanges;
  readonly counters: OutboxCounters;
  readonly cells: LedgerCells;
  /** Last flush of the ledger whose lines count. */
  flush: number;
  readonly #deps: DeliveryStateDeps;
  readonly #pair: FilePair;
  readonly #keptLastLost: LastLost;
  /** In this run, ms since boot: the wall clock may be set right after it. */
  readonly #lostAtMs = new Map<keyof OutboxCounters, number>();
  /** The counters as they were last told. */
  reported: Reported;
  #number: number;
  /** Something of it is not written yet. */
  dirty = false;
  readonly #saving = new SerialQueue();

  private constructor(deps: DeliveryStateDeps, body: StateBody | undefined, name: string | undefined) {
    this.#deps = deps;
    this.#pair = new FilePair(deps, NAMES, name);
    this.acknowledged = new SequenceRanges(body?.acknowledged);
    this.undelivered = new SequenceRanges(body?.undelivered);
    this.counters = {
      rejected: 0,
      resent: 0,
      thinned: 0,
      dropped: 0,
      damaged: 0,
      setAside: 0,
      diskBytes: 0,
      ...body?.counters,
    };
    const { thinned, dropped, damaged } = { ...this.counters, ...body?.reported };
    this.reported = { thinned, dropped, damaged };
    this.#keptLastLost = body?.lastLost ?? {};
    this.cells = new LedgerCells(body?.cells);
    this.flush = body?.flush ?? 0;
    this.#number = body?.number ?? 0;
  }

  /** When only one of the two can be read it is used without waiting for the other, which is set aside so that it is never taken for the newer one. */
  static async open(deps: DeliveryStateDeps): Promise<DeliveryState> {
    let newest: StateBody | undefined;
    let newestName: string | undefined;
    const refused: { readonly name: string; readonly error: unknown }[] = [];
    for (const name of NAMES) {
      const bytes = await readSmallFile(deps, name).catch((error: unknown) => {
        if (!(error instanceof AgentError) || !isLost(error.cause)) throw error;
        refused.push({ name, error });
        return undefined;
      });
      if (bytes === undefined || bytes.length === 0) continue;
      const body = parseState(Buffer.from(bytes));
      if (body === undefined) await deps.setAside(name);
      else if (newest === undefined || body.number > newest.number) [newest, newestName] = [body, name];
    }
    for (const { name, error } of refused) {
      if (newest === undefined) throw error;
      await deps.setAside(name);
    }
    return new DeliveryState(deps, newest, newestName);
  }

  get lastLost(): LastLost {
    const { clock } = this.#deps;
    const lastLost: { [loss in Loss]?: number } = {};
    for (const loss of LOSSES) {
      const lostAtMs = this.#lostAtMs.get(loss);
      const atMs =
        lostAtMs === undefined ? this.#keptLastLost[loss] : Math.round(clock.wallMs() - clock.monotonicMs() + lostAtMs);
      if (atMs !== undefined) lastLost[loss] = atMs;
    }
    return lastLost;
  }

  count(counter: keyof OutboxCounters, by: number): void {
    if (by > 0) this.#lostAtMs.set(counter, this.#deps.clock.monotonicMs());
    this.counters[counter] += by;
    this.dirty = true;
  }

  /** Numbers that thinning took, of blocks in which nothing else waits: when such a block goes, only this tells them from what damage took. */
  settleGaps(ranges: readonly SequenceRange[]): void {
    for (const [first, last] of ranges) this.acknowledged.add(first, last);
    if (ranges.length > 0) this.dirty = true;
  }

  /** An acknowledged entry that was not delivered; of too many ranges the oldest go. */
  noteUndelivered(sequence: number): void {
    this.undelivered.add(sequence, sequence);
    const oldestKept = this.undelivered.list().at(-MAX_RANGES);
    if (oldestKept !== undefined) this.undelivered.forgetBelow(oldestKept[0]);
  }

  /** Await it before delivered entries leave the disk, or a power cut makes them look lost. Never rejects: a disk that takes no writes must be freed. */
  async settle(): Promise<void> {
    if (this.dirty || !this.#pair.isSynced)
      await endedWithin(this.#deps.clock, SETTLED_WITHIN_MS, this.save({ durable: true }));
  }

  /** Writes what changed since; with `durable`, also syncs it. */
  save({ durable = false }: { readonly durable?: boolean } = {}): Promise<void> {
    return this.#saving.run(() => this.#save(durable));
  }

  async #save(durable: boolean): Promise<void> {
    if (!this.dirty && !durable) return;
    this.dirty = false;
    this.#number += 1;
    const body: StateBody = {
      number: this.#number,
      acknowledged: longest(this.acknowledged.list()),
      // The oldest lie in segments that are gone.
      undelivered: this.undelivered.list().slice(-MAX_RANGES),
      counters: this.counters,
      lastLost: this.lastLost,
      reported: this.reported,
      flush: this.flush,
      cells: this.cells.list(),
    };
    const text = stringifyJson(body);
    const header = stringifyJson({
      format: FORMAT,
      version: VERSION,
      bytes: Buffer.byteLength(text),
      crc32: crc32(text),
    });
    const bytes = Buffer.from(`${header}\n${text}\n`);
    try {
      await this.#pair.write(bytes, { durable });
    } catch (error) {
      this.dirty = true;
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#pair.close();
  }
}

function longest(ranges: readonly SequenceRange[]): readonly SequenceRange[] {
  const width = ([first, last]: SequenceRange): number => last - first;
  const kept = new Set([...ranges].sort((a, b) => width(b) - width(a)).slice(0, MAX_RANGES));
  return ranges.filter((range) => kept.has(range));
}

function parseState(bytes: Buffer): StateBody | undefined {
  try {
    const end = bytes.indexOf(0x0a);
    const header = parseJson(bytes.toString('utf8', 0, end)) as {
      format?: string;
      version?: number;
      bytes?: number;
      crc32?: number;
    };
    const text = bytes.subarray(end + 1, end + 1 + (header.bytes ?? 0));
    if (header.format !== FORMAT || header.version !== VERSION || crc32(text) !== header.crc32) return undefined;
    // Its checksum says that it is what was written.
    return parseJson(text.toString(), OWN_JSON) as unknown as StateBody;
  } catch {
    return undefined;
  }
}
