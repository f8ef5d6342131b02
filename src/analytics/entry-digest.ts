/**
 * A digest of many entries that does not depend on their order: what is kept on the gateway and what a report shows are held against
 * each other value by value, without either ever being whole in memory. Catches what count, sum, first and last cannot see.
 */
import { crc32 } from 'node:zlib';
import { isJsonObject, type JsonValue, parseJson, stringifyJson } from '../host/json.ts';
import type { LedgerCell } from '../outbox/delivery-ledger.ts';

/** What was acknowledged, with a digest of its entries where all of them are still kept. */
export interface SentCell extends LedgerCell {
  readonly digest?: number;
}

interface KeptEntry {
  readonly device: string;
  readonly key: string;
  readonly ts: number;
  readonly value: JsonValue;
}

/** The ledger's cells are of whole hours. */
const HOUR_MS = 3_600_000;
/** Sums stay whole numbers of a double. */
const MODULUS = 2 ** 48;

/** The digest with one more entry in it. */
export function addToDigest(digest: number, ts: number, value: JsonValue): number {
  return (digest + crc32(`${ts} ${canonical(value)}`)) % MODULUS;
}

/** The cells with the digests of what is kept; a cell of which something is gone, or not delivered yet, gets none. */
export async function withDigests(cells: readonly LedgerCell[], kept: AsyncIterable<KeptEntry>): Promise<readonly SentCell[]> {
  const sums = new Map(cells.map((cell) => [nameOf(cell.device, cell.key, cell.hourMs), { cell, count: 0, digest: 0 }]));
  for await (const { device, key, ts, value } of kept) {
    const sum = sums.get(nameOf(device, key, Math.floor(ts / HOUR_MS) * HOUR_MS));
    if (sum === undefined || ts > sum.cell.last[0]) continue;
    sum.count += 1;
    sum.digest = addToDigest(sum.digest, ts, value);
  }
  return [...sums.values()].map(({ cell, count, digest }) => (count === cell.count ? { ...cell, digest } : cell));
}

/** One text for one value, whether it comes as itself or as the text of a table's cell; the platform itself makes numbers of "007". */
export function canonical(value: JsonValue): string {
  if (typeof value === 'string') {
    const parsed = parsedCell(value);
    return typeof parsed === 'string' ? value : canonical(parsed);
  }
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isJsonObject(value)) return stringifyJson(value);
  return `{${Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key] ?? null)}`)
    .join()}}`;
}

/** What a text stands for, if it is a number, a boolean, an object or a list. */
function parsedCell(text: string): JsonValue {
  if (!/^\s*[-\d{[tf]/.test(text)) return text;
  try {
    return parseJson(text);
  } catch {
    const number = Number(text);
    return Number.isFinite(number) && text.trim() !== '' ? number : text;
  }
}

function nameOf(device: string, key: string, hourMs: number): string {
  return `${hourMs}\0${device}\0${key}`;
}
