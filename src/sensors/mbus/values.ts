/** Values of a meter's records under the keys of the measurement vocabulary, by their VIF and its extensions (EN 13757-3, tables of VIFs). */
import { MEASUREMENT_UNITS } from '../../config/fields/measurement-keys.ts';
import { scaled } from '../conversion/decimal.ts';
import type { Reading } from '../kind/sensor.ts';
import type { MbusAnswer, MbusRecord } from './records.ts';

/** Quantity, power of ten of the lowest code, and what else the value is divided by. */
type Quantity = readonly [name: string, exponent: number, divisor?: number];

/** By the first of the codes, whose following ones count up the power of ten; the number is how many there are. */
type Codes = readonly (readonly [first: number, count: number, ...Quantity])[];

const JOULES_PER_KWH = 3.6e6;
const SECONDS_PER_HOUR = 3600;

const PRIMARY: Codes = [
  [0x00, 8, 'energy', -6],
  [0x08, 8, 'energy', 0, JOULES_PER_KWH],
  [0x10, 8, 'volume', -6],
  [0x18, 8, 'mass', -3],
  [0x28, 8, 'power', -3],
  [0x30, 8, 'power', 0, SECONDS_PER_HOUR],
  [0x38, 8, 'flow', -6],
  [0x40, 8, 'flow', -7, 1 / 60],
  [0x48, 8, 'flow', -9, 1 / SECONDS_PER_HOUR],
  [0x50, 8, 'massFlow', -3],
  [0x58, 4, 'temperatureFlow', -3],
  [0x5c, 4, 'temperatureReturn', -3],
  [0x60, 4, 'temperatureDifference', -3],
  [0x64, 4, 'temperature', -3],
  // Bar, of which the vocabulary has hectopascals.
  [0x68, 4, 'pressure', 0],
  [0x6e, 1, 'heatCostUnits', 0],
];
/** After FB. */
const FIRST_EXTENSION: Codes = [
  [0x00, 2, 'energy', 2],
  [0x08, 2, 'energy', 8, JOULES_PER_KWH],
  [0x10, 2, 'volume', 2],
  [0x18, 2, 'mass', 5],
  [0x1a, 2, 'humidity', -1],
  [0x28, 2, 'power', 5],
  [0x30, 2, 'power', 8, SECONDS_PER_HOUR],
];
/** After FD. */
const SECOND_EXTENSION: Codes = [
  [0x17, 1, 'fault', 0],
  [0x40, 16, 'voltage', -9],
  [0x50, 16, 'current', -12],
];
/** Times switched on and in operation come in seconds, minutes, hours or days. */
const TIMES = ['onHours', 'operatingHours'];
const FIRST_OF_TIMES = 0x20;
const OF_AN_HOUR = [SECONDS_PER_HOUR, 60, 1, 1 / 24];

const MEDIA: Readonly<Record<number, string>> = {
  1: 'oil',
  2: 'electricity',
  3: 'gas',
  4: 'heat',
  5: 'steam',
  6: 'warm water',
  7: 'water',
  8: 'heat costs',
  9: 'compressed air',
  10: 'cooling',
  11: 'cooling',
  12: 'heat',
  13: 'heat and cooling',
  21: 'hot water',
  22: 'cold water',
};
const ELECTRICITY = 0x02;
const COOLING = [0x0a, 0x0b];
/** Only what flows forward, or backward, is counted. */
const FORWARD = 0x3b;
const BACKWARD = 0x3c;
/** After FC: value of one phase. */
const PHASES: Readonly<Record<number, string>> = { 1: 'L1', 2: 'L2', 3: 'L3' };

export function identityOf({ maker, serialNumber, medium }: MbusAnswer): readonly Reading[] {
  const identity = { maker, serialNumber, medium: MEDIA[medium] ?? 'other' };
  return Object.entries(identity).map(([key, value]) => ({ key, value }));
}

export function readingsOf(answers: readonly MbusAnswer[]): readonly Reading[] {
  const found = new Map<string, Reading>();
  for (const reading of answers.flatMap(({ records, medium }) => records.map((record) => readingOf(record, medium)))) {
    // Some meters give a value twice, the second time in another unit.
    if (reading !== undefined && !found.has(reading.key)) found.set(reading.key, reading);
  }
  return [...found.values()];
}

function readingOf(
  { function: kind, storage, tariff, subunit, vif, value }: MbusRecord,
  medium: number,
): Reading | undefined {
  if (kind !== 0 || storage !== 0 || value === undefined || typeof value === 'string') return undefined;
  const [first = 0x7f, second = 0x7f, ...rest] = vif;
  const [codes, code, extensions] =
    first === 0xfb
      ? [FIRST_EXTENSION, second & 0x7f, rest]
      : first === 0xfd
        ? [SECOND_EXTENSION, second & 0x7f, rest]
        : [PRIMARY, first & 0x7f, vif.slice(1)];
  const [name, exponent, divisor = 1] = quantityOf(codes, code) ?? [];
  const changes = changesOf(extensions);
  const key = name === undefined || changes === undefined ? undefined : keyOf(name, changes, medium);
  if (key === undefined || exponent === undefined || changes === undefined) return undefined;
  const number = scaled(value, { scale: Number(`1e${exponent + changes.exponent}`) });
  const ending = `${tariff === 0 ? '' : `_t${tariff}`}${subunit === 0 ? '' : `_u${subunit}`}`;
  const unit = MEASUREMENT_UNITS[key];
  return {
    key: key + ending,
    value: divisor === 1 ? number : Number((Number(number) / divisor).toPrecision(10)),
    ...(typeof unit === 'string' && { unit }),
  };
}

function quantityOf(codes: Codes, code: number): Quantity | undefined {
  const time = codes === PRIMARY ? TIMES[(code - FIRST_OF_TIMES) >> 2] : undefined;
  if (time !== undefined) return [time, 0, OF_AN_HOUR[code & 3] ?? 1];
  const [first = 0, , quantity = '', exponent = 0, divisor = 1] =
    codes.find(([from, count]) => code >= from && code < from + count) ?? [];
  return quantity === '' ? undefined : [quantity, exponent + code - first, divisor];
}

interface Changes {
  readonly exponent: number;
  readonly phase: string;
  readonly isBackward: boolean;
}

/** Undefined for an extension that makes another value of it, or an error: it is not known here. */
function changesOf(extensions: readonly number[]): Changes | undefined {
  let exponent = 0;
  let phase: string | undefined = '';
  let isBackward = false;
  const codes = extensions.map((byte) => byte & 0x7f);
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code >= 0x70 && code <= 0x77) exponent += code - 0x76;
    else if (code === 0x7d) exponent += 3;
    else if (code === BACKWARD) isBackward = true;
    else if (code === 0x7c) {
      at += 1;
      phase = PHASES[codes[at] ?? 0];
      if (phase === undefined) return undefined;
    } else if (code !== FORWARD) return undefined;
  }
  return { exponent, phase, isBackward };
}

function keyOf(quantity: string, { phase, isBackward }: Changes, medium: number): string | undefined {
  const isElectric = medium === ELECTRICITY;
  const direction = isBackward ? 'Export' : 'Import';
  // Backward is a value of its own for electricity alone.
  if (isBackward && !(isElectric && ['energy', 'power'].includes(quantity))) return undefined;
  if (quantity === 'energy')
    return isElectric ? `energy${direction}${phase}` : `${COOLING.includes(medium) ? 'cooling' : 'heat'}Energy`;
  if (quantity === 'power' && isElectric) return isBackward ? 'powerExport' : `power${phase === '' ? 'Total' : phase}`;
  return quantity === 'power' ? 'heatPower' : quantity + phase;
}
