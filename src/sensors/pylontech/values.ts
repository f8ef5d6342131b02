/**
 * Analog values of modules (command 0x42), each held to what a cell of iron phosphate, a module and its sensors can show. Other makers send the
 * same frames with another content (Pace, Seplos): what does not end where it should, or whose cells do not add up to its voltage, is not read.
 */
import { MEASUREMENT_UNITS } from '../../config/fields/measurement-keys.ts';
import type { Outcome } from '../kind/outcome.ts';
import { outcomeOf } from '../kind/outcome.ts';
import { sensorFault, withinRange } from '../kind/sensor-fault.ts';

const ZERO_CELSIUS = 2731;
/** Items behind the voltage from which on capacities stand once more, in three bytes, as two hold no more than 65 Ah. */
const WITH_LONG_CAPACITIES = 3;
/** Capacity that is told in its three bytes alone. */
const ELSEWHERE = 0xffff;
/** Part by which the sum of the cells and the voltage at the terminals may differ: a cell whose wire is loose is left out alone. */
const MAX_DEVIATION = 0.25;

const RANGES = {
  cellVoltage: ['V', 0, 5],
  cellTemperature: ['°C', -50, 120],
  batteryTemperature: ['°C', -50, 120],
  batteryVoltage: ['V', 0, 65.535],
  batteryCurrent: ['A', -500, 500],
  batteryCapacityRemaining: ['Ah', 0, 1_000],
  batteryCapacity: ['Ah', 0, 1_000],
  batterySoc: ['%', 0, 100],
  batteryCycles: ['', 0, 65_535],
} as const satisfies Readonly<Record<string, readonly [unit: string, least: number, greatest: number]>>;

type Quantity = keyof typeof RANGES;

/** Value of one module, with its number where there are several of its quantity. */
interface Value {
  readonly quantity: Quantity;
  readonly place?: number;
  /** Undefined where the module does not tell it. */
  readonly value: number | undefined;
}

/** Another content than that of Pylontech's protocol. */
class OtherLayout extends Error {}

/** @throws AgentError `sensors/bad-reading` (retry) for the content of another protocol. */
export function outcomesOf(information: Buffer, isStack: boolean): readonly Outcome[] {
  try {
    return modulesIn(information, isStack).flatMap((values, at) =>
      values.map(({ quantity, place = '', value }) => {
        const [unit, least, greatest] = RANGES[quantity];
        const key = `${quantity}${place}${isStack ? `_m${at + 1}` : ''}`;
        return outcomeOf(key, () => {
          if (value === undefined) throw sensorFault('no-value', `${key} is not told`);
          const own = MEASUREMENT_UNITS[quantity] ?? unit;
          return { key, value: withinRange(key, value, [least, greatest]), ...(own !== '' && { unit: own }) };
        });
      }),
    );
  } catch (error) {
    if (!(error instanceof OtherLayout) && !(error instanceof RangeError)) throw error;
    throw sensorFault(
      'bad-reading',
      `the answer has another content than that of Pylontech's protocol (${error.message}): batteries of other makers, such as those with a controller of Pace or Seplos, send the same frames with other values, which are not read here`,
    );
  }
}

/** Information: a flag, the number of the module or, of a stack, how many there are, and the modules. */
function modulesIn(information: Buffer, isStack: boolean): readonly (readonly Value[])[] {
  const bytes = new Reader(information);
  bytes.take(1);
  const number = bytes.take(1);
  const modules: (readonly Value[])[] = [];
  for (let count = isStack ? number : 1; count > 0; count -= 1) modules.push(moduleIn(bytes));
  if (!bytes.isAtEnd) throw new OtherLayout('it is longer than its values');
  return modules;
}

function moduleIn(bytes: Reader): readonly Value[] {
  const cells = Array.from({ length: bytes.take(1) }, () => bytes.signed() / 1_000);
  const [board, ...temperatures] = Array.from({ length: bytes.take(1) }, () => (bytes.take(2) - ZERO_CELSIUS) / 10);
  const current = bytes.signed() / 10;
  const voltage = bytes.take(2) / 1_000;
  const short = bytes.take(2);
  const items = bytes.take(1);
  const shortTotal = bytes.take(2);
  const cycles = bytes.take(2);
  const [remaining, total] =
    items >= WITH_LONG_CAPACITIES
      ? [bytes.take(3), bytes.take(3)]
      : [short === ELSEWHERE ? undefined : short, shortTotal === ELSEWHERE ? undefined : shortTotal];
  const sum = cells.reduce((all, one) => all + one, 0);
  if (Math.abs(sum - voltage) > MAX_DEVIATION * Math.max(sum, voltage))
    throw new OtherLayout(`its cells add up to ${sum.toFixed(1)} V, and its voltage is ${voltage} V`);
  const soc = remaining === undefined || total === undefined || total === 0 ? undefined : (100 * remaining) / total;
  return [
    { quantity: 'batteryVoltage', value: voltage },
    { quantity: 'batteryCurrent', value: current },
    { quantity: 'batterySoc', value: soc === undefined ? undefined : Math.round(soc * 10) / 10 },
    { quantity: 'batteryCapacityRemaining', value: remaining === undefined ? undefined : remaining / 1_000 },
    { quantity: 'batteryCapacity', value: total === undefined ? undefined : total / 1_000 },
    { quantity: 'batteryCycles', value: cycles },
    ...(board === undefined ? [] : [{ quantity: 'batteryTemperature', value: board } as const]),
    ...temperatures.map((value, at): Value => ({ quantity: 'cellTemperature', place: at + 1, value })),
    ...cells.map((value, at): Value => ({ quantity: 'cellVoltage', place: at + 1, value })),
  ];
}

/** Takes numbers, the high byte first. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  take(width: number): number {
    if (this.#at + width > this.#bytes.length) throw new OtherLayout('it ends within its values');
    this.#at += width;
    return this.#bytes.readUIntBE(this.#at - width, width);
  }

  signed(): number {
    return (this.take(2) << 16) >> 16;
  }
}
