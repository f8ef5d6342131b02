/** A record of bands over a disk in memory, beside an outbox that forgets nothing, and what the record has to say of it. */
import { Bands, type KeyBand } from '../../src/history/bands.ts';
import type { Log } from '../../src/host/log.ts';
import type { EntryQuery, ResolvedEntry, TelemetryEntry } from '../../src/outbox/outbox.ts';
import type { JsonValue } from '../../src/values/json.ts';
import { FakeClock } from './fake-clock.ts';
import { MemoryFiles } from './memory-files.ts';
import { FakeTimeSync } from './outbox-fixture.ts';

export const HOUR_MS = 3_600_000;
export const PART_MS = 300_000;
/** A day that began in this year, at 00:00 UTC. */
export const MIDNIGHT = Date.UTC(2026, 5, 2);

export interface Known {
  least: number;
  greatest: number;
  last: number;
  lastTs: number;
}

export class BandsBench {
  readonly clock: FakeClock;
  readonly timeSync = new FakeTimeSync();
  readonly files = new MemoryFiles();
  readonly warnings: string[] = [];
  readonly outbox: ResolvedEntry[] = [];
  /** Reads of the outbox. */
  reads: EntryQuery[] = [];
  outboxFault: Error | undefined;
  bands: Bands;

  constructor(wallMs = MIDNIGHT) {
    this.clock = new FakeClock({ wallMs });
    this.bands = this.#open();
  }

  /** A new run of the agent. */
  restart(): void {
    this.bands.close();
    this.bands = this.#open();
  }

  /** Reports a value, durable at once; `agoMs` before now. */
  report(key: string, value: JsonValue, { agoMs = 0, device = 'self', isOwnTime = false } = {}): void {
    const ts = this.clock.wallMs() - agoMs;
    this.outbox.push({ sequence: this.outbox.length + 1, device, key, value, ts, class: 'regular' });
    const entry: TelemetryEntry = {
      device,
      key,
      value,
      bootId: this.clock.bootId,
      monotonicMs: this.clock.monotonicMs() - agoMs,
      class: 'regular',
      ...(isOwnTime ? { takenAtMs: ts } : {}),
    };
    this.bands.take([entry]);
  }

  async read(keys: readonly string[], fromMs: number, toMs: number, devices = ['self']): Promise<Map<string, Known>> {
    const parts: KeyBand[] = [];
    for await (const part of this.bands.read({ devices, keys, fromMs, toMs }, new AbortController().signal))
      parts.push(part);
    const merged = new Map<string, Known>();
    for (const { key, hourMs, at, least, greatest, last, lastMs } of parts) {
      const startMs = hourMs + at * PART_MS;
      merge(merged, `${key} ${startMs}`, { least, greatest, last, lastTs: startMs + lastMs });
    }
    return merged;
  }

  /** The same of the numbers in the outbox. */
  expected(keys: readonly string[]): Map<string, Known> {
    const merged = new Map<string, Known>();
    for (const { key, ts, value } of this.outbox) {
      if (typeof value !== 'number' || !keys.includes(key)) continue;
      merge(merged, `${key} ${Math.floor(ts / PART_MS) * PART_MS}`, {
        least: value,
        greatest: value,
        last: value,
        lastTs: ts,
      });
    }
    return merged;
  }

  get bandFiles(): string[] {
    return this.files.paths.filter((path) => path.startsWith('/state/bands/'));
  }

  #open(): Bands {
    const log: Log = {
      debug: () => {},
      info: () => {},
      warn: (_fields, message) => void this.warnings.push(message),
      error: () => {},
    };
    const read = this.#read.bind(this);
    return new Bands({
      stateFolder: '/state',
      files: this.files,
      clock: this.clock,
      log,
      timeSync: this.timeSync,
      outboxes: () => [{ read }],
      expectFolder: async () => {},
    });
  }

  async *#read(query: EntryQuery): AsyncGenerator<ResolvedEntry> {
    this.reads.push(query);
    if (this.outboxFault !== undefined) throw this.outboxFault;
    const { fromMs = 0, toMs = Number.POSITIVE_INFINITY } = query;
    yield* this.outbox.filter(({ ts }) => ts >= fromMs && ts < toMs);
  }
}

function merge(into: Map<string, Known>, name: string, one: Known): void {
  const known = into.get(name);
  if (known === undefined) return void into.set(name, { ...one });
  known.least = Math.min(known.least, one.least);
  known.greatest = Math.max(known.greatest, one.greatest);
  if (one.lastTs < known.lastTs || (one.lastTs === known.lastTs && one.last <= known.last)) return;
  known.last = one.last;
  known.lastTs = one.lastTs;
}
