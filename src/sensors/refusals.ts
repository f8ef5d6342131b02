/** Values that a sensor does not give: told when it begins, when the reason changes, ever more seldom where reasons take turns, and when it ends. */
import { Backoff } from '../host/backoff.ts';
import type { Clock } from '../host/clock.ts';
import { getOrInsert } from '../values/get-or-insert.ts';
import type { Refusal } from './kind/sensor.ts';
import type { SamplerDeps, SensorState } from './sampler.ts';

const SPIKE = 'sensors/spike';
/** A noisy sensor has some in each minute: they are counted, and told of together. */
const SPIKES_EVERY_MS = 3_600_000;
const BETWEEN = { firstMs: 60_000, maxMs: 3_600_000 };

export class ToldReason {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'jitter'>;
  readonly #backoff: Backoff;
  #told: string | undefined;
  #notBeforeMs = 0;

  constructor(clock: Pick<Clock, 'monotonicMs' | 'jitter'>) {
    this.#clock = clock;
    this.#backoff = new Backoff(BETWEEN, clock);
  }

  /** Returns true when this reason is to be told now, and counts it as told. */
  isNews(reason: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (reason === this.#told || nowMs < this.#notBeforeMs) return false;
    // The first change is told at once.
    if (this.#told !== undefined) this.#notBeforeMs = nowMs + this.#backoff.nextMs();
    this.#told = reason;
    return true;
  }
}

export class Refusals {
  readonly #sensor: string;
  readonly #deps: Pick<SamplerDeps, 'clock' | 'log'>;
  /** By key, as long as it is refused. */
  readonly #told = new Map<string, ToldReason>();
  /** By key: how many `maxStep` has refused since they were told of, and when they may be again. */
  readonly #spikes = new Map<string, { count: number; notBeforeMs: number }>();
  #refused: readonly Refusal[] = [];

  constructor(sensor: string, deps: Pick<SamplerDeps, 'clock' | 'log'>) {
    this.#sensor = sensor;
    this.#deps = deps;
  }

  list(): SensorState['refused'] {
    return this.#refused.map(({ key, fault: { code, message, sentence } }) => ({ key, code, message, sentence }));
  }

  /** Takes those of the newest read. True when a value is missing that was not before, is missing for another reason, or is there again. */
  recordRefusals(refused: readonly Refusal[]): boolean {
    const { clock, log } = this.#deps;
    this.#refused = refused;
    if (refused.length + this.#told.size === 0) return false;
    const hasSpikes = refused.map((one) => this.#countSpike(one)).includes(true);
    const given = [...this.#told.keys()].filter((known) => refused.every(({ key }) => key !== known));
    for (const key of given) this.#told.delete(key);
    const news = refused.filter(
      ({ key, fault }) =>
        fault.code !== SPIKE && getOrInsert(this.#told, key, () => new ToldReason(clock)).isNews(fault.message),
    );
    for (const { key, fault } of news)
      log.warn(
        { sensor: this.#sensor, key, code: fault.code, reason: fault.message },
        'the sensor does not give this value',
      );
    for (const key of given) log.info({ sensor: this.#sensor, key }, 'the sensor gives this value again');
    return hasSpikes || news.length + given.length > 0;
  }

  /** True when spikes are told of now. */
  #countSpike({ key, fault }: Refusal): boolean {
    if (fault.code !== SPIKE) return false;
    const { clock, log } = this.#deps;
    const spikes = getOrInsert(this.#spikes, key, () => ({ count: 0, notBeforeMs: Number.NEGATIVE_INFINITY }));
    spikes.count += 1;
    if (clock.monotonicMs() < spikes.notBeforeMs) return false;
    log.warn(
      { sensor: this.#sensor, key, spikes: spikes.count, last: fault.message },
      'values that maxStep refuses are left out',
    );
    spikes.count = 0;
    spikes.notBeforeMs = clock.monotonicMs() + SPIKES_EVERY_MS;
    return true;
  }
}
