/**
 * What an outbox must do, as plainly as it can be said: an entry whose append resolved is given out until it is acknowledged, with one value
 * and one time. Runs a sequence of steps against a real outbox on a disk in memory, and throws when the two part.
 */

import { stringifyJson } from '../../src/host/json.ts';
import { silentLog } from '../../src/host/log.ts';
import { Outbox } from '../../src/outbox/outbox.ts';
import type { Lane, OutboxBatch } from '../../src/outbox/outbox-batch.ts';
import { DEFAULT_OUTBOX_SETTINGS, type OutboxSettings } from '../../src/outbox/outbox-settings.ts';
import type { TelemetryEntry, TelemetryValue } from '../../src/outbox/telemetry-entry.ts';
import { FakeClock } from './fake-clock.ts';
import { FakeTimeSync } from './outbox-fixture.ts';
import { MemoryFiles } from './outbox-memory-files.ts';

export type Step =
  | { readonly kind: 'append'; readonly count: number; readonly alarm: boolean; readonly ownTime: boolean }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'deliver'; readonly lane: Lane; readonly maxEntries: number; readonly acknowledge: boolean }
  | { readonly kind: 'reject' }
  | { readonly kind: 'reopen' }
  | { readonly kind: 'kill'; readonly afterOperations: number }
  | { readonly kind: 'powerCut'; readonly afterOperations: number; readonly keepsPercent: number; readonly synchronised: boolean }
  | { readonly kind: 'stepClock'; readonly ms: number }
  | { readonly kind: 'failDisk'; readonly code: string; readonly operations: number };

interface Known {
  readonly entry: TelemetryEntry;
  /** Its append resolved: from now on it must not be lost. */
  resolved: boolean;
  /** It gave way in memory or to a bound, and its append said so. */
  refused: boolean;
  ts?: number;
  given: boolean;
  acknowledged: boolean;
}

const FOLDER = '/outbox';

export class OutboxModel {
  readonly files = new MemoryFiles();
  readonly clock = new FakeClock();
  /** What the outbox had counted at the end. */
  counted = { thinned: 0, dropped: 0 };
  readonly #settings: OutboxSettings;
  #timeSync = new FakeTimeSync();
  #outbox: Outbox | undefined;
  readonly #known = new Map<string, Known>();
  #next = 0;
  #boots = 1;
  #random: () => number;
  /** A crash may take counters and acknowledgements with it. */
  #crashed = false;
  #diskFailed = false;

  /** `build: 'forgets-to-sync'` is the outbox on files whose syncs do nothing: the model must tell. */
  constructor(settings: Partial<OutboxSettings>, seed: number, build: 'whole' | 'forgets-to-sync' = 'whole') {
    this.#settings = { ...DEFAULT_OUTBOX_SETTINGS, minFreeBytes: 0, ...settings };
    this.files.ignoreSync = build === 'forgets-to-sync';
    let state = seed | 1;
    this.#random = () => {
      state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d);
      state ^= state >>> 12;
      return (state >>> 0) / 2 ** 32;
    };
  }

  async run(steps: readonly Step[]): Promise<void> {
    await this.#open();
    for (const step of steps) await this.#do(step);
    await this.#end();
  }

  async #do(step: Step): Promise<void> {
    switch (step.kind) {
      case 'append':
        this.#append(step.count, step.alarm, step.ownTime);
        return settle();
      case 'pass':
        return this.clock.advance(step.ms);
      case 'deliver':
        await this.#deliver(step.lane, step.maxEntries, step.acknowledge);
        return;
      case 'reject':
        return this.#reject();
      case 'reopen':
        await this.#close();
        return this.#open();
      case 'kill':
        await this.#dieAfter(step.afterOperations);
        this.clock.reboot({ bootId: this.clock.bootId, monotonicMs: this.clock.monotonicMs() });
        this.#timeSync = new FakeTimeSync(this.#timeSync.isSynchronised());
        return this.#open();
      case 'powerCut':
        await this.#dieAfter(step.afterOperations);
        this.files.cutPower(() => this.#random() * 100 < step.keepsPercent);
        this.#boots += 1;
        this.clock.reboot({ bootId: `boot-${this.#boots}` });
        this.#timeSync = new FakeTimeSync(step.synchronised);
        return this.#open();
      case 'stepClock':
        this.clock.stepWall(step.ms);
        return;
      case 'failDisk':
        return this.#failDisk(step.code, step.operations);
    }
  }

  async #open(settings: Partial<OutboxSettings> = {}): Promise<void> {
    this.files.faults = {};
    this.#diskFailed = false;
    const deps = { folder: FOLDER, clock: this.clock, log: silentLog, timeSync: this.#timeSync, files: this.files };
    this.#outbox = await Outbox.open({ ...deps, settings: { ...this.#settings, ...settings } }, new AbortController().signal);
  }

  #append(count: number, alarm: boolean, ownTime: boolean): void {
    const batch = Array.from({ length: count }, () => {
      const entry = this.#entry(alarm, ownTime);
      const known: Known = { entry, resolved: false, refused: false, given: false, acknowledged: false };
      this.#known.set(nameOf(entry.key, entry.value), known);
      return known;
    });
    this.#opened.append(batch.map(({ entry }) => entry)).then(
      () => {
        for (const known of batch) known.resolved = true;
      },
      () => {
        for (const known of batch) known.refused = true;
      },
    );
  }

  /** Every value is another one, so that it names its entry; keys and forms alternate. */
  #entry(alarm: boolean, ownTime: boolean): TelemetryEntry {
    this.#next += 1;
    const id = this.#next;
    const values: TelemetryValue[] = [id, id / 100, `text ${id}`, 2n ** 60n + BigInt(id), { nested: [id, null, 2n ** 61n] }];
    const value = values[id % 7 === 0 ? 2 + (id % 3) : id % 2] as TelemetryValue;
    const taken = ownTime ? { takenAtMs: 1_700_000_000_000 + id * 10 } : {};
    const key = `${alarm ? 'alarm' : 'key'}${id % 3}`;
    return {
      device: 'self',
      key,
      value,
      bootId: this.clock.bootId,
      monotonicMs: this.clock.monotonicMs(),
      class: alarm ? 'alarm' : 'regular',
      ...taken,
    };
  }

  async #deliver(lane: Lane, maxEntries: number, acknowledge: boolean): Promise<boolean> {
    const batch = await this.#opened.peek(lane, { maxEntries, maxBytes: 1 << 20 });
    if (batch === undefined) return false;
    this.#check(batch);
    if (!acknowledge) return true;
    await this.#opened.acknowledge(batch);
    for (const { key, value } of batch.entries) if (!isMark(key)) this.#of(key, value).acknowledged = true;
    return true;
  }

  async #reject(): Promise<void> {
    const batch = await this.#opened.peek('live', { maxEntries: 10, maxBytes: 1 << 20 });
    const [entry] = batch?.entries ?? [];
    if (batch === undefined || entry === undefined) return;
    this.#check(batch);
    await this.#opened.reject(batch, entry, 'not wanted');
    this.#of(entry.key, entry.value).acknowledged = true;
  }

  #check(batch: OutboxBatch): void {
    const own = [...batch.entries].filter(({ key }) => !isMark(key));
    if (new Set(own.map(({ sequence }) => sequence)).size < own.length) throw new Error('an entry is in a batch twice');
    for (const { key, value, ts, class: own } of batch.entries) {
      if (isMark(key)) continue;
      const known = this.#of(key, value);
      if (known.acknowledged && !this.#crashed) throw new Error(`${key} ${stringifyJson(value)} was acknowledged and is given out again`);
      if (known.ts !== undefined && known.ts !== ts)
        throw new Error(`${key} ${stringifyJson(value)} had the time ${known.ts} and now ${ts}`);
      if (known.entry.takenAtMs !== undefined && known.entry.takenAtMs !== ts) throw new Error(`${key} lost the time it brought`);
      if (known.entry.class !== own) throw new Error(`${key} changed its class`);
      known.ts = ts;
      known.given = true;
    }
  }

  /** The process ends at its n-th operation on files from now, or after a second in which it made fewer. */
  async #dieAfter(operations: number): Promise<void> {
    let left = operations;
    const never = new Promise<void>(() => {});
    this.files.faults = {
      delay: () => {
        left -= 1;
        return left < 0 ? never : undefined;
      },
    };
    await this.clock.advance(1_000);
    this.#outbox = undefined;
    this.#crashed = true;
    for (const known of this.#known.values()) {
      if (!known.resolved) known.refused = true;
      // Delivery goes on when the disk takes nothing, not even a boot's offset: a crash then is the one thing that may change a time.
      if (this.#diskFailed) delete known.ts;
    }
  }

  async #failDisk(code: string, operations: number): Promise<void> {
    this.#diskFailed = true;
    let left = operations;
    this.files.faults = {
      fail: (operation) => {
        if (operation === 'read' || operation === 'list' || left <= 0) return undefined;
        left -= 1;
        return { code, short: left % 2 === 0 };
      },
    };
  }

  async #close(): Promise<void> {
    this.files.faults = {};
    await this.clock.advance(60_000);
    await this.#opened.close();
    for (const known of this.#known.values()) if (!known.resolved) known.refused = true;
  }

  /** Nothing that was resolved may be missing in the end: all is drained, and what is not there must have been counted. */
  async #end(): Promise<void> {
    await this.#close();
    this.#timeSync.become(true);
    await this.#open({ timeUncertain: 'send' });
    for (const lane of ['alarm', 'live', 'backlog'] as const) while (await this.#deliver(lane, 1_000, true));
    for (const lane of ['alarm', 'live', 'backlog'] as const)
      if (await this.#deliver(lane, 1_000, true)) throw new Error(`${lane} gives more`);
    const { thinned, dropped, damaged, heldEntries } = this.#opened.status();
    this.counted = { thinned, dropped };
    const missing = [...this.#known.values()].filter((known) => known.resolved && !known.given && !known.acknowledged);
    if (heldEntries !== 0) throw new Error(`${heldEntries} entries are held and not given out`);
    if (missing.length > thinned + dropped + damaged && !(this.#crashed && this.#settings.maxBytes < DEFAULT_OUTBOX_SETTINGS.maxBytes))
      throw new Error(
        `${missing.length} resolved entries are lost, ${thinned + dropped + damaged} were counted; first: ${describe(missing[0])}`,
      );
    this.#checkOrder();
    await this.#opened.close();
  }

  /** Times of a key follow the order of appending within a boot, whatever the clock did, and no two are the same. */
  #checkOrder(): void {
    const last = new Map<string, number>();
    for (const { entry, ts } of this.#known.values()) {
      if (ts === undefined || entry.takenAtMs !== undefined) continue;
      const name = `${entry.bootId} ${entry.key}`;
      const before = last.get(name);
      if (before !== undefined && before >= ts) throw new Error(`${name} has ${ts} after ${before}`);
      last.set(name, ts);
    }
  }

  get #opened(): Outbox {
    if (this.#outbox === undefined) throw new Error('not open');
    return this.#outbox;
  }

  #of(key: string, value: TelemetryValue): Known {
    const known = this.#known.get(nameOf(key, value));
    if (known === undefined) throw new Error(`nobody appended ${key} ${stringifyJson(value)}`);
    return known;
  }
}

/** Entries of the outbox's own: the time before it is a guess, or what was lost. */
function isMark(key: string): boolean {
  return key.endsWith('_timeUncertain') || key.startsWith('outbox');
}

function nameOf(key: string, value: TelemetryValue): string {
  return `${key} ${typeof value} ${stringifyJson(value)}`;
}

function describe(known: Known | undefined): string {
  return known === undefined ? '' : `${known.entry.key} ${stringifyJson(known.entry.value)} of ${known.entry.bootId}`;
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
