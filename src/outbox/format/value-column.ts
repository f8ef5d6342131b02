/**
 * The values of one key in one block. Sensors give decimals of few places, so a column is whole numbers of 10^-n written as
 * differences wherever that gives back the very same doubles; anything else has a form of its own, and none changes a value:
 * longs stay longs, -0 stays -0, JSON stays equal.
 */
import { type JsonValue, OWN_JSON, parseJson, stringifyJson } from '../../values/json.ts';
import type { ByteReader } from './byte-reader.ts';
import type { ByteWriter } from './byte-writer.ts';

const DECIMALS = 0;
const DOUBLES = 1;
const TEXTS = 2;
const MIXED = 3;

const NULL = 0;
const FALSE = 1;
const TRUE = 2;
const WHOLE = 3;
const DOUBLE = 4;
const LONG = 5;
const TEXT = 6;
const JSON_TEXT = 7;

/** Differences of two numbers within this stay safe integers when zigzagged. */
const MAX_WHOLE = 2 ** 51;
const POWERS_OF_TEN = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9] as const;

export function writeColumn(to: ByteWriter, values: readonly JsonValue[]): void {
  const places = decimalPlaces(values);
  if (places !== undefined) {
    to.byte(DECIMALS);
    to.byte(places);
    const power = POWERS_OF_TEN[places] as number;
    let last = 0;
    for (const value of values) {
      const whole = Math.round((value as number) * power);
      to.zigzag(whole - last);
      last = whole;
    }
  } else if (values.every((value) => typeof value === 'number')) {
    to.byte(DOUBLES);
    for (const value of values) to.double(value);
  } else if (values.every((value) => typeof value === 'string' && value.isWellFormed())) {
    to.byte(TEXTS);
    for (const value of values) to.text(value as string);
  } else {
    to.byte(MIXED);
    for (const value of values) writeMixed(to, value);
  }
}

/** Reads a column into its rows, `rows[start]` to `rows[end - 1]`. @throws RangeError or AgentError when the bytes are no such column. */
export function readColumn(from: ByteReader, into: JsonValue[], rows: Uint32Array, start: number, end: number): void {
  const form = from.byte();
  if (form === DECIMALS) {
    const power = POWERS_OF_TEN[from.byte()] as number;
    let whole = 0;
    for (let at = start; at < end; at += 1) {
      whole += from.zigzag();
      into[rows[at] as number] = whole / power;
    }
  } else if (form === DOUBLES) {
    for (let at = start; at < end; at += 1) into[rows[at] as number] = from.double();
  } else if (form === TEXTS) {
    for (let at = start; at < end; at += 1) into[rows[at] as number] = from.text();
  } else if (form === MIXED) {
    for (let at = start; at < end; at += 1) into[rows[at] as number] = readMixed(from);
  } else throw new RangeError(`no column has the form ${form}`);
}

/** The fewest places with which every value is a whole number of 10^-places, exactly; undefined when there is no such number. */
function decimalPlaces(values: readonly JsonValue[]): number | undefined {
  let places = 0;
  for (const value of values) {
    if (typeof value !== 'number' || Object.is(value, -0)) return undefined;
    while (places < POWERS_OF_TEN.length && !isWholeAt(value, places)) places += 1;
  }
  // More places later in the column also hold for the values before: but only if they still divide back to the same double.
  return values.every((value) => isWholeAt(value as number, places)) ? places : undefined;
}

function isWholeAt(value: number, places: number): boolean {
  // Past the last power there is NaN, which no comparison takes.
  const power = POWERS_OF_TEN[places] ?? Number.NaN;
  const whole = Math.round(value * power);
  return Math.abs(whole) < MAX_WHOLE && whole / power === value;
}

function writeMixed(to: ByteWriter, value: JsonValue): void {
  if (value === null) to.byte(NULL);
  else if (value === false) to.byte(FALSE);
  else if (value === true) to.byte(TRUE);
  else if (typeof value === 'number') {
    if (Number.isInteger(value) && Math.abs(value) < MAX_WHOLE && !Object.is(value, -0)) {
      to.byte(WHOLE);
      to.zigzag(value);
    } else {
      to.byte(DOUBLE);
      to.double(value);
    }
  } else if (typeof value === 'bigint') {
    to.byte(LONG);
    to.text(value.toString());
  } else if (typeof value === 'string' && value.isWellFormed()) {
    to.byte(TEXT);
    to.text(value);
  } else {
    to.byte(JSON_TEXT);
    to.text(stringifyJson(value));
  }
}

function readMixed(from: ByteReader): JsonValue {
  const form = from.byte();
  if (form === NULL) return null;
  if (form === FALSE || form === TRUE) return form === TRUE;
  if (form === WHOLE) return from.zigzag();
  if (form === DOUBLE) return from.double();
  if (form === LONG) return BigInt(from.text());
  if (form === TEXT) return from.text();
  if (form === JSON_TEXT) return parseJson(from.text(), OWN_JSON);
  throw new RangeError(`no value has the form ${form}`);
}
