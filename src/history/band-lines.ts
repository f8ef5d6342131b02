/**
 * Hours of bands as lines of a file. A line holds up to so many keys of one hour, packed, with a check value:
 *
 *   {"hour":1779998400000,"of":1,"bands":"<base64 of deflated text>","crc32":"…"}
 *
 * The text has a line for each key: `["device","key"]`, a tab, and columns of its bands: `[at…],[least…],[greatest…],[last…],[lastMs…]`.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { EpochMs } from '../host/clock.ts';
import { nextTurn } from '../host/next-turn.ts';
import { sealJson, unsealJson } from '../store/sealed-json.ts';
import { isJsonObject } from '../values/json.ts';
import { type Band, HOUR_MS, PART_MS, PARTS } from './band-hour.ts';
import type { KeyHour } from './open-hours.ts';

/** Keys of a line: to pack or unpack so many takes a few ms. */
const KEYS_OF_A_LINE = 200;
/** Longer names of device and key together are left out of the record. */
export const MAX_NAME_LENGTH = 1_000;
/** Far above what so many keys take. */
const MAX_TEXT_BYTES = 4_000_000;
const HOUR_FIELD = /^\{"hour":(\d{1,15}),/;

export interface HourOfKeys {
  readonly hourMs: EpochMs;
  readonly keys: readonly KeyHour[];
}

/** A line of a file, and the hour that it is of. */
export interface HourLine {
  readonly hourMs: EpochMs;
  readonly line: string;
}

/** Between two lines others have their turn. */
export async function packHours(hours: readonly HourOfKeys[]): Promise<readonly HourLine[]> {
  const lines: HourLine[] = [];
  for (const { hourMs, keys } of hours) {
    const of = Math.ceil(keys.length / KEYS_OF_A_LINE);
    for (let at = 0; at < of; at += 1) {
      const bands = packed(keys.slice(at * KEYS_OF_A_LINE, (at + 1) * KEYS_OF_A_LINE));
      lines.push({ hourMs, line: sealJson({ hour: hourMs, of, bands }) });
      await nextTurn();
    }
  }
  return lines;
}

/** The hour that a line says to be of, without a look at the rest; undefined when it says none. */
export function hourOfLine(line: string): EpochMs | undefined {
  const hourMs = Number(HOUR_FIELD.exec(line)?.[1] ?? Number.NaN);
  return hourMs % HOUR_MS === 0 ? hourMs : undefined;
}

/** One of `of` lines of its hour that were written together. */
interface ReadLine {
  readonly of: number;
  readonly keys: readonly KeyHour[];
}

/** A line, with those of its keys whose `nameOf` is wanted. @throws Error when it is damaged. */
export function readLine(line: string, wanted: ReadonlySet<string>): ReadLine {
  const sealed = unsealJson(line);
  if (!isJsonObject(sealed) || typeof sealed.bands !== 'string' || typeof sealed.of !== 'number')
    throw new Error('not a line of bands');
  if (wanted.size === 0) return { of: sealed.of, keys: [] };
  const text = inflateRawSync(Buffer.from(sealed.bands, 'base64'), { maxOutputLength: MAX_TEXT_BYTES }).toString();
  const keys = text.split('\n').flatMap((row) => {
    const tab = row.indexOf('\t');
    const name = row.slice(0, tab);
    if (!wanted.has(name)) return [];
    const [device, key] = JSON.parse(name) as [string, string];
    return [{ device, key, bands: bandsIn(row.slice(tab + 1)) }];
  });
  return { of: sealed.of, keys };
}

/** Name of a key of a device, as a line has it. */
export function nameOf(device: string, key: string): string {
  return JSON.stringify([device, key]);
}

function packed(keys: readonly KeyHour[]): string {
  const text = keys.map(({ device, key, bands }) => `${nameOf(device, key)}\t${columnsOf([...bands])}`).join('\n');
  return deflateRawSync(text).toString('base64');
}

function columnsOf(bands: readonly Band[]): string {
  const column = (field: keyof Band): number[] => bands.map((band) => band[field]);
  return JSON.stringify([column('at'), column('least'), column('greatest'), column('last'), column('lastMs')]);
}

function bandsIn(text: string): Band[] {
  const columns: unknown = JSON.parse(text);
  if (!Array.isArray(columns)) throw new Error('no columns');
  const [ats, least, greatest, last, lastMs] = columns.map(numbersIn);
  return (ats ?? []).map((at, row) => {
    const band = { at, least: least?.[row], greatest: greatest?.[row], last: last?.[row], lastMs: lastMs?.[row] };
    if (!isBand(band)) throw new Error('no band');
    return band;
  });
}

function numbersIn(column: unknown): number[] {
  if (!Array.isArray(column) || column.length > PARTS || !column.every(Number.isFinite))
    throw new Error('no column of numbers');
  return column;
}

function isBand(band: { readonly [field in keyof Band]: number | undefined }): band is Band {
  const { at, least, greatest, last, lastMs = -1 } = band;
  return (
    Number.isInteger(at) &&
    at !== undefined &&
    at >= 0 &&
    at < PARTS &&
    lastMs >= 0 &&
    lastMs <= PART_MS &&
    sorted(least, last, greatest)
  );
}

function sorted(least = Number.NaN, last = Number.NaN, greatest = Number.NaN): boolean {
  return least <= last && last <= greatest;
}
