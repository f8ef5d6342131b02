/** An outbox in a folder of its own, with a clock that moves only when told. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OutboxConfig } from '../../src/config/schema/agent-config.ts';
import type { Clock } from '../../src/host/clock.ts';
import type { Files } from '../../src/host/files.ts';
import { silentLog } from '../../src/host/log.ts';
import { correctedClock } from '../../src/host/time-sync.ts';
import type { Lane, OutboxBatch } from '../../src/outbox/delivery/outbox-batch.ts';
import type { ResolvedEntry } from '../../src/outbox/format/entry-columns.ts';
import type { TelemetryEntry } from '../../src/outbox/format/telemetry-entry.ts';
import { Outbox } from '../../src/outbox/outbox.ts';
import { UnreadFiles } from '../../src/outbox/segments/small-file.ts';
import { FakeClock } from './fake-clock.ts';
import { MemoryFiles } from './memory-files.ts';
import { DEFAULT_OUTBOX_SETTINGS } from './outbox-settings.ts';
import { WatchedFiles } from './watched-files.ts';

export const NO_LIMITS = { maxEntries: 1_000_000, maxBytes: 1 << 30 };
export const LANES: readonly Lane[] = ['alarm', 'live', 'backlog'];

/** Turns of 100 ms and of a real one each; nothing here takes so long, and on a disk in memory only the clock can be waited for. */
const MAX_TURNS = 8_000;
const MAX_TURNS_IN_MEMORY = 1_000;

/** A clock's synchronisation that a test decides about. */
export class FakeTimeSync {
  /** Error of the wall clock that is known, ms. */
  correction = 0;
  #synchronised: boolean;
  readonly #listeners = new Set<() => void>();

  constructor(synchronised = true) {
    this.#synchronised = synchronised;
  }

  isSynchronised(): boolean {
    return this.#synchronised;
  }

  correctionMs(): number {
    return this.correction;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  become(synchronised: boolean): void {
    this.#synchronised = synchronised;
    for (const listener of this.#listeners) listener();
  }
}

export class OutboxFixture {
  readonly folder: string;
  readonly clock: FakeClock;
  timeSync: FakeTimeSync;
  settings: OutboxConfig;
  readonly #disk = new WatchedFiles();
  files: Files = this.#disk.files;
  /** Over all tries to open it. */
  readonly unread: UnreadFiles;
  /** Time within which an entry is of the present at least. */
  presentMs = 0;
  readonly #opened: Outbox[] = [];

  private constructor(folder: string, settings: Partial<OutboxConfig>) {
    this.folder = folder;
    this.clock = new FakeClock();
    this.timeSync = new FakeTimeSync();
    this.unread = new UnreadFiles(this.clock);
    this.settings = { ...DEFAULT_OUTBOX_SETTINGS, minFreeBytes: 0, ...settings };
  }

  /** The clock with what it is known to lack, as it is in this boot. */
  get rightClock(): Clock {
    return correctedClock(this.clock, { correctionMs: () => this.timeSync.correctionMs() });
  }

  static async make(settings: Partial<OutboxConfig> = {}): Promise<OutboxFixture> {
    return new OutboxFixture(await mkdtemp(join(tmpdir(), 'turnstone-outbox-')), settings);
  }

  async open(): Promise<Outbox> {
    const { folder, rightClock: clock, settings, timeSync, files, unread } = this;
    const deps = { folder, clock, log: silentLog, settings, timeSync, files, unread, presentMs: () => this.presentMs };
    const outbox = await Outbox.open(deps, new AbortController().signal);
    this.#opened.push(outbox);
    return outbox;
  }

  entry(key: string, value: TelemetryEntry['value'], more: Partial<TelemetryEntry> = {}): TelemetryEntry {
    return {
      device: 'self',
      key,
      value,
      bootId: this.clock.bootId,
      monotonicMs: this.clock.monotonicMs(),
      class: 'regular',
      ...more,
    };
  }

  /** Entries of four keys whose values are noise, so that nothing packs them away. */
  noise(count: number, from = 0): TelemetryEntry[] {
    return Array.from({ length: count }, (_none, at) => this.entry(`key${at % 4}`, noiseAt(from + at)));
  }

  /** Appends, and lets the commit age pass when nothing else closes the block. */
  async commit(outbox: Outbox, entries: readonly TelemetryEntry[]): Promise<void> {
    const appended = outbox.append(entries);
    appended.catch(() => {});
    await this.clock.advance(this.settings.commitAgeMs);
    await this.until(appended);
  }

  /** Lets time pass until something that waits for files as well as for the clock has ended; while the real disk works, it stands. */
  async until<T>(work: Promise<T>): Promise<T> {
    let ended = false;
    const end = (): void => {
      ended = true;
    };
    work.then(end, end);
    const most = this.files instanceof MemoryFiles ? MAX_TURNS_IN_MEMORY : MAX_TURNS;
    for (let turns = 0; !ended; turns += 1) {
      if (turns > most) throw new Error('it never ends');
      if (this.#disk.underWay === 0) await this.clock.advance(100);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return work;
  }

  async remove(): Promise<void> {
    for (const outbox of this.#opened) await this.until(outbox.close());
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** One entry of whatever lane gives it, by itself. */
export async function takeAlone(outbox: Outbox, sequence: number): Promise<OutboxBatch | undefined> {
  for (const lane of LANES) {
    const batch = await outbox.peek(lane, NO_LIMITS);
    const entries = batch?.entries.where((row) => batch.entries.sequences[row] === sequence);
    if (batch !== undefined && entries !== undefined && entries.length > 0)
      return { ...batch, entries, ranges: [[sequence, sequence]] };
  }
  return undefined;
}

/** Takes and acknowledges all that the lanes give, until nothing is left. */
export async function drain(outbox: Outbox, limits = NO_LIMITS): Promise<ResolvedEntry[]> {
  const entries: ResolvedEntry[] = [];
  for (;;) {
    let batch: OutboxBatch | undefined;
    for (const lane of LANES) batch ??= await outbox.peek(lane, limits);
    if (batch === undefined) return entries;
    entries.push(...batch.entries);
    await outbox.acknowledge(batch);
  }
}

function noiseAt(at: number): number {
  const mixed = Math.imul(at ^ (at >>> 15) ^ 0x6d2b79f5, 0x2c1b3c6d);
  return (Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39) ^ (mixed >>> 7)) >>> 8;
}
