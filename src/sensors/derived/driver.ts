/**
 * Values made of those of other sensors. Each is calculated when one of its keys has come, with the time of the newest; one whose keys are not all
 * there is missing, and named. It speaks by itself: its period only asks what is missing.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { messageOf } from '../../errors/agent-error.ts';
import {
  type Expression,
  type ExpressionHistory,
  type ExpressionValue,
  loadExpressions,
} from '../../values/expression.ts';
import { SavedTotal } from '../families/totals/saved-total.ts';
import { outcomeOf, sorted } from '../kind/outcome.ts';
import type { Reading, Refusal, Sensor } from '../kind/sensor.ts';
import type { MadeValue, MeasuredValue, SensorDeps, ValuesOfSensors } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import type { DerivedConfig } from './definition.ts';

/**
 * Longest time between two values that an integral counts: 10 min, or for values that come less often 2.5 times the interval before, up to a
 * day. Between values further apart nobody knows what was.
 */
const MIN_GAP_MS = 10 * 60_000;
const INTERVALS_OF_GAP = 2.5;
const MAX_GAP_MS = 24 * 3_600_000;
const MS_PER_HOUR = 3_600_000;

export async function open(config: DerivedConfig, deps: SensorDeps, _signal: AbortSignal): Promise<Sensor> {
  const { name, saveEveryMs } = config;
  const { values, stateFolder } = deps;
  if (values === undefined)
    throw sensorFault('no-input', `${name} is made of other sensors’ values, which only the running agent has`);
  const compile = await loadExpressions();
  const totals: SavedTotal[] = [];
  const refusals = new Map<string, Refusal>();
  const made = Object.entries(config.values).map(([key, source]) => {
    const expression = compile(source);
    const sums = [...expression.integrals].map(([place, of], at, all) => {
      const alikeBefore = all.slice(0, at).filter(([, other]) => other === of).length;
      const total = new SavedTotal(join(stateFolder, 'counters'), fileOf(name, [key, of, alikeBefore]), {
        ...deps,
        saveEveryMs,
      });
      totals.push(total);
      return [place, total] as const;
    });
    const history = new PlacesOfHistory(expression.places, new Map(sums));
    return new DerivedValue(key, expression, { sensor: name, values, refusals, history });
  });
  await Promise.all(totals.map((total) => total.load()));
  let stop = (): void => {};
  return {
    name,
    speaksByItself: true,
    read: async () => {
      for (const one of made) one.look();
      if (refusals.size === made.length) sorted([...refusals.values()].filter(isFault));
      return [];
    },
    refused: () => [...refusals.values()].filter(isFault),
    subscribe: (tell) => {
      stop = values.make({ name, values: made, tell });
      return stop;
    },
    close: async () => {
      stop();
      await Promise.all(totals.map((total) => total.close()));
    },
  };
}

/** While the sensor of a key only starts, nothing is wrong. */
function isFault({ fault }: Refusal): boolean {
  return fault.code !== 'sensors/awaited-input';
}

/** Returns a name that any key can have, and that the sum of something else does not. */
function fileOf(sensor: string, sum: readonly (string | number)[]): string {
  return `${sensor}.${createHash('sha256').update(JSON.stringify(sum)).digest('hex').slice(0, 32)}`;
}

interface DerivedValueDeps {
  readonly sensor: string;
  readonly values: ValuesOfSensors;
  /** By key: those of the newest look, or of what could not be calculated last. */
  readonly refusals: Map<string, Refusal>;
  readonly history: PlacesOfHistory;
}

class DerivedValue implements MadeValue {
  readonly key: string;
  readonly #expression: Expression;
  readonly #deps: DerivedValueDeps;
  /** The refusal for what could not be calculated last. */
  #fault: Refusal | undefined;

  constructor(key: string, expression: Expression, deps: DerivedValueDeps) {
    this.key = key;
    this.#expression = expression;
    this.#deps = deps;
  }

  get inputs(): readonly string[] {
    return this.#expression.inputs;
  }

  /** Returns its inputs; none when one is missing. */
  look(): readonly (MeasuredValue & { readonly input: string })[] {
    let inputs: readonly (MeasuredValue & { readonly input: string })[] = [];
    const { values, sensor } = this.#deps;
    const outcome = outcomeOf(this.key, () => {
      inputs = this.inputs.map((input) => ({ input, ...values.current(input, sensor) }));
      return { key: this.key, value: null };
    });
    this.#refuse('fault' in outcome ? outcome : this.#fault);
    return inputs;
  }

  /** Undefined when it is refused, and while a function that remembers has no value before. */
  calculate(): Reading | undefined {
    const { key } = this;
    const { history } = this.#deps;
    const inputs = this.look();
    const [newest] = inputs.toSorted((one, other) => other.monotonicMs - one.monotonicMs);
    if (newest === undefined) return undefined;
    let isFirst = false;
    const outcome = outcomeOf(key, () => {
      history.begin(inputs.map(({ monotonicMs }) => monotonicMs));
      const value = this.#evaluate(inputs.map(({ input, value }) => plain(input, value)));
      isFirst = typeof value === 'number' && Number.isNaN(value) && history.isFirst;
      if (!isFirst && typeof value === 'number' && !Number.isFinite(value))
        throw sensorFault('no-value', 'the expression gives no number');
      const isPart = inputs.some((one) => one.isPart === true);
      const isOld = inputs.some((one) => one.isOld === true);
      return {
        key,
        value,
        monotonicMs: newest.monotonicMs,
        takenAtMs: newest.takenAtMs,
        ...(isPart && { isPart }),
        ...(isOld && { isOld }),
      };
    });
    this.#fault = 'fault' in outcome ? outcome : undefined;
    this.#refuse(this.#fault);
    return isFirst || 'fault' in outcome ? undefined : outcome;
  }

  forget(keys: ReadonlySet<string>): void {
    this.#deps.history.forget((input) => keys.has(this.inputs[input] ?? ''));
  }

  #refuse(refusal: Refusal | undefined): void {
    const { refusals } = this.#deps;
    if (refusal === undefined) refusals.delete(this.key);
    else refusals.set(this.key, refusal);
  }

  #evaluate(values: readonly ExpressionValue[]): ExpressionValue {
    try {
      return this.#expression.evaluate(values, this.#deps.history);
    } catch (cause) {
      throw sensorFault('bad-expression', messageOf(cause), cause);
    }
  }
}

function plain(key: string, value: MeasuredValue['value']): ExpressionValue {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'object')
    throw sensorFault('bad-expression', `${key} is neither a number nor a text nor true or false`);
  return value;
}

interface Remembered {
  readonly value: number;
  readonly atMs: number;
  readonly result: number;
  /** Time from the value before it; 0 for the first. */
  readonly tookMs: number;
}

/** Values before, by the place of the call that remembers them: it is new when one of its own inputs is. */
class PlacesOfHistory implements ExpressionHistory {
  readonly #places: Expression['places'];
  readonly #sums: ReadonlyMap<number, SavedTotal>;
  readonly #before = new Map<number, Remembered>();
  #inputsAtMs: readonly number[] = [];
  /** True when a call of this evaluation had nothing to compare with. */
  isFirst = false;

  constructor(places: Expression['places'], sums: ReadonlyMap<number, SavedTotal>) {
    this.#places = places;
    this.#sums = sums;
  }

  /** @param inputsAtMs times of the inputs, monotonic. */
  begin(inputsAtMs: readonly number[]): void {
    this.#inputsAtMs = inputsAtMs;
    this.isFirst = false;
  }

  /** Begins anew each call that goes by one of these inputs. @param isOf an input, by its place. */
  forget(isOf: (input: number) => boolean): void {
    for (const place of this.#before.keys()) if (this.#places[place]?.some(isOf)) this.#before.delete(place);
  }

  rate(value: number, place: number): number {
    return this.#change(value, place, (difference, tookMs) => (difference * 1_000) / tookMs);
  }

  difference(value: number, place: number): number {
    return this.#change(value, place, (difference) => difference);
  }

  integral(value: number, place: number): number {
    const before = this.#before.get(place);
    const atMs = this.#atMs(place);
    const total = this.#sums.get(place);
    const tookMs = atMs - (before?.atMs ?? atMs);
    const isNew = before !== undefined && tookMs > 0;
    if (isNew && tookMs <= longestGap(before.tookMs)) total?.add(((before.value + value) / 2) * (tookMs / MS_PER_HOUR));
    this.#before.set(place, { value, atMs, result: 0, tookMs: isNew ? tookMs : (before?.tookMs ?? 0) });
    return this.#known(total?.kept ?? Number.NaN);
  }

  #change(value: number, place: number, of: (difference: number, tookMs: number) => number): number {
    const before = this.#before.get(place);
    const atMs = this.#atMs(place);
    if (before !== undefined && before.atMs >= atMs) return this.#known(before.result);
    const result = before === undefined ? Number.NaN : of(value - before.value, atMs - before.atMs);
    this.#before.set(place, { value, atMs, result, tookMs: 0 });
    return this.#known(result);
  }

  #known(result: number): number {
    if (Number.isNaN(result)) this.isFirst = true;
    return result;
  }

  /** Time of the newest input of a call. */
  #atMs(place: number): number {
    return Math.max(0, ...(this.#places[place] ?? []).map((input) => this.#inputsAtMs[input] ?? 0));
  }
}

function longestGap(intervalMs: number): number {
  return Math.min(MAX_GAP_MS, Math.max(MIN_GAP_MS, INTERVALS_OF_GAP * intervalMs));
}
