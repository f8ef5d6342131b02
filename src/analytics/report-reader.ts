/**
 * Reads a report's JSON as it arrives, in memory that does not grow with it:
 *
 *   bytes → members of the outer object → items of `dataTable`, each cut out whole → rows, in batches as they came
 *
 * Only brackets, quotes and commas are looked at here; they are single bytes in UTF-8 wherever a piece was cut. Each value cut out is
 * parsed by the house's JSON, longs and depth included. Cut out here, as `@streamparser/json` takes 1.6 times as long, makes a `__proto__`
 * of rows that have one, and bounds neither depth nor parts.
 */
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../host/json.ts';
import { AnalyticsError } from './analytics-error.ts';

export type ReportPart =
  | { readonly kind: 'labels'; readonly columnLabels: readonly string[] }
  | { readonly kind: 'rows'; readonly rows: readonly JsonObject[] };

/** One row, or the list of labels. */
const MAX_VALUE_BYTES = 1024 * 1024;
/** Members, items and brackets of one: each costs some hundred bytes once it is parsed, however few it has on the wire. */
const MAX_PARTS = 20_000;
const MAX_DEPTH = 32;
const FIRST_HELD_BYTES = 4 * 1024;
const TABLE = 'dataTable';
const LABELS = 'columnLabels';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

type Place = 'start' | 'key' | 'colon' | 'member' | 'after-member' | 'row' | 'after-row' | 'end';

/** By place, `table` being that of the rows' list: what comes after which byte, and what is wrong with any other. */
const STEPS: Readonly<
  Record<Exclude<Place, 'member'> | 'table', { readonly next: Readonly<Record<number, Place | 'value'>>; readonly fault: string }>
> = {
  start: { next: { [OPEN_BRACE]: 'key' }, fault: 'the answer is no JSON object' },
  key: { next: { [CLOSE_BRACE]: 'end', [QUOTE]: 'value' }, fault: 'a member has no name' },
  colon: { next: { [COLON]: 'member' }, fault: 'a member has no value' },
  table: { next: { [OPEN_BRACKET]: 'row' }, fault: 'dataTable is no list' },
  row: { next: { [CLOSE_BRACKET]: 'after-member', [OPEN_BRACE]: 'value' }, fault: 'a row is no object' },
  'after-row': { next: { [COMMA]: 'row', [CLOSE_BRACKET]: 'after-member' }, fault: 'rows are not separated' },
  'after-member': { next: { [COMMA]: 'key', [CLOSE_BRACE]: 'end' }, fault: 'members are not separated' },
  end: { next: {}, fault: 'something follows the report' },
};

export class ReportReader {
  #place: Place = 'start';
  #key = '';
  /** The value that began in an earlier piece of the body, so far. */
  #held = Buffer.alloc(0);
  #heldBytes = 0;
  #parts = 0;
  /** Within a value: open brackets, and whether inside a string. */
  #depth = 0;
  #inString = false;
  #escaped = false;
  #scalar = false;
  /** At the first byte of a value. */
  #isFresh = false;
  #sawTable = false;
  /** Rows that come before the labels are labelled by the first of them. */
  #sawLabels = false;

  /** Returns the parts that a piece of the body completes. @throws AnalyticsError `analytics/bad-answer` (drop). */
  readPiece(piece: Uint8Array): readonly ReportPart[] {
    const parts: ReportPart[] = [];
    const rows: JsonObject[] = [];
    let at = 0;
    while (at < piece.length) {
      if (this.#isInValue()) {
        at = this.#takeValue(piece, at, parts, rows);
        continue;
      }
      const byte = piece[at] ?? 0;
      if (isSpace(byte)) at += 1;
      else at = this.#takeStructure(byte, at);
    }
    const [first] = rows;
    if (first !== undefined && !this.#sawLabels) parts.push(this.#labels(Object.keys(first)));
    if (rows.length > 0) parts.push({ kind: 'rows', rows });
    return parts;
  }

  /** The body has ended. @throws AnalyticsError `analytics/bad-answer` (drop) when it was cut short or was no report. */
  end(): void {
    if (this.#place !== 'end') throw bad('the report ends in the middle');
    if (!this.#sawTable) throw bad('the answer holds no dataTable');
  }

  #labels(columnLabels: readonly string[]): ReportPart {
    this.#sawLabels = true;
    return { kind: 'labels', columnLabels };
  }

  #isInValue(): boolean {
    return this.#depth > 0 || this.#inString || this.#scalar;
  }

  /** A byte between values: what may come here, and what comes then. */
  #takeStructure(byte: number, at: number): number {
    const place = this.#place === 'member' && this.#key === TABLE ? 'table' : this.#place;
    if (place === 'member') return this.#begin(byte, at);
    const { next, fault } = STEPS[place];
    const step = next[byte];
    if (step === undefined) throw bad(fault);
    if (step === 'value') return this.#begin(byte, at);
    if (place === 'table') this.#sawTable = true;
    this.#place = step;
    return at + 1;
  }

  /** A value begins at this byte; `#takeValue` is given it again. */
  #begin(byte: number, at: number): number {
    if (byte === QUOTE) this.#inString = true;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#depth = 1;
    else this.#scalar = true;
    this.#isFresh = true;
    return at;
  }

  /** Goes on to the end of the value or of the piece. */
  #takeValue(piece: Uint8Array, from: number, parts: ReportPart[], rows: JsonObject[]): number {
    const scanFrom = this.#isFresh ? from + 1 : from;
    this.#isFresh = false;
    const end = this.#scalar ? scalarEnd(piece, scanFrom) : this.#valueEnd(piece, scanFrom);
    const bytes = piece.subarray(from, end);
    if (this.#heldBytes + bytes.length > MAX_VALUE_BYTES) throw bad(`a value is larger than ${MAX_VALUE_BYTES} bytes`);
    const isComplete = this.#scalar ? end < piece.length : !this.#isInValue();
    if (!isComplete || this.#heldBytes > 0) this.#hold(bytes);
    if (!isComplete) return end;
    this.#scalar = false;
    const whole = this.#heldBytes === 0 ? bytes : this.#held.subarray(0, this.#heldBytes);
    const text = Buffer.from(whole.buffer, whole.byteOffset, whole.byteLength).toString('utf8');
    this.#heldBytes = 0;
    this.#parts = 0;
    this.#finish(text, parts, rows);
    return end;
  }

  /** Copies: a piece's memory is not to be kept for the sake of its end, and many small pieces cost more than what is in them. */
  #hold(bytes: Uint8Array): void {
    const wanted = this.#heldBytes + bytes.length;
    if (wanted > this.#held.length) {
      const larger = Buffer.alloc(Math.max(wanted, this.#held.length * 2, FIRST_HELD_BYTES));
      this.#held.copy(larger, 0, 0, this.#heldBytes);
      this.#held = larger;
    }
    this.#held.set(bytes, this.#heldBytes);
    this.#heldBytes = wanted;
  }

  /** The index after the value's last byte, or the piece's length. */
  #valueEnd(piece: Uint8Array, from: number): number {
    let depth = this.#depth;
    let inString = this.#inString;
    let at = from;
    for (; at < piece.length; at += 1) {
      const byte = piece[at];
      if (this.#escaped) this.#escaped = false;
      else if (inString) {
        if (byte === BACKSLASH) this.#escaped = true;
        else if (byte === QUOTE) inString = false;
      } else if (byte === QUOTE) inString = true;
      else if (byte === COMMA) this.#parts += 1;
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        depth += 1;
        this.#parts += 1;
        if (depth > MAX_DEPTH) throw bad(`a value is nested deeper than ${MAX_DEPTH} levels`);
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth -= 1;
      if (depth === 0 && !inString) {
        at += 1;
        break;
      }
    }
    if (this.#parts > MAX_PARTS) throw bad(`a value has more than ${MAX_PARTS} parts`);
    this.#depth = depth;
    this.#inString = inString;
    return at;
  }

  #finish(text: string, parts: ReportPart[], rows: JsonObject[]): void {
    const value = parsedValue(text);
    if (this.#place === 'row') {
      if (!isJsonObject(value)) throw bad('a row is no object');
      rows.push(value);
      this.#place = 'after-row';
      return;
    }
    if (this.#place === 'key') {
      this.#key = String(value);
      this.#place = 'colon';
      return;
    }
    if (this.#key === LABELS && !this.#sawLabels) parts.push(this.#labels(labelsOf(value)));
    this.#place = 'after-member';
  }
}

function scalarEnd(piece: Uint8Array, from: number): number {
  let at = from;
  while (at < piece.length && !isSpace(piece[at] ?? 0) && piece[at] !== COMMA && piece[at] !== CLOSE_BRACE && piece[at] !== CLOSE_BRACKET)
    at += 1;
  return at;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Most rows have neither longs nor depth: plain JSON is several times faster. */
const NEEDS_CARE = /\d{16}|__proto__|[{[].*[{[]/s;

function parsedValue(text: string): JsonValue {
  try {
    return NEEDS_CARE.test(text) ? parseJson(text) : JSON.parse(text);
  } catch {
    throw bad('a value is no JSON');
  }
}

function labelsOf(value: JsonValue): readonly string[] {
  if (!Array.isArray(value)) throw bad('columnLabels is no list');
  return value.map(String);
}

function bad(why: string): AnalyticsError {
  return new AnalyticsError('bad-answer', `the report cannot be read: ${why}`);
}
