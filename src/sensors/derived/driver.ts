/**
 * Values made of those of other sensors. Each is calculated when one of its keys has come, with the time of the newest; one whose keys are not all
 * there is missing, and named. It speaks by itself: its period only asks what is missing.
 */
import { join } from 'node:path';
import { messageOf } from '../../errors/agent-error.ts';
import { type Expression, type ExpressionHistory, type ExpressionValue, loadExpressions } from '../../host/expression.ts';
import { given } from '../../host/given.ts';
import { Listeners } from '../../host/listeners.ts';
import { SavedTotal, type SavedTotalDeps } from '../families/totals/saved-total.ts';
import { outcomeOf, sorted } from '../kind/outcome.ts';
import type { Reading, Refusal, Sensor } from '../kind/sensor.ts';
import type { MeasuredValue, SensorDeps, ValuesOfSensors } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import type { DerivedConfig } from './definition.ts';

/** Between two values further apart nobody knows what was: an integral leaves it out. */
const MAX_GAP_MS = 10 * 60_000;
const MS_PER_HOUR = 3_600_000;

export async function open(config: DerivedConfig, deps: SensorDeps, _signal: AbortSignal): Promise<Sensor> {
  const { name, saveEveryMs } = config;
  const { values, stateFolder } = deps;
  if (values === undefined) throw sensorFault('no-input', `${name} is made of other sensors’ values, which only the running agent has`);
  const compile = await loadExpressions();
  const totals: SavedTotal[] = [];
  const made = Object.entries(config.values).map(([key, source]) => {
    const expression = compile(source);
    const sums = Array.from({ length: expression.integrals > 0 ? expression.places.length : 0 }, (_, place) => {
      const total = new SavedTotal(join(stateFolder, 'counters'), `${name}.${key}.${place}`, {
        ...deps,
        saveEveryMs,
      } satisfies SavedTotalDeps);
      totals.push(total);
      return total;
    });
    return new DerivedValue(key, expression, new PlacesOfHistory(expression.places, sums));
  });
  await Promise.all(totals.map((total) => total.load()));
  const readings = new Listeners<[readonly Reading[]]>();
  const refused = (): readonly Refusal[] => made.flatMap((one) => one.refusal(values) ?? []);
  const calculate = (due: readonly DerivedValue[]): void => {
    const given = due.flatMap((one) => one.calculate(values) ?? []);
    if (given.length > 0) readings.tell(given);
  };
  const wanted = [...new Set(made.flatMap(({ inputs }) => inputs))];
  const stop = values.onValues(wanted, (keys) => calculate(made.filter(({ inputs }) => inputs.some((input) => keys.has(input)))));
  return {
    name,
    speaksByItself: true,
    read: async () => {
      const lost = refused();
      if (lost.length === made.length) sorted(lost);
      return [];
    },
    refused,
    subscribe: (listener) => {
      const end = readings.add(listener);
      // Its keys may have come before, and come again in an hour.
      calculate(made);
      return end;
    },
    close: async () => {
      stop();
      await Promise.all(totals.map((total) => total.close()));
    },
  };
}

class DerivedValue {
  readonly #key: string;
  readonly #expression: Expression;
  readonly #history: PlacesOfHistory;
  #fault: Refusal | undefined;

  constructor(key: string, expression: Expression, history: PlacesOfHistory) {
    this.#key = key;
    this.#expression = expression;
    this.#history = history;
  }

  get inputs(): readonly string[] {
    return this.#expression.inputs;
  }

  /** The refusal for a key that is not there, or for what could not be calculated last. */
  refusal(values: ValuesOfSensors): Refusal | undefined {
    const outcome = outcomeOf(this.#key, () => {
      for (const input of this.inputs) values.current(input);
      return { key: this.#key, value: 0 };
    });
    return 'fault' in outcome ? outcome : this.#fault;
  }

  /** Undefined when it is refused, and while a function that remembers has no value before. */
  calculate(values: ValuesOfSensors): Reading | undefined {
    const key = this.#key;
    let isFirst = false;
    const outcome = outcomeOf(key, () => {
      const inputs = this.inputs.map((input) => ({ input, ...values.current(input) }));
      const [newest] = inputs.toSorted((one, other) => other.monotonicMs - one.monotonicMs);
      this.#history.begin(inputs.map(({ monotonicMs }) => monotonicMs));
      const value = this.#evaluate(inputs.map(({ input, value }) => plain(input, value)));
      isFirst = typeof value === 'number' && Number.isNaN(value) && this.#history.isFirst;
      if (!isFirst && typeof value === 'number' && !Number.isFinite(value)) throw sensorFault('no-value', 'the expression gives no number');
      const isPart = inputs.some((one) => one.isPart === true);
      return { key, value, ...given({ monotonicMs: newest?.monotonicMs, takenAtMs: newest?.takenAtMs }), ...(isPart && { isPart }) };
    });
    this.#fault = 'fault' in outcome ? outcome : undefined;
    return isFirst || 'fault' in outcome ? undefined : outcome;
  }

  #evaluate(values: readonly ExpressionValue[]): ExpressionValue {
    try {
      return this.#expression.evaluate(values, this.#history);
    } catch (cause) {
      throw sensorFault('bad-expression', messageOf(cause), cause);
    }
  }
}

function plain(key: string, value: MeasuredValue['value']): ExpressionValue {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value === 'object') throw sensorFault('bad-expression', `${key} is neither a number nor a text nor true or false`);
  return value;
}

/** Values before, by the place of the call that remembers them: it is new when one of its own inputs is. */
class PlacesOfHistory implements ExpressionHistory {
  readonly #places: Expression['places'];
  readonly #sums: readonly SavedTotal[];
  readonly #before = new Map<number, { readonly value: number; readonly atMs: number; readonly result: number }>();
  #inputsAtMs: readonly number[] = [];
  /** True when a call of this evaluation had nothing to compare with. */
  isFirst = false;

  constructor(places: Expression['places'], sums: readonly SavedTotal[]) {
    this.#places = places;
    this.#sums = sums;
  }

  /** @param inputsAtMs times of the inputs, monotonic. */
  begin(inputsAtMs: readonly number[]): void {
    this.#inputsAtMs = inputsAtMs;
    this.isFirst = false;
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
    const total = this.#sums[place];
    const tookMs = atMs - (before?.atMs ?? atMs);
    if (before !== undefined && tookMs > 0 && tookMs <= MAX_GAP_MS) total?.add(((before.value + value) / 2) * (tookMs / MS_PER_HOUR));
    this.#before.set(place, { value, atMs, result: 0 });
    return this.#known(total?.kept ?? Number.NaN);
  }

  #change(value: number, place: number, of: (difference: number, tookMs: number) => number): number {
    const before = this.#before.get(place);
    const atMs = this.#atMs(place);
    if (before !== undefined && before.atMs >= atMs) return this.#known(before.result);
    const result = before === undefined ? Number.NaN : of(value - before.value, atMs - before.atMs);
    this.#before.set(place, { value, atMs, result });
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
