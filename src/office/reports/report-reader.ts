/**
 * Reads a report's JSON as it arrives, in memory that does not grow with it:
 *
 *   bytes ─┬─ rows of `dataTable`, each cut out whole and parsed → in batches as they came
 *          └─ what is left of the outer object → parsed when the rows begin, for their labels, and at its end
 *
 * Only brackets, quotes and commas are looked at here; they are single bytes in UTF-8 wherever a piece was cut. What is cut out is parsed by
 * the house's JSON, longs and bounds included: `@streamparser/json` makes a `__proto__` of rows that have one, and bounds neither depth nor parts.
 */
import { messageOf } from '../../errors/agent-error.ts';
import { AnalyticsError } from '../../errors/analytics-error.ts';
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from '../../values/json.ts';

export type ReportPart =
  | { readonly kind: 'labels'; readonly columnLabels: readonly string[] }
  | { readonly kind: 'rows'; readonly rows: readonly JsonObject[] };

/** One row, or all that is beside the rows. */
const MAX_VALUE_BYTES = 1024 * 1024;
/** Each value costs some hundred bytes once it is parsed, however few it has on the wire. */
const LIMITS = { values: 20_000, depth: 32 };
const FIRST_HELD_BYTES = 4 * 1024;
/** Text that the list of rows follows. */
const TABLE_NAME = /"dataTable"\s*:\s*$/;
/** With the blanks around its colon. */
const NAME_BYTES = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

export class ReportReader {
  readonly #rest = new HeldText();
  readonly #row = new HeldText();
  #depth = 0;
  #inString = false;
  #escaped = false;
  #inTable = false;
  /** A row has ended, and no comma has come since. */
  #isAfterRow = false;
  /** Rows that come before the labels are labelled by the first of them. */
  #sawLabels = false;
  #isWhole = false;

  /** Returns the parts that a piece of the body completes. @throws AnalyticsError `analytics/bad-answer` (drop). */
  readPiece(piece: Uint8Array): readonly ReportPart[] {
    const parts: ReportPart[] = [];
    const rows: JsonObject[] = [];
    let from = 0;
    for (let at = 0; at < piece.length; at += 1) {
      const byte = piece[at] as number;
      if (this.#inString) this.#inString = !this.#endsString(byte);
      else if (this.#depth === 0 && !this.#beginsReport(byte)) from = at + 1;
      else if (this.#inTable && this.#depth === 2 && byte !== CLOSE_BRACKET && !this.#beginsRow(byte)) from = at + 1;
      else if (byte === QUOTE) this.#inString = true;
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (this.#depth === 1 && byte === OPEN_BRACKET) {
          this.#rest.add(piece.subarray(from, at));
          from = at;
          this.#inTable = TABLE_NAME.test(this.#rest.text(NAME_BYTES));
        }
        if (this.#inTable && this.#depth === 1) {
          this.#rest.add(piece.subarray(at, at + 1));
          from = at + 1;
          this.#takeLabels(parts, `${this.#rest.text()}]}`);
        }
        this.#depth += 1;
        if (this.#depth > LIMITS.depth) throw bad(`a value is nested deeper than ${LIMITS.depth} levels`);
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        this.#depth -= 1;
        if (this.#inTable && this.#depth === 2) {
          this.#row.add(piece.subarray(from, at + 1));
          rows.push(parsedObject(this.#row.take(), 'a row is no object'));
          this.#isAfterRow = true;
          from = at + 1;
        }
        this.#inTable &&= this.#depth > 1;
        if (this.#depth === 0) {
          this.#rest.add(piece.subarray(from, at + 1));
          from = at + 1;
          this.#finish(parts);
        }
      }
    }
    (this.#inTable && this.#depth > 2 ? this.#row : this.#rest).add(piece.subarray(from));
    const [first] = rows;
    if (first !== undefined && !this.#sawLabels) parts.push(this.#labels(Object.keys(first)));
    if (rows.length > 0) parts.push({ kind: 'rows', rows });
    return parts;
  }

  /** The body has ended. @throws AnalyticsError `analytics/bad-answer` (drop) when it was cut short or was no report. */
  end(): void {
    if (!this.#isWhole) throw bad('the report ends in the middle');
  }

  #endsString(byte: number): boolean {
    const isEscaped = this.#escaped;
    this.#escaped = !isEscaped && byte === BACKSLASH;
    return !isEscaped && byte === QUOTE;
  }

  #beginsReport(byte: number): boolean {
    if (isSpace(byte)) return false;
    if (this.#isWhole) throw bad('something follows the report');
    if (byte !== OPEN_BRACE) throw bad('the answer is no JSON object');
    return true;
  }

  #beginsRow(byte: number): boolean {
    if (isSpace(byte)) return false;
    if (byte === COMMA ? !this.#isAfterRow : this.#isAfterRow) throw bad('rows are not separated');
    this.#isAfterRow = false;
    if (byte !== COMMA && byte !== OPEN_BRACE) throw bad('a row is no object');
    return byte === OPEN_BRACE;
  }

  #finish(parts: ReportPart[]): void {
    const { dataTable } = this.#takeLabels(parts, this.#rest.take());
    if (dataTable === undefined) throw bad('the answer holds no dataTable');
    if (!Array.isArray(dataTable)) throw bad('dataTable is no list');
    this.#isWhole = true;
  }

  #takeLabels(parts: ReportPart[], text: string): JsonObject {
    const report = parsedObject(text, 'the answer is no JSON object');
    const { columnLabels } = report;
    if (columnLabels !== undefined && !Array.isArray(columnLabels)) throw bad('columnLabels is no list');
    if (columnLabels !== undefined && !this.#sawLabels) parts.push(this.#labels(columnLabels.map(String)));
    return report;
  }

  #labels(columnLabels: readonly string[]): ReportPart {
    this.#sawLabels = true;
    return { kind: 'labels', columnLabels };
  }
}

/** Text that comes in pieces, copied: a piece's memory is not to be kept for its end, and many small ones cost more than what is in them. */
class HeldText {
  #held = Buffer.alloc(0);
  #bytes = 0;

  /** @throws AnalyticsError for more than anybody has. */
  add(piece: Uint8Array): void {
    const wanted = this.#bytes + piece.length;
    if (wanted > MAX_VALUE_BYTES) throw bad(`a value is larger than ${MAX_VALUE_BYTES} bytes`);
    if (wanted > this.#held.length) {
      const larger = Buffer.alloc(Math.max(wanted, this.#held.length * 2, FIRST_HELD_BYTES));
      this.#held.copy(larger, 0, 0, this.#bytes);
      this.#held = larger;
    }
    this.#held.set(piece, this.#bytes);
    this.#bytes = wanted;
  }

  /** The last of it, at most so many bytes. */
  text(bytes = this.#bytes): string {
    return this.#held.toString('utf8', Math.max(0, this.#bytes - bytes), this.#bytes);
  }

  take(): string {
    const text = this.text();
    this.#bytes = 0;
    return text;
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function parsedObject(text: string, fault: string): JsonObject {
  let value: JsonValue;
  try {
    value = parseJson(text, LIMITS);
  } catch (error) {
    throw bad(`a part of it is ${messageOf(error)}`);
  }
  if (!isJsonObject(value)) throw bad(fault);
  return value;
}

function bad(why: string): AnalyticsError {
  return new AnalyticsError('bad-answer', `the report cannot be read: ${why}`);
}
