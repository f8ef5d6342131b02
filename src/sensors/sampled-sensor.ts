/** One sensor with its schedule: opened, read on its grid, closed; opened again when it keeps failing. */
import { AgentError, messageOf } from '../errors.ts';
import { deadlineError, withinDeadline } from '../hardware/deadline.ts';
import { Backoff } from '../host/backoff.ts';
import type { SamplerDeps, SamplerEntry } from './sampler.ts';
import { nextDue } from './schedule.ts';
import type { Reading, Sample, Sensor } from './sensor.ts';
import { sensorFault } from './sensor-fault.ts';
import type { SensorState } from './sensor-state.ts';
import { Window } from './window.ts';

/** A failing sensor is tried again this soon, and at least this often, whatever its period; on its grid, where that is finer. */
const RETRY = { firstMs: 1_000, maxMs: 60_000 };
/** After so many failures in a row the driver is opened anew: whatever it believes about its hardware may be wrong. */
const REOPEN_AFTER = 3;
/** How long after its deadline a driver may take to say itself what went wrong: it knows more than "no answer". */
const LAST_WORDS_MS = 100;

export class SampledSensor {
  entry: SamplerEntry;
  readonly #deps: SamplerDeps;
  readonly #backoff = new Backoff(RETRY);
  readonly #closing = new AbortController();
  readonly #latest = new Map<string, Sample>();
  #window: Window | undefined;
  #sensor: Sensor | undefined;
  #unsubscribe = (): void => {};
  #wake = (): void => {};
  #running: Promise<void> | undefined;
  /** A read that has not ended yet, be it let go at its deadline long ago. */
  #underWay: Promise<unknown> | undefined;
  #error: AgentError | undefined;
  #failuresInARow = 0;
  #lastReadAtMs: number | undefined;
  #anchorMs: number | undefined;
  #reads = 0;
  #failures = 0;
  #missed = 0;

  constructor(entry: SamplerEntry, deps: SamplerDeps) {
    this.entry = entry;
    this.#deps = deps;
    this.#window = entry.window && new Window(entry.window);
  }

  start(): void {
    this.#running ??= this.#run(this.#closing.signal);
  }

  /** Another period, alignment or window from now on. */
  reschedule(entry: SamplerEntry): void {
    const sameWindow = JSON.stringify(entry.window) === JSON.stringify(this.entry.window);
    if (!sameWindow) this.#window = entry.window && new Window(entry.window);
    this.entry = entry;
    this.#anchorMs = undefined;
    this.#wake();
  }

  /** A driver is never asked twice at once: this read waits for the one under way, and the next one waits for this. */
  async readNow(signal: AbortSignal): Promise<readonly Sample[]> {
    while (this.#underWay !== undefined) await withinDeadline(this.#underWay, `sensor ${this.entry.name}`, signal);
    return this.#stamp(await this.#readWithin(signal, signal));
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
      ...(error !== undefined && { error: { code: error.code, message: error.message } }),
      reads: this.#reads,
      failures: this.#failures,
      missed: this.#missed,
    };
  }

  async close(deadlineMs: number): Promise<void> {
    this.#closing.abort();
    this.#wake();
    const expired = new AbortController();
    const cancel = this.#deps.clock.after(deadlineMs, () => expired.abort());
    await withinDeadline(this.#running ?? Promise.resolve(), `closing ${this.entry.name}`, expired.signal).catch(() => {});
    cancel();
    await this.#closeSensor();
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const dueMs = this.#nextDueMs();
      if (await this.#pauseUntil(dueMs)) continue; // rescheduled or closed meanwhile
      await this.#readOnce();
    }
  }

  #nextDueMs(): number {
    const { clock } = this.#deps;
    const nowMs = clock.monotonicMs();
    if (this.#anchorMs === undefined && !this.entry.align) {
      this.#anchorMs = nowMs;
      return nowMs;
    }
    const { periodMs } = this.entry;
    const offsetMs = this.entry.align ? clock.wallMs() - nowMs : -(this.#anchorMs ?? 0);
    const onGrid = (atMs: number): number => nextDue(atMs + offsetMs, periodMs) - offsetMs;
    if (this.#error === undefined) return onGrid(nowMs);
    const waitMs = this.#backoff.nextMs();
    // A sensor that is read once a minute or an hour is not left dead for so long.
    return waitMs < periodMs ? Math.min(nowMs + waitMs, onGrid(nowMs)) : onGrid(nowMs + waitMs);
  }

  /** True when it was woken before the time came. */
  async #pauseUntil(dueMs: number): Promise<boolean> {
    const delayMs = dueMs - this.#deps.clock.monotonicMs();
    return await new Promise((resolve) => {
      const cancel = this.#deps.clock.after(delayMs, () => resolve(false));
      this.#wake = () => {
        cancel();
        resolve(true);
      };
    });
  }

  async #readOnce(): Promise<void> {
    const startedMs = this.#deps.clock.monotonicMs();
    const deadline = new AbortController();
    const expire = (): void => deadline.abort();
    const letGo = new AbortController();
    const cancel = this.#deps.clock.after(this.entry.deadlineMs, expire);
    const cancelLetGo = this.#deps.clock.after(this.entry.deadlineMs + LAST_WORDS_MS, () => letGo.abort());
    this.#closing.signal.addEventListener('abort', expire, { once: true });
    try {
      if (this.#underWay !== undefined) await withinDeadline(this.#underWay, 'the read before has not ended', letGo.signal);
      const readings = await this.#readWithin(deadline.signal, letGo.signal);
      if (this.#closing.signal.aborted) return;
      this.#worked();
      if (this.#sensor?.speaksByItself !== true) this.#deliver(readings);
    } catch (error) {
      if (!this.#closing.signal.aborted) this.#failed(error);
    } finally {
      cancel();
      cancelLetGo();
      this.#closing.signal.removeEventListener('abort', expire);
    }
    const lateMs = this.#deps.clock.monotonicMs() - startedMs;
    this.#missed += Math.max(0, Math.floor(lateMs / this.entry.periodMs));
  }

  async #readWithin(signal: AbortSignal, letGo: AbortSignal): Promise<readonly Reading[]> {
    const reading = (async () => (this.#sensor ?? (await this.#open(signal))).read(signal))();
    const settled = reading.then(
      () => {},
      () => {},
    );
    this.#underWay = settled;
    void settled.then(() => {
      if (this.#underWay === settled) this.#underWay = undefined;
    });
    return await withinDeadline(reading, `sensor ${this.entry.name}`, letGo);
  }

  async #open(signal: AbortSignal): Promise<Sensor> {
    const sensor = await this.entry.open(signal);
    // An opening that was let go may end late, when the sampler has closed, or when another has succeeded.
    if (this.#closing.signal.aborted || this.#sensor !== undefined) {
      await sensor.close();
      throw deadlineError(`opening ${this.entry.name}`, signal);
    }
    this.#sensor = sensor;
    this.#unsubscribe = sensor.subscribe?.((readings) => this.#deliver(readings)) ?? (() => {});
    return sensor;
  }

  #deliver(readings: readonly Reading[]): void {
    if (this.#closing.signal.aborted) return;
    const { clock, onSamples } = this.#deps;
    const nowMs = clock.monotonicMs();
    this.#lastReadAtMs = nowMs;
    const samples = this.#stamp(readings);
    for (const sample of samples) this.#latest.set(sample.key, sample);
    const windowMs = this.entry.align ? clock.wallMs() : nowMs;
    const finished = this.#window?.finish(windowMs);
    this.#window?.add(readings, windowMs);
    const due = this.#window === undefined ? samples : this.#stamp(finished ?? []);
    if (due.length > 0) onSamples(due);
  }

  #stamp(readings: readonly Reading[]): readonly Sample[] {
    const { bootId } = this.#deps.clock;
    const nowMs = this.#deps.clock.monotonicMs();
    return readings.map((reading) => ({ ...reading, sensor: this.entry.name, bootId, monotonicMs: reading.monotonicMs ?? nowMs }));
  }

  #worked(): void {
    this.#reads += 1;
    this.#failuresInARow = 0;
    this.#backoff.reset();
    if (this.#error === undefined) return;
    this.#error = undefined;
    this.#deps.log.info({ sensor: this.entry.name }, 'the sensor works again');
    this.#deps.onStateChange?.(this.state());
  }

  #failed(cause: unknown): void {
    const error = cause instanceof AgentError ? cause : sensorFault('failed', messageOf(cause), cause);
    const isNew = this.#error === undefined;
    this.#error = error;
    this.#failures += 1;
    this.#failuresInARow += 1;
    if (isNew) {
      this.#deps.log.warn({ sensor: this.entry.name, code: error.code, reason: error.message }, 'the sensor fails; it is tried again');
      this.#deps.onStateChange?.(this.state(), error);
    }
    // Not waited for: closing hardware that hangs may take as long as the hang.
    if (this.#failuresInARow % REOPEN_AFTER === 0) void this.#closeSensor();
  }

  async #closeSensor(): Promise<void> {
    const sensor = this.#sensor;
    this.#sensor = undefined;
    this.#unsubscribe();
    this.#unsubscribe = () => {};
    await sensor
      ?.close()
      .catch((error: unknown) => this.#deps.log.debug({ sensor: this.entry.name, reason: messageOf(error) }, 'closing failed'));
  }
}
