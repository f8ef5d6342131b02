/** An outbox in a folder of its own, with a clock that moves only when told. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLog } from '../../src/host/log.ts';
import type { FileLayer } from '../../src/outbox/file-layer.ts';
import { Outbox } from '../../src/outbox/outbox.ts';
import type { Lane, OutboxBatch, ResolvedEntry } from '../../src/outbox/outbox-batch.ts';
import { DEFAULT_OUTBOX_SETTINGS, type OutboxSettings } from '../../src/outbox/outbox-settings.ts';
import type { TelemetryEntry } from '../../src/outbox/telemetry-entry.ts';
import { FakeClock } from './fake-clock.ts';

export const NO_LIMITS = { maxEntries: 1_000_000, maxBytes: 1 << 30 };
export const LANES: readonly Lane[] = ['alarm', 'live', 'backlog'];

/** A clock's synchronisation that a test decides about. */
export class FakeTimeSync {
  #synchronised: boolean;
  readonly #listeners = new Set<() => void>();

  constructor(synchronised = true) {
    this.#synchronised = synchronised;
  }

  isSynchronised(): boolean {
    return this.#synchronised;
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
  settings: OutboxSettings;
  files: FileLayer | undefined;
  readonly #opened: Outbox[] = [];

  private constructor(folder: string, settings: Partial<OutboxSettings>) {
    this.folder = folder;
    this.clock = new FakeClock();
    this.timeSync = new FakeTimeSync();
    this.settings = { ...DEFAULT_OUTBOX_SETTINGS, minFreeBytes: 0, ...settings };
  }

  static async make(settings: Partial<OutboxSettings> = {}): Promise<OutboxFixture> {
    return new OutboxFixture(await mkdtemp(join(tmpdir(), 'turnstone-outbox-')), settings);
  }

  async open(): Promise<Outbox> {
    const { folder, clock, settings, timeSync, files } = this;
    const deps = { folder, clock, log: silentLog, settings, timeSync, ...(files === undefined ? {} : { files }) };
    const outbox = await Outbox.open(deps, new AbortController().signal);
    this.#opened.push(outbox);
    return outbox;
  }

  entry(key: string, value: TelemetryEntry['value'], more: Partial<TelemetryEntry> = {}): TelemetryEntry {
    return { device: 'self', key, value, bootId: this.clock.bootId, monotonicMs: this.clock.monotonicMs(), class: 'regular', ...more };
  }

  /** Appends, and lets the commit age pass when nothing else closes the block. */
  async commit(outbox: Outbox, entries: readonly TelemetryEntry[]): Promise<void> {
    const appended = outbox.append(entries);
    appended.catch(() => {});
    await this.clock.advance(this.settings.commitAgeMs);
    await this.until(appended);
  }

  /** Lets time pass until something that waits for files as well as for the clock has ended. */
  async until<T>(work: Promise<T>): Promise<T> {
    let ended = false;
    const end = (): void => {
      ended = true;
    };
    work.then(end, end);
    while (!ended) {
      await this.clock.advance(100);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return work;
  }

  async remove(): Promise<void> {
    for (const outbox of this.#opened) await this.until(outbox.close());
    await rm(this.folder, { recursive: true, force: true });
  }
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
