/** One sensor with its schedule: opened, read on its grid, closed; opened again when it keeps failing. */
import { isDeepStrictEqual } from 'node:util';
import { AgentError, messageOf } from '../errors/agent-error.ts';
import { Backoff } from '../host/backoff.ts';
import { endedWithin, withinMs } from '../host/bounded-wait.ts';
import { keepAtMost } from '../values/keep-at-most.ts';
import { asKept, type Kept } from '../values/kept.ts';
import { SensorConversion } from './conversion/sensor-conversion.ts';
import type { Reading, Refusal, Sample } from './kind/sensor.ts';
import { sensorFault } from './kind/sensor-fault.ts';
import { ReadGrid } from './read-grid.ts';
import { Refusals, ToldReason } from './refusals.ts';
import type { SamplerDeps, SamplerEntry, SensorState } from './sampler.ts';
import { SensorDriver } from './sensor-driver.ts';
import { SensorWindow } from './window.ts';

/** A failing sensor is tried again this soon, and at least this often, whatever its period; on its grid, where that is finer. */
const RETRY = { firstMs: 1_000, maxMs: 60_000 };
/** After so many failures in a row the driver is opened again: whatever it believes about its hardware may be wrong. */
const REOPEN_AFTER = 3;
/** How long after its deadline a driver may take to say itself what went wrong: it knows more than "no answer". */
const LAST_WORDS_MS = 100;
/** Readings that the status shows of one sensor: whoever makes keys up as they go must not fill the memory. */
const MAX_SHOWN = 1_000;

export class SampledSensor {
  entry: SamplerEntry;
  readonly #deps: SamplerDeps;
  readonly #backoff: Backoff;
  readonly #driver: SensorDriver;
  readonly #closing = new AbortController();
  readonly #latest = new Map<string, Sample>();
  #window: SensorWindow | undefined;
  #conversion: SensorConversion;
  #wake = (): void => {};
  #running: Promise<void> | undefined;
  #error: AgentError | undefined;
  #told: ToldReason | undefined;
  readonly #refusals: Refusals;
  #failuresInARow = 0;
  #lastReadAtMs: number | undefined;
  #failingSinceMs: number | undefined;
  #grid: ReadGrid | undefined;
  /** True when a read is due beside the grid. */
  #isDue = false;
  #reads = 0;
  #failures = 0;
  #missed = 0;

  constructor(entry: SamplerEntry, deps: SamplerDeps) {
    this.entry = entry;
    this.#deps = deps;
    this.#backoff = new Backoff(RETRY, deps.clock);
    this.#refusals = new Refusals(entry.name, deps);
    this.#window = SensorWindow.of(entry, deps.clock);
    this.#conversion = new SensorConversion(entry.conversions, deps.clock);
    this.#driver = new SensorDriver({
      name: entry.name,
      clock: deps.clock,
      log: deps.log,
      open: (signal) => this.entry.open(signal),
      onReadings: (readings) => this.#heard(readings),
      onTrouble: () => this.#readSoon(),
      closing: this.#closing.signal,
    });
  }

  start(): void {
    this.#running ??= this.#run(this.#closing.signal);
  }

  /**
   * Another period, alignment or window from now on. With another of the first two it is read at once, and on a grid from there; when something
   * else is made of its readings it is read once more, and keeps its grid. What is aligned is read on its grid alone.
   */
  reschedule(entry: SamplerEntry): void {
    const sameGrid = entry.periodMs === this.entry.periodMs && entry.align === this.entry.align;
    const isAlike = this.#conversion.isBy(entry.conversions);
    if (!isAlike) this.#conversion = new SensorConversion(entry.conversions, this.#deps.clock);
    // Readings at two rates, or in two units, have no common sum.
    if (!sameGrid || !isAlike || !isDeepStrictEqual(entry.window, this.entry.window)) {
      this.#handOverWindow();
      this.#window = SensorWindow.of(entry, this.#deps.clock);
    }
    const sameUse = entry.align || isDeepStrictEqual(entry.use, this.entry.use);
    this.entry = entry;
    if (sameGrid && sameUse) return;
    this.#isDue = sameGrid;
    // The read beside the grid is one too many for the window's count and sum.
    if (sameGrid) this.#window?.miss(this.#deps.clock.monotonicMs());
    else this.#grid = undefined;
    this.#wake();
  }

  /** A driver is never asked twice at once: this read waits for the one under way, and the next one waits for this. */
  async readNow(signal: AbortSignal): Promise<readonly Sample[]> {
    const turnWithinMs = this.entry.deadlineMs + LAST_WORDS_MS;
    const read = (turn: AbortSignal): Promise<readonly Reading[]> => this.#driver.read({ signal, letGo: signal, turn });
    return this.#stamp(this.#conversion.convertSome(await withinMs(this.#deps.clock, turnWithinMs, read, signal)));
  }

  state(): SensorState {
    const { name, kind, periodMs } = this.entry;
    const error = this.#error;
    return {
      name,
      kind,
      state: error !== undefined ? 'failing' : this.#reads > 0 ? 'working' : 'starting',
      periodMs,
      readings: [...this.#latest.values()],
      ...(this.#lastReadAtMs !== undefined && { lastReadAtMs: this.#lastReadAtMs }),
      ...(this.#failingSinceMs !== undefined && { failingSinceMs: this.#failingSinceMs }),
      ...(error !== undefined && { error: { code: error.code, message: error.message, sentence: error.sentence } }),
      refused: error !== undefined ? [] : this.#refusals.list(),
      reads: this.#reads,
      failures: this.#failures,
      missed: this.#missed,
    };
  }

  /** Resolves when the read under way has ended and the driver is closed; neither is waited for longer than this. Never rejects. */
  async close(deadlineMs: number): Promise<void> {
    this.#closing.abort();
    this.#handOverWindow();
    this.#wake();
    await endedWithin(this.#deps.clock, deadlineMs, this.#running ?? Promise.resolve());
    await endedWithin(this.#deps.clock, deadlineMs, this.#driver.close());
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const dueMs = await this.#untilDue();
      if (dueMs !== undefined) await this.#readOnce(dueMs);
    }
  }

  /** Waits for the next read and returns its time, ms since boot; undefined when it was rescheduled or closed meanwhile. */
  async #untilDue(): Promise<number | undefined> {
    const nowMs = this.#deps.clock.monotonicMs();
    const { align, periodMs } = this.entry;
    const isDue = this.#isDue || (this.#grid === undefined && !align);
    this.#isDue = false;
    this.#grid ??= new ReadGrid(this.#deps.clock, periodMs, align ? undefined : nowMs);
    const grid = this.#grid;
    const waitMs = !isDue && this.#error !== undefined ? this.#backoff.nextMs() : 0;
    // A sensor that is read once a minute or an hour is not left dead for so long.
    const besideMs = isDue || (waitMs > 0 && waitMs < periodMs) ? nowMs + waitMs : Number.POSITIVE_INFINITY;
    let sinceMs = waitMs < periodMs ? nowMs : nowMs + waitMs;
    for (;;) {
      const lookAtMs = Math.min(grid.lookAtMs(sinceMs), besideMs);
      if (await this.#pauseUntil(lookAtMs)) return undefined;
      if (lookAtMs === besideMs || grid.isDue(lookAtMs)) return lookAtMs;
      const passedMs = grid.passedMs(sinceMs, lookAtMs);
      if (passedMs !== undefined) {
        this.#missed += 1;
        this.#window?.miss(passedMs);
      }
      sinceMs = lookAtMs;
    }
  }

  /** True when it was woken before the time came. */
  async #pauseUntil(dueMs: number): Promise<boolean> {
    return await new Promise((resolve) => {
      const cancel = this.#deps.clock.after(dueMs - this.#deps.clock.monotonicMs(), () => resolve(false));
      this.#wake = () => {
        cancel();
        resolve(true);
      };
    });
  }

  async #readOnce(dueMs: number): Promise<void> {
    const { clock } = this.#deps;
    const { deadlineMs } = this.entry;
    const read = (letGo: AbortSignal): Promise<readonly Reading[]> =>
      withinMs(clock, deadlineMs, (signal) => this.#driver.read({ signal, letGo, turn: letGo }), this.#closing.signal);
    try {
      const readings = await withinMs(clock, deadlineMs + LAST_WORDS_MS, read);
      if (this.#closing.signal.aborted) return;
      // That its port is open says nothing of a sensor that speaks by itself; what it refuses does.
      if (this.#driver.speaksByItself) {
        const refused = this.#conversion.refusedBeside(this.#driver.refused);
        if (this.#error === undefined && this.#refusals.recordRefusals(refused))
          this.#deps.onStateChange?.(this.state());
        return;
      }
      const converted = this.#conversion.convert(readings);
      const missing = this.#conversion.refusedBeside(this.#driver.refused);
      this.#worked(missing);
      if (clock.monotonicMs() - dueMs >= this.entry.periodMs) this.#window?.miss(dueMs);
      this.#letKeep(this.#deliver(converted, missing));
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      this.#window?.miss(dueMs);
      this.#failed(error);
    } finally {
      this.#missed += Math.max(0, Math.floor((clock.monotonicMs() - dueMs) / this.entry.periodMs));
    }
  }

  /** Reads beside the grid, unless the sensor is known to fail. */
  #readSoon(): void {
    if (this.#error !== undefined) return;
    this.#isDue = true;
    this.#wake();
  }

  /** Takes readings that came by subscription. */
  #heard(readings: readonly Reading[]): Kept {
    const converted = this.#conversion.convert(readings);
    if (this.#driver.speaksByItself && !this.#closing.signal.aborted)
      this.#worked(this.#conversion.refusedBeside(this.#driver.refused));
    const kept = this.#deliver(converted, this.#conversion.refusedBeside());
    // Most drivers do not wait for it.
    this.#letKeep(kept);
    return kept;
  }

  #deliver(readings: readonly Reading[], refused: readonly Refusal[] = []): Kept {
    if (this.#closing.signal.aborted) return Promise.reject(sensorFault('closed', `${this.entry.name} is closed`));
    if (readings.length > 0) this.#lastReadAtMs = this.#deps.clock.monotonicMs();
    const samples = this.#stamp(readings);
    for (const sample of samples) this.#latest.set(sample.key, sample);
    keepAtMost(this.#latest, MAX_SHOWN);
    const due =
      this.#window === undefined
        ? samples
        : this.#stamp(
            this.#window.addReadings(
              readings.filter(({ isOld }) => isOld !== true),
              refused,
            ),
          );
    return due.length > 0 ? asKept(this.#deps.onSamples(due)) : undefined;
  }

  /** Nobody waits until a read is kept; a loss is told where it happens. */
  #letKeep(kept: Kept): void {
    kept?.catch(() => {});
  }

  /** An hour's mean is not lost because the hour was not over. */
  #handOverWindow(): void {
    const gathered = this.#stamp(this.#window?.cut() ?? []);
    if (gathered.length > 0) this.#letKeep(asKept(this.#deps.onSamples(gathered)));
  }

  #stamp(readings: readonly Reading[]): readonly Sample[] {
    const { bootId } = this.#deps.clock;
    const nowMs = this.#deps.clock.monotonicMs();
    return readings.map((reading) => ({
      ...reading,
      sensor: this.entry.name,
      bootId,
      monotonicMs: reading.monotonicMs ?? nowMs,
    }));
  }

  #worked(refused: readonly Refusal[]): void {
    this.#reads += 1;
    this.#failuresInARow = 0;
    this.#backoff.reset();
    const worksAgain = this.#error !== undefined;
    this.#error = undefined;
    this.#failingSinceMs = undefined;
    this.#told = undefined;
    if (worksAgain) this.#deps.log.info({ sensor: this.entry.name }, 'the sensor works again');
    const givesOther = this.#refusals.recordRefusals(refused);
    // The first read too: what an earlier run said of this sensor may still stand.
    if (worksAgain || givesOther || this.#reads === 1) this.#deps.onStateChange?.(this.state());
  }

  #failed(cause: unknown): void {
    const error = cause instanceof AgentError ? cause : sensorFault('failed', messageOf(cause), cause);
    this.#error = error;
    this.#failingSinceMs ??= this.#deps.clock.monotonicMs();
    this.#told ??= new ToldReason(this.#deps.clock);
    this.#failures += 1;
    this.#failuresInARow += 1;
    if (this.#told.isNews(error.message)) {
      this.#deps.log.warn(
        { sensor: this.entry.name, code: error.code, reason: error.message },
        'the sensor fails; it is tried again',
      );
      this.#deps.onStateChange?.(this.state(), error);
    }
    // Not waited for: closing hardware that hangs may take as long as the hang.
    if (this.#failuresInARow % REOPEN_AFTER === 0) void this.#driver.openAnew();
  }
}
