/** Values of an SML telegram under the keys of the measurement vocabulary, and what some meters send otherwise than they mean it. */
import { narrowed } from '../conversion/bit-field.ts';
import { scaled } from '../conversion/decimal.ts';
import type { Reading } from '../kind/sensor.ts';
import { CODES_OF, type SmlKey, UNITS } from './definition.ts';
import type { SmlEntry, SmlInteger } from './messages.ts';

/** Watt-hours, by the number of the unit in DLMS (IEC 62056-6-2, table of units). */
const WATT_HOURS = 30;
/** No value of a meter is farther from its unit. */
const MAX_SCALER = 12;
/** Status of EMH's meters: energy is delivered. */
const DELIVERING = 0x20n;
/** Absolute value of the power, whose direction stands in the status alone. */
const ABSOLUTE_POWER = '15.7.0';
/** Serial numbers, from and below, of DZG's meters that send powers without a sign in one byte or two, marked as if they had one. */
const DZG_UNSIGNED = [
  [42_000_000, 49_000_000],
  [55_000_000, 59_000_000],
] as const;

export function readingsOf(entries: readonly SmlEntry[]): readonly Reading[] {
  const byCode = new Map(entries.map((entry) => [codeOf(entry), entry]));
  const isDelivering = entries.some(({ status }) => status !== undefined && (status.value & DELIVERING) !== 0n);
  const isUnsigned = isUnsignedDzg(byCode.get('96.1.0')?.value);
  return Object.entries(CODES_OF).flatMap(([key, codes]) => {
    const code = codes.find((one) => numberOf(byCode.get(one)) !== undefined) ?? '';
    const entry = byCode.get(code);
    const integer = numberOf(entry);
    if (entry === undefined || integer === undefined || Math.abs(entry.scaler) > MAX_SCALER) return [];
    const { width } = integer;
    const unit = UNITS[key as SmlKey] ?? '';
    const value = unit === 'W' && isUnsigned && width <= 2 ? BigInt.asUintN(8 * width, integer.value) : integer.value;
    const signed = code === ABSOLUTE_POWER && isDelivering ? -value : value;
    const scale = Number(`1e${entry.scaler - (entry.unit === WATT_HOURS ? 3 : 0)}`);
    return [{ key, value: scaled(narrowed(signed), { scale }), unit }];
  });
}

/** Value groups C, D and E of electricity. */
function codeOf({ code: [medium, , c, d, e] }: SmlEntry): string {
  return medium === 1 ? `${c}.${d}.${e}` : '';
}

function numberOf(entry: SmlEntry | undefined): SmlInteger | undefined {
  return entry === undefined || entry.value === undefined || entry.value instanceof Uint8Array
    ? undefined
    : entry.value;
}

/** The identity is 0A 01, the maker's letters, a byte, and the serial number (DIN 43863-5). */
function isUnsignedDzg(identity: SmlEntry['value']): boolean {
  if (!(identity instanceof Uint8Array) || identity.length !== 10) return false;
  const bytes = Buffer.from(identity);
  const serial = bytes.readUInt32BE(6);
  return bytes.toString('latin1', 2, 5) === 'DZG' && DZG_UNSIGNED.some(([from, to]) => serial >= from && serial < to);
}
