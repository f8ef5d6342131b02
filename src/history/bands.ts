/**
 * Coarser record of what is reported, for plots of a week: least, greatest and last number of each key in parts of five minutes.
 *
 *   durable entries ─▶ hours in memory ─▶ once an hour ─▶ a file for each UTC day
 *   entries of the outbox ─▶ (those that a restart, or a clock that was not set, has kept from memory)
 *
 * It is a convenience: whatever befalls it costs plots, never a reading.
 */
import { join } from 'node:path';
import { messageOf } from '../errors/agent-error.ts';
import type { Clock, EpochMs } from '../host/clock.ts';
import type { Files } from '../host/files.ts';
import type { Log } from '../host/log.ts';
import { nextTurn } from '../host/next-turn.ts';
import type { TimeSync } from '../host/time-sync.ts';
import type { PatientOutbox, ResolvedEntry, TelemetryEntry } from '../outbox/outbox.ts';
import { plottedNumber } from '../values/plotted-number.ts';
import { BandFiles, DAY_MS, KEPT_DAYS, type PlacedLine } from './band-files.ts';
import { type Band, HOUR_MS, hourOf } from './band-hour.ts';
import { type HourOfKeys, MAX_NAME_LENGTH, nameOf, packHours, readLine } from './band-lines.ts';
import { type KeyHour, OpenHours } from './open-hours.ts';
import { lastWholeHour } from './whole-hours.ts';

export interface BandsDeps {
  readonly stateFolder: string;
  readonly files: Files;
  /** By which the outbox dates its entries. */
  readonly clock: Clock;
  readonly log: Log;
  readonly timeSync: Pick<TimeSync, 'isSynchronised'>;
  /** The gateway's own, and that of attached devices. */
  readonly outboxes: () => readonly Pick<PatientOutbox, 'read'>[];
  /** Resolves when what lies in the folder is this agent's alone. */
  readonly expectFolder: () => Promise<void>;
}

export interface BandQuery {
  /** Ids under which the device was known; those of the gateway are `self`. */
  readonly devices: readonly string[];
  readonly keys: readonly string[];
  /** UTC epoch ms: parts that end after `fromMs` and begin before `toMs`. */
  readonly fromMs: EpochMs;
  readonly toMs: EpochMs;
}

/** A part of a key. */
export interface KeyBand extends Band {
  readonly key: string;
  readonly hourMs: EpochMs;
}

const MAX_BYTES = 8_000_000;
const FILE_BYTES = 1_000_000;
const MAX_KEYS = 10_000;
/** An hour that is over, and the next one. */
const MAX_OPEN = 2 * MAX_KEYS;
/** Readings of an hour are durable some seconds later; where many agents stand, their disks need not be busy at once. */
const AFTER_HOUR_MS = 60_000;
const SPREAD_MS = 120_000;
const AGAIN_MS = 600_000;
/** Before that the outbox seldom has what the record has not. */
const MADE_AGAIN_MS = DAY_MS;
/** So many entries are looked at before others have their turn. */
const ENTRIES_A_TURN = 1_000;
const NONE: ReadonlySet<string> = new Set();

export class Bands {
  readonly #deps: BandsDeps;
  readonly #files: BandFiles;
  readonly #open = new OpenHours(MAX_OPEN);
  /** Out of `#open`, and not durable yet. */
  #writing: readonly HourOfKeys[] = [];
  /** Entries of hours that are not written lie in the outbox and not here. */
  #isBehind = true;
  #catchingUp: Promise<void> | undefined;
  readonly #told = new Set<string>();
  readonly #closed = new AbortController();
  #cancel: () => void = () => {};

  constructor(deps: BandsDeps) {
    this.#deps = deps;
    const { stateFolder, files } = deps;
    const place = { folder: join(stateFolder, 'bands'), files, maxBytes: MAX_BYTES, fileBytes: FILE_BYTES };
    this.#files = new BandFiles({ ...place, onDamaged: (name) => this.#tellDamaged(name) });
    this.#schedule();
  }

  /** Takes durable entries; those without a known time are looked for in the outbox when it is known. */
  take(entries: readonly TelemetryEntry[]): void {
    const { clock, timeSync } = this.#deps;
    const offsetMs = timeSync.isSynchronised() ? clock.wallMs() - clock.monotonicMs() : undefined;
    for (const { device, key, value, bootId, monotonicMs, takenAtMs } of entries) {
      const ts =
        takenAtMs ??
        (offsetMs === undefined || bootId !== clock.bootId ? undefined : Math.round(monotonicMs + offsetMs));
      if (ts === undefined) this.#isBehind = true;
      else this.#add(device, key, ts, plottedNumber(value));
    }
  }

  /** Parts of the keys, in no order; one may come more than once, with what was known of it at different times. */
  async *read(query: BandQuery, signal: AbortSignal): AsyncGenerator<KeyBand> {
    await this.#catchUp();
    const nowMs = this.#deps.clock.wallMs();
    const firstMs = hourOf(Math.max(query.fromMs, nowMs - (KEPT_DAYS + 1) * DAY_MS));
    const endMs = Math.min(query.toMs, nowMs + DAY_MS);
    if (firstMs >= endMs) return;
    const wanted = new Set(query.devices.flatMap((device) => query.keys.map((key) => nameOf(device, key))));
    // Memory first: what is written meanwhile comes twice, and nothing is missed.
    const inMemory = this.#open.hours.map((hourMs) => ({ hourMs, keys: this.#open.list(hourMs) }));
    for (const { hourMs, keys } of [...inMemory, ...this.#writing]) {
      if (hourMs < firstMs || hourMs >= endMs) continue;
      yield* partsOf(
        hourMs,
        keys.filter(({ device, key }) => wanted.has(nameOf(device, key))),
      );
    }
    for await (const placed of this.#files.read(firstMs, endMs)) {
      signal.throwIfAborted();
      yield* partsOf(placed.hourMs, this.#look(placed, wanted)?.keys ?? []);
      await nextTurn();
    }
  }

  /** Hours that are not written are made again from the outbox. Idempotent. */
  close(): void {
    this.#closed.abort();
    this.#cancel();
  }

  #add(device: string, key: string, ts: EpochMs, value: number | undefined): void {
    const nowMs = this.#deps.clock.wallMs();
    if (value === undefined || !(ts > nowMs - KEPT_DAYS * DAY_MS) || ts >= nowMs + HOUR_MS) return;
    if (device.length + key.length > MAX_NAME_LENGTH) return;
    if (!this.#open.add(device, key, ts, value)) this.#tellFull();
  }

  #schedule(afterMs?: number): void {
    const { clock } = this.#deps;
    const untilHourMs = HOUR_MS - (clock.wallMs() % HOUR_MS);
    this.#cancel = clock.after(
      afterMs ?? untilHourMs + AFTER_HOUR_MS + clock.jitter() * SPREAD_MS,
      () => void this.#writeHours(),
    );
  }

  /** Writes the hours that are over. Never rejects. */
  async #writeHours(): Promise<void> {
    const { clock, timeSync, expectFolder } = this.#deps;
    let isDone = false;
    try {
      await expectFolder();
      await this.#catchUp();
      const nowMs = clock.wallMs();
      if (this.#isBehind) return;
      isDone = timeSync.isSynchronised();
      const days = Map.groupBy(
        this.#open.hours.filter((hourMs) => hourMs < hourOf(nowMs)),
        (hourMs) => Math.floor(hourMs / DAY_MS) * DAY_MS,
      );
      for (const [dayMs, hours] of days) await this.#writeDay(dayMs, hours);
      await this.#files.prune(nowMs);
      this.#told.delete('unwritten');
    } catch (error) {
      isDone = false;
      if (!this.#closed.signal.aborted)
        this.#tell('unwritten', { error: messageOf(error) }, 'the record for plots cannot be written now');
    } finally {
      if (!this.#closed.signal.aborted) this.#schedule(isDone ? undefined : AGAIN_MS);
    }
  }

  /** Hours of one day, in one write. */
  async #writeDay(dayMs: EpochMs, hours: readonly EpochMs[]): Promise<void> {
    this.#writing = hours.map((hourMs) => ({ hourMs, keys: this.#open.take(hourMs) }));
    try {
      const lines = await packHours(this.#writing);
      this.#closed.signal.throwIfAborted();
      await this.#files.add(dayMs, lines);
    } catch (error) {
      for (const { hourMs, keys } of this.#writing) if (!this.#open.merge(hourMs, keys)) this.#tellFull();
      throw error;
    } finally {
      this.#writing = [];
    }
  }

  /** Reads from the outbox what belongs to hours that are not written, once the time is known. Never rejects. */
  #catchUp(): Promise<void> {
    if (this.#catchingUp === undefined && this.#isBehind && this.#deps.timeSync.isSynchronised())
      this.#catchingUp = this.#readKept().finally(() => {
        this.#catchingUp = undefined;
      });
    return this.#catchingUp ?? Promise.resolve();
  }

  async #readKept(): Promise<void> {
    const { clock, log, outboxes, expectFolder } = this.#deps;
    this.#isBehind = false;
    try {
      await expectFolder();
      const nowMs = clock.wallMs();
      const fromMs = Math.max(hourOf(nowMs - MADE_AGAIN_MS), (await this.#lastWritten(nowMs)) + HOUR_MS);
      for (const outbox of outboxes())
        await this.#takeKept(outbox.read({ fromMs, toMs: nowMs + HOUR_MS }, this.#closed.signal));
    } catch (error) {
      this.#isBehind = true;
      log.debug({ error: messageOf(error) }, 'the record for plots could not be made again from the outbox');
    }
  }

  async #takeKept(entries: AsyncIterable<ResolvedEntry>): Promise<void> {
    let looked = 0;
    for await (const { device, key, ts, value } of entries) {
      this.#add(device, key, ts, plottedNumber(value));
      looked += 1;
      if (looked % ENTRIES_A_TURN === 0) await nextTurn();
    }
  }

  #lastWritten(nowMs: EpochMs): Promise<EpochMs> {
    return lastWholeHour(
      this.#files.read(hourOf(nowMs - MADE_AGAIN_MS), nowMs),
      (placed) => this.#look(placed, NONE)?.of,
    );
  }

  #look({ name, line }: PlacedLine, wanted: ReadonlySet<string>): ReturnType<typeof readLine> | undefined {
    try {
      return readLine(line, wanted);
    } catch {
      this.#tellDamaged(name);
      return undefined;
    }
  }

  #tellDamaged(file: string): void {
    this.#tell('damaged', { file }, 'a part of the record for plots is damaged and passed over');
  }

  #tellFull(): void {
    this.#tell('full', { maxHours: MAX_OPEN }, 'the record for plots has no room for more keys');
  }

  /** Tells each kind of trouble once. */
  #tell(kind: string, fields: object, message: string): void {
    if (this.#told.has(kind)) return;
    this.#told.add(kind);
    this.#deps.log.warn(fields, message);
  }
}

function* partsOf(hourMs: EpochMs, keys: readonly KeyHour[]): Generator<KeyBand> {
  for (const { key, bands } of keys) for (const band of bands) yield { ...band, key, hourMs };
}
