/**
 * Values of a pushed list under the keys of the measurement vocabulary. Where a list has codes of OBIS, a value stands behind its code, with
 * scaler and unit behind it; the list's file gives them where they are not sent. Descriptions of the items may stand first, and the values behind.
 */
import { scaled } from '../conversion/decimal.ts';
import { keysByCode } from '../families/obis/definition.ts';
import { type Outcome, outcomeOf } from '../kind/outcome.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import type { Datum } from './data.ts';
import { CODES_OF, UNITS } from './definition.ts';
import type { MeterList, Place } from './lists.ts';

const KEY_OF = keysByCode(CODES_OF);
/** Unit and power of ten by the number of the unit in DLMS (IEC 62056-6-2, table of units). */
const SENT_UNITS: Readonly<Record<number, readonly [unit: string | null, exponent: number]>> = {
  27: ['W', 0],
  28: ['VA', 0],
  29: ['var', 0],
  30: ['kWh', -3],
  31: ['kVAh', -3],
  32: ['kvarh', -3],
  33: ['A', 0],
  35: ['V', 0],
  44: ['Hz', 0],
  255: [null, 0],
};
/** No value of a meter is farther from its unit. */
const MAX_SCALER = 12;
const CODE_LENGTH = 6;
/** Class, code, attribute and index of the data. */
const DESCRIPTION = 'u16 octets i8 u16';

interface Entry {
  /** Six bytes. */
  readonly code: Uint8Array;
  readonly value: Datum;
  readonly scaler: number;
  /** Undefined where none was sent. */
  readonly unit: number | undefined;
}

/** Undefined for a list that is not known here. */
export function outcomesOf(data: Datum, lists: readonly MeterList[]): readonly Outcome[] | undefined {
  const entries = entriesIn(data);
  const ids = new Set([...textsIn(data), ...entries.map(({ code }) => nameOf(code)), ...namesIn(data)]);
  const known = lists.filter(({ id }) => id === undefined || ids.has(id));
  const placed = known
    .flatMap((list) => list.shapes.map((shape) => ({ list, shape })))
    .find(({ shape }) => fits(data, shape));
  if (placed !== undefined) return ofPlaces(data, placed.shape, placed.list);
  const list = known.find(({ id, shapes }) => id !== undefined && shapes.length === 0);
  const told = entries.flatMap((entry) => ofEntry(entry, list));
  return told.length === 0 ? undefined : told;
}

/** Size and first types of a list, which tell it from others and are no numbers of a meter. */
export function descriptionOf(data: Datum): string {
  return `${data.items.length} items: ${data.items
    .slice(0, 8)
    .map(({ type }) => type)
    .join(', ')}`;
}

function fits({ type, items }: Datum, shape: readonly Place[]): boolean {
  return (
    type === 'structure' &&
    items.length === shape.length &&
    items.every((item, at) => [item.type, 'any'].includes(shape[at]?.type ?? '') || item.type === 'null')
  );
}

function ofPlaces({ items }: Datum, shape: readonly Place[], list: MeterList): readonly Outcome[] {
  return items.flatMap((item, at) => {
    const key = shape[at]?.key;
    return key === undefined ? [] : [byScale(key, item, list)];
  });
}

function ofEntry(entry: Entry, list: MeterList | undefined): readonly Outcome[] {
  const key = keyOf(entry.code);
  if (key === undefined) return [];
  if (entry.unit !== undefined) return [bySentUnit(key, entry)];
  return list === undefined ? [] : [byScale(key, entry.value, list)];
}

function byScale(key: string, value: Datum, { scales }: MeterList): Outcome {
  return outcomeOf(key, () => {
    const number = numberIn(key, value);
    const given = scales[key] ?? 1;
    const scale = typeof given === 'number' ? given : number < given.from ? given.scale : given.beyond;
    return { key, value: scaled(number, { scale }), ...unitOf(key) };
  });
}

function bySentUnit(key: string, { value, scaler, unit = 0 }: Entry): Outcome {
  return outcomeOf(key, () => {
    const number = numberIn(key, value);
    const [sent, exponent = 0] = SENT_UNITS[unit] ?? [];
    if (sent !== (UNITS[key] ?? null) || Math.abs(scaler) > MAX_SCALER)
      throw sensorFault('bad-reading', `${key} came with the unit ${unit} and the scaler ${scaler}`);
    return { key, value: scaled(number, { scale: Number(`1e${scaler + exponent}`) }), ...unitOf(key) };
  });
}

/** @throws AgentError `sensors/no-value` (retry) for one that the meter leaves out. */
function numberIn(key: string, { type, number }: Datum): number | bigint {
  if (number === undefined || Number.isNaN(number))
    throw sensorFault('no-value', `the meter gives no number for ${key} (${type})`);
  return number;
}

function unitOf(key: string): { readonly unit?: string } {
  const unit = UNITS[key];
  return typeof unit === 'string' ? { unit } : {};
}

/** Entries in the order in which they come, whatever lies around them. */
function entriesIn(data: Datum): readonly Entry[] {
  const described = descriptionsIn(data);
  if (described !== undefined) return described;
  const { items } = data;
  const found: Entry[] = [];
  for (let at = 0; at < items.length; at += 1) {
    const [item, value, behind] = items.slice(at, at + 3);
    if (item === undefined) break;
    if (!isCode(item) || value === undefined || value.type === 'structure') {
      found.push(...entriesIn(item));
      continue;
    }
    const sent = behind && scalerOf(behind);
    found.push({ code: item.bytes, value, scaler: sent?.scaler ?? 0, unit: sent?.unit });
    at += sent === undefined ? 1 : 2;
  }
  return found;
}

/** Entries of a list whose first item describes all, itself among them. */
function descriptionsIn({ items }: Datum): readonly Entry[] | undefined {
  const [first] = items;
  if (first?.type !== 'array' || first.items.length !== items.length || !first.items.every(isDescription))
    return undefined;
  return first.items.flatMap((description, at) => {
    const [code, value] = [description.items[1], items[at]];
    return code === undefined || value === undefined || value === first
      ? []
      : [{ code: code.bytes, value, scaler: 0, unit: undefined }];
  });
}

function isDescription({ type, items }: Datum): boolean {
  return type === 'structure' && items.map((item) => item.type).join(' ') === DESCRIPTION;
}

function isCode({ type, bytes }: Datum): boolean {
  return type === 'octets' && bytes.length === CODE_LENGTH && bytes[CODE_LENGTH - 1] === 0xff;
}

function scalerOf({ type, items }: Datum): { readonly scaler: number; readonly unit: number } | undefined {
  const [scaler, unit] = items;
  return type === 'structure' && items.length === 2 && scaler?.type === 'i8' && unit?.type === 'enum'
    ? { scaler: Number(scaler.number), unit: Number(unit.number) }
    : undefined;
}

/** The key of a code of electricity, whatever its channel. */
function keyOf([medium, , c, d, e]: Uint8Array): string | undefined {
  return medium === 1 ? KEY_OF.get(`${c}.${d}.${e}`) : undefined;
}

function nameOf([a, b, c, d, e]: Uint8Array): string {
  return `${a}-${b}:${c}.${d}.${e}`;
}

/** Texts that may be the name of a list. */
function textsIn({ bytes, items }: Datum): readonly string[] {
  return bytes.length > 0 ? [Buffer.from(bytes).toString('latin1')] : items.flatMap(textsIn);
}

function namesIn(data: Datum): readonly string[] {
  return isCode(data) ? [nameOf(data.bytes)] : data.items.flatMap(namesIn);
}
