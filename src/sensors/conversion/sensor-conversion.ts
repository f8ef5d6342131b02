/**
 * The readings of one sensor through the chain of conversion, each key by its own words. It remembers the last value of keys with a greatest
 * step, and of which keys no value is left; with other words another one begins.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ConversionConfig } from '../../config/fields/conversion.ts';
import type { Clock } from '../../host/clock.ts';
import { keepAtMost } from '../../values/keep-at-most.ts';
import { type Outcome, outcomeOf } from '../kind/outcome.ts';
import type { Reading, Refusal } from '../kind/sensor.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import { convertReading } from './convert-value.ts';

/** By key; `*` holds for those that are not listed. */
export type Conversions = Readonly<Record<string, ConversionConfig | undefined>>;

/** A driver that gives its readings ever new names must not take the memory. */
const MAX_KEYS = 1_000;

export class SensorConversion {
  readonly #rules: Conversions;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #last = new Map<string, { readonly value: number; readonly atMs: number }>();
  readonly #refused = new Map<string, Refusal>();

  constructor(rules: Conversions = {}, clock: Pick<Clock, 'monotonicMs'>) {
    this.#rules = rules;
    this.#clock = clock;
  }

  /** True when it goes by these words. */
  isBy(rules: Conversions = {}): boolean {
    return isDeepStrictEqual(rules, this.#rules);
  }

  /** Refusals of the driver, and of the keys whose newest value was refused here. */
  refusedBeside(refused: readonly Refusal[] = []): readonly Refusal[] {
    return [
      ...refused,
      ...[...this.#refused.values()].filter(({ key }) => refused.every((other) => other.key !== key)),
    ];
  }

  /** Returns the readings that are left. */
  convert(readings: readonly Reading[]): readonly Reading[] {
    return readings.flatMap((reading) => {
      const { key } = reading;
      const outcome = this.#convert(reading);
      this.#refused.delete(key);
      if (!('fault' in outcome)) return [outcome];
      this.#refused.set(key, outcome);
      keepAtMost(this.#refused, MAX_KEYS);
      return [];
    });
  }

  /** The same for somebody who asks for a value. @throws AgentError of a refusal when nothing is left. */
  convertSome(readings: readonly Reading[]): readonly Reading[] {
    const converted = this.convert(readings);
    const refusal = this.#refused.get(readings[0]?.key ?? '');
    if (converted.length === 0 && refusal !== undefined) throw refusal.fault;
    return converted;
  }

  #convert({ text, ...reading }: Reading): Outcome {
    const rules = Object.hasOwn(this.#rules, reading.key) ? this.#rules[reading.key] : this.#rules['*'];
    if (rules === undefined) return reading;
    return outcomeOf(reading.key, () => {
      const value = convertReading(text === undefined ? reading : { ...reading, text }, rules);
      if (typeof value === 'number')
        this.#checkStep(reading.key, value, { rules, atMs: reading.monotonicMs ?? this.#clock.monotonicMs() });
      return { ...reading, value };
    });
  }

  /** @throws AgentError `sensors/spike` (retry). The longer the last good value is ago, the farther away the next may be. */
  #checkStep(
    key: string,
    value: number,
    { rules: { maxStep }, atMs }: { readonly rules: ConversionConfig; readonly atMs: number },
  ): void {
    if (maxStep === undefined) return;
    const last = this.#last.get(key);
    const most =
      last === undefined ? Number.POSITIVE_INFINITY : maxStep.by * Math.max(1, (atMs - last.atMs) / maxStep.perMs);
    if (last !== undefined && Math.abs(value - last.value) > most)
      throw sensorFault('spike', `${key} ${value} is more than ${maxStep.by} away from ${last.value}`);
    this.#last.set(key, { value, atMs });
    keepAtMost(this.#last, MAX_KEYS);
  }
}
