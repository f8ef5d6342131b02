/**
 * Values of a readout: `code(value*unit)(time)`, one or several a line. A value of now is told by its code; one of an earlier day has `*01`
 * or `&01` behind it, and is read only where the configuration names it.
 */
import { scaled } from '../conversion/decimal.ts';
import { keysByCode } from '../families/obis/definition.ts';
import { type Outcome, outcomeOf } from '../kind/outcome.ts';
import type { Reading } from '../kind/sensor.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import { CODES_OF, HEAT_CODES_OF, type Iec62056Config, SIGNED_CODES_OF, UNITS } from './definition.ts';
import type { Identification } from './frames.ts';

/** One code with its brackets. */
export interface DataSet {
  /** Medium and channel, `1-0`; empty where the meter leaves them out. */
  readonly channel: string;
  /** Value groups C, D and E. */
  readonly code: string;
  /** Empty for the value of now. */
  readonly past: string;
  readonly places: readonly Place[];
}

export interface Place {
  readonly text: string;
  readonly unit: string;
  /** All that stands in the bracket. */
  readonly content: string;
}

const SETS = /([0-9A-Z&*.:-]*)((?:\([^()]*\))+)/g;
const NAME = /^(?:(\d+-\d+):)?([0-9A-Z]+)((?:\.[0-9A-Z]+){0,2})(?:[*&](\d+))?$/;
/** Group F of a value of now. */
const NOW = '255';

/** By meters' spellings: unit of the vocabulary, and its factor. */
const FACTORS: Readonly<Record<string, readonly [unit: string, factor: number, divisor?: number]>> = {
  wh: ['kWh', 0.001],
  kwh: ['kWh', 1],
  mwh: ['kWh', 1000],
  gwh: ['kWh', 1_000_000],
  mj: ['kWh', 1, 3.6],
  gj: ['kWh', 1000, 3.6],
  varh: ['kvarh', 0.001],
  kvarh: ['kvarh', 1],
  w: ['W', 1],
  kw: ['W', 1000],
  mw: ['W', 1_000_000],
  v: ['V', 1],
  kv: ['V', 1000],
  a: ['A', 1],
  ka: ['A', 1000],
  hz: ['Hz', 1],
  deg: ['°', 1],
  m3: ['m³', 1],
  l: ['m³', 0.001],
  h: ['h', 1],
};
/** Units that a display has for certain, where the meter leaves them out: not those of powers, which some give in kW. */
const PLAIN_UNITS: readonly string[] = ['kWh', 'kvarh', 'V', 'A', 'Hz'];

const KEY_OF = keysByCode(CODES_OF);
const HEAT_KEY_OF = keysByCode(HEAT_CODES_OF);
/** Codes of a meter's number, the best first. */
const NUMBERS = ['C.1.0', '96.1.0', '0.0.0', '9.21.0', '9.20.0'];

/** Sets in the order in which they come. Brackets on a line of their own belong to the code before them. */
export function setsIn(text: string): readonly DataSet[] {
  const sets: DataSet[] = [];
  for (const [, name = '', brackets = ''] of text.matchAll(SETS)) {
    const places = [...brackets.matchAll(/\(([^()]*)\)/g)].map(([, content = '']) => placeOf(content));
    const last = sets.at(-1);
    const set = name === '' ? undefined : setOf(name, places);
    if (set !== undefined) sets.push(set);
    else if (name === '' && last !== undefined)
      sets[sets.length - 1] = {
        channel: last.channel,
        code: last.code,
        past: last.past,
        places: [...last.places, ...places],
      };
  }
  return sets;
}

function setOf(name: string, places: readonly Place[]): DataSet | undefined {
  const [, channel = '', first = '', rest = '', past = NOW] = NAME.exec(name) ?? [];
  if (first === '') return undefined;
  // A last group that is left out, or 255, is that of all tariffs.
  const [, second = '0', third = '0'] = rest.split('.');
  const code = `${first}.${second}.${third === NOW ? '0' : third}`;
  return { channel, code, past: past === NOW ? '' : past, places };
}

function placeOf(content: string): Place {
  const at = content.lastIndexOf('*');
  return at === -1
    ? { text: content.trim(), unit: '', content: content.trim() }
    : { text: content.slice(0, at).trim(), unit: content.slice(at + 1).trim(), content: content.trim() };
}

/** Texts that say which meter it is. */
export function identityOf(identification: Identification | undefined, sets: readonly DataSet[]): readonly Reading[] {
  const serialNumber = numbersIn(sets)[0];
  const { maker, text } = identification ?? {};
  return Object.entries({ maker, identification: text, serialNumber }).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value }],
  );
}

/** Numbers that the meter gives as its own. */
export function numbersIn(sets: readonly DataSet[]): readonly string[] {
  return NUMBERS.flatMap((number) => sets.filter(({ code, past }) => code === number && past === '')).flatMap(
    ({ places: [place] }) => (place === undefined || place.text === '' ? [] : [place.text]),
  );
}

export function outcomesOf(
  sets: readonly DataSet[],
  maker: string | undefined,
  codes: Iec62056Config['codes'] = {},
): readonly Outcome[] {
  const found = new Map<string, Outcome>();
  for (const set of sets) {
    const key = keyOf(set, maker);
    if (key !== undefined && !found.has(key)) found.set(key, ofVocabulary(key, set));
  }
  for (const [key, written] of Object.entries(codes)) {
    const { code, place, type } =
      typeof written === 'string' ? { code: written, place: 1, type: 'number' as const } : written;
    found.set(key, ofCode(key, { code, place, type }, sets));
  }
  return [...found.values()];
}

function keyOf({ channel, code, past, places: [place] }: DataSet, maker = ''): string | undefined {
  if (past !== '' || place === undefined) return undefined;
  const isElectric = channel === '' || channel.startsWith('1-');
  const electric = isElectric ? (SIGNED_CODES_OF[maker]?.[code] ?? KEY_OF.get(code)) : undefined;
  const heat = channel === '' || channel.startsWith('6-') ? HEAT_KEY_OF.get(code) : undefined;
  // Code 6.8 is a reactive energy of an electricity meter: the unit tells them apart.
  return heat === undefined ? electric : unitOf(place.unit)?.[0] === UNITS[heat] ? heat : undefined;
}

function ofVocabulary(key: string, { code, places: [place] }: DataSet): Outcome {
  return outcomeOf(key, () => {
    const { text, unit: written } = place ?? { text: '', unit: '' };
    const wanted = UNITS[key] ?? null;
    const number = numberOf(key, text);
    if (wanted === null) return { key, value: number };
    const [unit, factor, divisor = 1] =
      written === '' && PLAIN_UNITS.includes(wanted) ? [wanted, 1] : (unitOf(written) ?? ['', 1]);
    if (unit !== wanted)
      throw sensorFault(
        'bad-reading',
        `${code} came ${written === '' ? 'without a unit' : `with the unit ${written}`}, and not in one of ${wanted}: name it under codes, and its conversion under keys`,
      );
    const value = scaled(number, { scale: factor });
    return { key, value: divisor === 1 ? value : Number((Number(value) / divisor).toPrecision(10)), unit: wanted };
  });
}

function ofCode(
  key: string,
  { code, place, type }: { readonly code: string; readonly place: number; readonly type: 'number' | 'text' },
  sets: readonly DataSet[],
): Outcome {
  return outcomeOf(key, () => {
    const wanted = setOf(code, []);
    const set = sets.find(
      (one) =>
        one.code === wanted?.code &&
        Number(one.past) === Number(wanted.past) &&
        (one.past === '') === (wanted.past === '') &&
        (wanted.channel === '' || one.channel === wanted.channel),
    );
    const found = set?.places[place - 1];
    if (found === undefined)
      throw sensorFault('no-value', `the meter sends no ${place === 1 ? code : `bracket ${place} of ${code}`}`);
    if (type === 'text') return { key, value: found.content };
    const unit = found.unit === '' ? {} : { unit: found.unit };
    return { key, value: numberOf(key, found.text), ...unit };
  });
}

function unitOf(written: string): (typeof FACTORS)[string] | undefined {
  return FACTORS[written.toLowerCase().replace('³', '3')];
}

/** @throws AgentError `sensors/no-value` (retry) for what the meter leaves empty, or shows as dashes. */
function numberOf(key: string, text: string): number {
  if (!/^[+-]?\d+(?:\.\d+)?$/.test(text))
    throw sensorFault('no-value', `the meter gives no number for ${key} ("${text}")`);
  return Number(text);
}
