/**
 * Model of an outbox, as plainly as it can be said: an entry whose append resolved is given out until it is acknowledged, with one value
 * and one time. Runs a sequence of steps against a real outbox on a disk in memory, and throws when the two part.
 */

import type { OutboxConfig } from '../../src/config/schema/agent-config.ts';
import { systemCode } from '../../src/errors/agent-error.ts';
import { silentLog } from '../../src/host/log.ts';
import type { Lane, OutboxBatch } from '../../src/outbox/delivery/outbox-batch.ts';
import type { TelemetryEntry, TelemetryValue } from '../../src/outbox/format/telemetry-entry.ts';
import { Outbox } from '../../src/outbox/outbox.ts';
import { stringifyJson } from '../../src/values/json.ts';
import { FakeClock } from './fake-clock.ts';
import { type Faults, MemoryFiles } from './memory-files.ts';
import { FakeTimeSync, NO_LIMITS } from './outbox-fixture.ts';
import {
  checkLedger,
  checkReading,
  checkSelection,
  checkStatus,
  isMark,
  type KnownEntry,
  type KnownOutbox,
  nameOf,
} from './outbox-model-checks.ts';
import { DEFAULT_OUTBOX_SETTINGS } from './outbox-settings.ts';

export type Step =
  | { readonly kind: 'append'; readonly count: number; readonly alarm: boolean; readonly ownTime: boolean }
  | { readonly kind: 'pass'; readonly ms: number }
  /** So many batches on their way together. */
  | (DeliverStep & { readonly kind: 'deliver' })
  | { readonly kind: 'reject' }
  /** The first entry of a lane is in quarantine, until all of these are put back or given up. */
  | { readonly kind: 'setAside'; readonly lane: Lane }
  | { readonly kind: 'endAside'; readonly giveUp: boolean }
  | { readonly kind: 'resend'; readonly key: string }
  | { readonly kind: 'reopen' }
  /** Closed, and opened from a disk whose next reads fail. */
  | { readonly kind: 'reopenFromBadDisk'; readonly reads: number }
  /** The next reads of a running outbox fail. */
  | { readonly kind: 'failReads'; readonly reads: number }
  | { readonly kind: 'kill'; readonly afterOperations: number }
  | {
      readonly kind: 'powerCut';
      readonly afterOperations: number;
      readonly keepsPercent: number;
      readonly synchronised: boolean;
    }
  | { readonly kind: 'stepClock'; readonly ms: number }
  | { readonly kind: 'failDisk'; readonly code: string; readonly operations: number };

interface DeliverStep {
  readonly lane: Lane;
  readonly maxEntries: number;
  readonly maxBytes: number;
  readonly batches: number;
  readonly acknowledge: boolean;
}

const FOLDER = '/outbox';
const HARMS: ReadonlySet<Step['kind']> = new Set(['kill', 'powerCut', 'failDisk', 'failReads', 'reopenFromBadDisk']);

export class OutboxModel {
  readonly files = new MemoryFiles();
  readonly clock = new FakeClock();
  /** Counts of the outbox at the end. */
  counted = { thinned: 0, dropped: 0 };
  readonly #settings: OutboxConfig;
  #timeSync = new FakeTimeSync();
  #outbox: Outbox | undefined;
  readonly #known = new Map<string, KnownEntry>();
  #next = 0;
  #boots = 1;
  #random: () => number;
  /** A crash may take counters and acknowledgements with it. */
  #crashed = false;
  #diskFailed = false;
  #isHarmed = false;
  /** Counts the processes. */
  #life = 0;
  #givenUp = 0;
  readonly #steppedBack = new Set<string>();

  /** `build: 'forgets-to-sync'` is the outbox on files whose syncs do nothing: the model must tell. */
  constructor(settings: Partial<OutboxConfig>, seed: number, build: 'whole' | 'forgets-to-sync' = 'whole') {
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
    for (const step of steps) {
      await this.#do(step);
      if (this.#isExact) checkStatus(this.#view());
    }
    await this.#end();
  }

  async #do(step: Step): Promise<void> {
    this.#isHarmed ||= HARMS.has(step.kind);
    switch (step.kind) {
      case 'append':
        this.#append(step.count, step.alarm, step.ownTime);
        return settle();
      case 'pass':
        return this.clock.advance(step.ms);
      case 'deliver':
        await this.#deliver(step);
        return;
      case 'reject':
        return this.#reject();
      case 'setAside':
        return this.#setAside(step.lane);
      case 'endAside':
        return this.#endAside(step.giveUp);
      case 'resend':
        return this.#resend(step.key);
      case 'reopen':
        await this.#close();
        return this.#open();
      case 'reopenFromBadDisk':
        await this.#close();
        return this.#open({}, this.#failingReads(step.reads));
      case 'failReads':
        this.files.faults = this.#failingReads(step.reads);
        return;
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
        if (step.ms < 0) this.#steppedBack.add(this.clock.bootId);
        this.clock.stepWall(step.ms);
        return;
      case 'failDisk':
        return this.#failDisk(step.code, step.operations);
    }
  }

  async #open(settings: Partial<OutboxConfig> = {}, faults: Faults = {}): Promise<void> {
    this.files.faults = faults;
    this.#diskFailed = false;
    this.#life += 1;
    for (const known of this.#known.values()) delete known.aside;
    const deps = { folder: FOLDER, clock: this.clock, log: silentLog, timeSync: this.#timeSync, files: this.files };
    this.#outbox = await Outbox.open(
      { ...deps, settings: { ...this.#settings, ...settings } },
      new AbortController().signal,
    );
  }

  #append(count: number, alarm: boolean, ownTime: boolean): void {
    const batch = Array.from({ length: count }, () => {
      const entry = this.#entry(alarm, ownTime);
      const known: KnownEntry = { name: nameOf(entry), entry, refused: false, given: false, acknowledged: false };
      this.#known.set(known.name, known);
      return known;
    });
    this.#opened.append(batch.map(({ entry }) => entry)).then(
      () => {
        const committed = { atMs: this.clock.monotonicMs(), life: this.#life };
        for (const known of batch) known.committed = committed;
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
    const values: TelemetryValue[] = [
      id,
      id / 100,
      `text ${id}`,
      2n ** 60n + BigInt(id),
      { nested: [id, null, 2n ** 61n] },
    ];
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

  async #deliver({ lane, acknowledge, batches, ...limits }: DeliverStep): Promise<boolean> {
    const onTheirWay: OutboxBatch[] = [];
    for (let at = 0; at < batches; at += 1) {
      const batch = await this.#opened.peek(lane, limits, onTheirWay.at(-1));
      if (this.#isExact && at === 0) checkSelection(this.#view(), lane, limits, batch);
      if (batch === undefined) break;
      this.#check(batch);
      const before = onTheirWay.flatMap(({ ranges }) => ranges);
      if (batch.ranges.some(([first, last]) => before.some((other) => other[0] <= last && first <= other[1])))
        throw new Error('two batches on their way have the same entries');
      onTheirWay.push(batch);
    }
    if (!acknowledge) return onTheirWay.length > 0;
    for (const batch of onTheirWay) {
      await this.#opened.acknowledge(batch);
      for (const { key, value } of batch.entries) if (!isMark(key)) this.#of(key, value).acknowledged = true;
    }
    return onTheirWay.length > 0;
  }

  async #reject(): Promise<void> {
    const batch = await this.#opened.peek('live', { maxEntries: 10, maxBytes: 1 << 20 });
    const [entry] = batch?.entries ?? [];
    if (batch === undefined || entry === undefined) return;
    this.#check(batch);
    const isKept = await this.#opened.reject(entry, 'not wanted').then(
      () => true,
      (error: unknown) => {
        if (!this.#diskFailed || systemCode(error) === undefined) throw error;
        return false;
      },
    );
    if (!isKept) return;
    const known = this.#of(entry.key, entry.value);
    known.acknowledged = true;
    known.rejected = true;
  }

  async #setAside(lane: Lane): Promise<void> {
    const batch = await this.#opened.peek(lane, { maxEntries: 10, maxBytes: 1 << 20 });
    const entry = batch?.entries.at(0);
    if (batch === undefined || entry === undefined || isMark(entry.key)) return;
    this.#check(batch);
    this.#opened.quarantined.add(entry.sequence);
    const { sequence } = entry;
    const entries = batch.entries.where((row) => batch.entries.sequences[row] === sequence);
    this.#of(entry.key, entry.value).aside = { ...batch, entries, ranges: [[sequence, sequence]] };
  }

  async #endAside(giveUp: boolean): Promise<void> {
    for (const known of this.#known.values()) {
      const { aside: alone } = known;
      if (alone === undefined) continue;
      const [sequence = -1] = alone.entries.sequences;
      delete known.aside;
      const isWaiting = this.#opened.quarantined.isWaiting(sequence);
      if (this.#isExact && !isWaiting) throw new Error(`${describe(known)} is in quarantine and is not waiting`);
      if (!giveUp) this.#opened.quarantined.putBack(sequence);
      else {
        if (!isWaiting) {
          this.#opened.quarantined.putBack(sequence);
          continue;
        }
        const isKept = await this.#opened.deadLetter([...alone.entries], 'not wanted').then(
          () => true,
          (error: unknown) => {
            if (!this.#diskFailed || systemCode(error) === undefined) throw error;
            return false;
          },
        );
        if (!isKept) {
          known.aside = alone;
          continue;
        }
        known.acknowledged = true;
        known.rejected = true;
        this.#givenUp += 1;
      }
    }
  }

  async #resend(key: string): Promise<void> {
    // Appends that were given up would go along, and nobody says if they should.
    if (this.#givenUp > 0) return;
    const wanted = [...this.#known.values()].filter(
      (known) => known.entry.key === key && known.acknowledged && known.rejected !== true,
    );
    const signal = new AbortController().signal;
    const query = { key, fromMs: 0, toMs: Number.POSITIVE_INFINITY };
    const count = await this.#opened.resend(query, signal).catch((error: unknown) => {
      if (!this.#isHarmed) throw error;
    });
    if (this.#isExact && count !== wanted.length)
      throw new Error(`${count} of ${wanted.length} delivered entries are sent again`);
    // Neighbours in the same blocks go along.
    const waiting = new Set<KnownEntry>();
    for await (const entry of this.#opened.read({ heldOnly: true }, signal))
      if (!isMark(entry.key)) waiting.add(this.#of(entry.key, entry.value));
    for (const known of this.#isExact ? wanted : [])
      if (!waiting.has(known)) throw new Error(`${describe(known)} does not wait again`);
    for (const known of waiting) {
      if (known.acknowledged) known.resent = true;
      known.acknowledged = false;
    }
  }

  #check(batch: OutboxBatch): void {
    const own = [...batch.entries].filter(({ key }) => !isMark(key));
    if (new Set(own.map(({ sequence }) => sequence)).size < own.length) throw new Error('an entry is in a batch twice');
    for (const { key, value, ts, class: own } of batch.entries) {
      if (isMark(key)) continue;
      const known = this.#of(key, value);
      if (known.acknowledged && !this.#crashed)
        throw new Error(`${key} ${stringifyJson(value)} was acknowledged and is given out again`);
      if (known.ts !== undefined && known.ts !== ts)
        throw new Error(`${key} ${stringifyJson(value)} had the time ${known.ts} and now ${ts}`);
      if (known.entry.takenAtMs !== undefined && known.entry.takenAtMs !== ts)
        throw new Error(`${key} lost the time it brought`);
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
      if (known.committed === undefined) known.refused = true;
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

  #failingReads(reads: number): Faults {
    let left = reads;
    return { fail: (operation) => (operation === 'read' && left-- > 0 ? { code: 'EIO' } : undefined) };
  }

  async #close(): Promise<void> {
    this.files.faults = {};
    await this.clock.advance(60_000);
    await this.#opened.close();
    for (const known of this.#known.values()) if (known.committed === undefined) known.refused = true;
  }

  /** Nothing that was resolved may be missing in the end: all is drained, and what is not there must have been counted. */
  async #end(): Promise<void> {
    if (this.#isExact) await this.#checkWhole();
    await this.#close();
    this.#timeSync.become(true);
    await this.#open({ timeUncertain: 'send' });
    if (this.#isExact) await this.#checkWhole();
    const all = { ...NO_LIMITS, maxEntries: 1_000, batches: 1, acknowledge: true };
    for (const lane of ['alarm', 'live', 'backlog'] as const) while (await this.#deliver({ ...all, lane }));
    for (const lane of ['alarm', 'live', 'backlog'] as const)
      if (await this.#deliver({ ...all, lane })) throw new Error(`${lane} gives more`);
    if (this.#isExact) await this.#checkWhole();
    const { thinned, dropped, damaged, heldEntries } = this.#opened.status();
    this.counted = { thinned, dropped };
    const missing = [...this.#known.values()].filter(
      (known) => known.committed !== undefined && !known.given && !known.acknowledged,
    );
    if (heldEntries !== 0) throw new Error(`${heldEntries} entries are held and not given out`);
    if (
      missing.length > thinned + dropped + damaged &&
      !(this.#crashed && this.#settings.maxBytes < DEFAULT_OUTBOX_SETTINGS.maxBytes)
    )
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
      // Readings follow a clock that is set back.
      if (this.#steppedBack.has(entry.bootId)) continue;
      const before = last.get(name);
      if (before !== undefined && before >= ts) throw new Error(`${name} has ${ts} after ${before}`);
      last.set(name, ts);
    }
  }

  async #checkWhole(): Promise<void> {
    await checkReading(this.#view());
    await checkLedger(this.#view());
  }

  /** Nothing has happened that may cost an acknowledgement, an entry or a count. */
  get #isExact(): boolean {
    return !this.#isHarmed && this.#settings.maxBytes === DEFAULT_OUTBOX_SETTINGS.maxBytes;
  }

  #view(): KnownOutbox {
    const { order } = this.#settings;
    const nowMs = this.clock.monotonicMs();
    return {
      outbox: this.#opened,
      entries: [...this.#known.values()],
      life: this.#life,
      nowMs,
      order,
      givenUp: this.#givenUp,
    };
  }

  get #opened(): Outbox {
    if (this.#outbox === undefined) throw new Error('not open');
    return this.#outbox;
  }

  #of(key: string, value: TelemetryValue): KnownEntry {
    const known = this.#known.get(nameOf({ key, value }));
    if (known === undefined) throw new Error(`nobody appended ${key} ${stringifyJson(value)}`);
    return known;
  }
}

function describe(known: KnownEntry | undefined): string {
  return known === undefined ? '' : `${known.entry.key} ${stringifyJson(known.entry.value)} of ${known.entry.bootId}`;
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
