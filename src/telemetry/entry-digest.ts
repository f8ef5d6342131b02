/**
 * A digest of many entries that does not depend on their order: what is kept on the gateway and what a report shows are held against
 * each other value by value, without either ever being whole in memory. Catches what count, sum, first and last cannot see.
 */
import { crc32 } from 'node:zlib';
import type { TimeRange } from '../operations/delivery-operations.ts';
import type { LedgerCell, Outbox } from '../outbox/outbox.ts';
import { isSentAsText, wireValue } from '../platform/wire-values.ts';
import { isJsonObject, type JsonValue, parseJson } from '../values/json.ts';

/** Acknowledged entries, with a digest where all of them are still kept. */
export interface SentCell extends LedgerCell {
  readonly digest?: number;
  /** Entries of it that had not arrived; absent for none. */
  readonly waiting?: number;
}

interface KeptEntry {
  readonly device: string;
  readonly key: string;
  readonly ts: number;
  readonly value: JsonValue;
}
type Entries = AsyncIterable<KeptEntry>;
type Counts = ReadonlyMap<string, number>;

/** The ledger's cells are of whole hours. */
export const HOUR_MS = 3_600_000;
/** Sums stay whole numbers of a double. */
const MODULUS = 2 ** 48;
/** As deep as the platform's parser reads. */
const MAX_DEPTH = 255;
/** As many as the report reader takes: parsed, each costs many times its length. */
const MAX_VALUES = 20_000;

/** Returns the beginning of the hour around a time. */
export function hourOf(ts: number): number {
  return Math.floor(ts / HOUR_MS) * HOUR_MS;
}

/** The digest with one more entry in it. */
export function addToDigest(digest: number, ts: number, value: JsonValue): number {
  return (digest + crc32(`${ts} ${canonical(value)}`)) % MODULUS;
}

/** Returns what was acknowledged in a time, with what waits and digests of what is kept. */
export async function sentCells(
  outbox: Pick<Outbox, 'readLedger' | 'read'>,
  range: TimeRange,
  signal: AbortSignal,
): Promise<readonly SentCell[]> {
  // First what waits: what arrives meanwhile is in the ledger too, rather than in neither.
  const waiting = await countByCell(outbox.read({ ...range, heldOnly: true }, signal));
  return await withDigests(await outbox.readLedger(range), outbox.read(range, signal), waiting);
}

/** How many of these entries each cell has. */
export async function countByCell(entries: Entries): Promise<Counts> {
  const counts = new Map<string, number>();
  for await (const { device, key, ts } of entries) {
    const name = nameOf(device, key, hourOf(ts));
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

/** The cells with what waits of each, and the digests of what is kept; a cell of which something is gone, or not delivered yet, gets none. */
export async function withDigests(
  cells: readonly LedgerCell[],
  kept: Entries,
  allWaiting: Counts,
): Promise<readonly SentCell[]> {
  const sums = new Map(
    cells.map((cell) => [nameOf(cell.device, cell.key, cell.hourMs), { cell, count: 0, digest: 0 }]),
  );
  for await (const { device, key, ts, value } of kept) {
    const sum = sums.get(nameOf(device, key, hourOf(ts)));
    if (sum === undefined || ts > sum.cell.last[0]) continue;
    sum.count += 1;
    sum.digest = addToDigest(sum.digest, ts, value);
  }
  return [...sums].map(([name, { cell, count, digest }]) => {
    const waiting = allWaiting.get(name);
    return { ...cell, waiting, digest: waiting === undefined && count === cell.count ? digest : undefined };
  });
}

/**
 * One text for one value, the same for what was sent, for what the platform makes of it (wire-values.ts: sixteen decimals, numbers of
 * digits, no half characters), and for the text in which a table's cell may show that. The audit knows no other notion of "the same".
 */
export function canonical(value: JsonValue): string {
  if (typeof value === 'string') return canonicalText(value);
  if (typeof value === 'number') return canonicalNumber(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!isJsonObject(value)) return String(value);
  return `{${Object.keys(value)
    .filter((key) => value[key] !== null)
    .sort()
    .map((key) => `${JSON.stringify(storedText(key))}:${canonical(value[key] ?? null)}`)
    .join()}}`;
}

function canonicalNumber(value: number): string {
  if (isSentAsText(value)) return canonicalText(String(value));
  return plainNumber(Number.isInteger(value) ? value : Number(wireValue(value)));
}

/** A text that reads as a number, a boolean, an object or a list stands for that: the platform itself makes numbers of "007" and ".5". */
function canonicalText(text: string): string {
  const stored = storedText(text);
  const parsed = parsedCell(stored);
  if (typeof parsed === 'string') return JSON.stringify(parsed);
  return typeof parsed === 'number' && isSentAsText(parsed) ? plainNumber(parsed) : canonical(parsed);
}

/** A whole double is the same as the integer. */
function plainNumber(value: number): string {
  return Number.isInteger(value) ? BigInt(value).toString() : String(value);
}

/** The platform's database holds no U+0000, and its encoding no half of a surrogate pair. */
function storedText(text: string): string {
  return text.replaceAll('\0', '').replace(/\p{Cs}/gu, '?');
}

/** Returns the number, boolean, object or list that a text spells, else the text. */
function parsedCell(text: string): JsonValue {
  if (!/^\s*[-.\d{[tf]/.test(text)) return text;
  try {
    return parseJson(text, { depth: MAX_DEPTH, values: MAX_VALUES });
  } catch {
    const number = Number(text);
    return Number.isFinite(number) && text.trim() !== '' ? number : text;
  }
}

function nameOf(device: string, key: string, hourMs: number): string {
  return `${hourMs}\0${device}\0${key}`;
}
