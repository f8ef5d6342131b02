/** Entries of the lists of values in an SML telegram: fields of type, length and value in lists of lists (SML 1.04, chapters 5 and 6). */

export interface SmlInteger {
  readonly value: bigint;
  /** Bytes in which it came. */
  readonly width: number;
}

type Field = undefined | boolean | SmlInteger | Uint8Array | readonly Field[];

export interface SmlEntry {
  /** Six bytes: medium, channel, and the value groups C to F. */
  readonly code: Uint8Array;
  readonly status: SmlInteger | undefined;
  readonly unit: number | undefined;
  readonly scaler: number;
  readonly value: SmlInteger | Uint8Array | undefined;
}

const LIST = 7;
const OCTETS = 0;
const BOOLEAN = 4;
const SIGNED = 5;
const UNSIGNED = 6;
const GET_LIST_RESPONSE = 0x0701n;
/** A list of values lies four deep. */
const MAX_DEPTH = 8;

/** @throws RangeError for bytes that are no messages. */
export function entriesOf(messages: Uint8Array): readonly SmlEntry[] {
  const reader = new FieldReader(messages);
  const entries: SmlEntry[] = [];
  while (!reader.isAtEnd) {
    const message = reader.readField();
    // Padding that was not counted.
    if (message === undefined) continue;
    const [tag, content] = listOf(listOf(message)[3]);
    if (integerOf(tag)?.value === GET_LIST_RESPONSE) entries.push(...listOf(listOf(content)[4]).flatMap(entryOf));
  }
  return entries;
}

function entryOf(field: Field): readonly SmlEntry[] {
  const [code, status, , unit, scaler, value] = listOf(field);
  if (!(code instanceof Uint8Array) || code.length !== 6) return [];
  return [
    {
      code,
      status: integerOf(status),
      unit: integerOf(unit) && Number(integerOf(unit)?.value),
      scaler: Number(integerOf(scaler)?.value ?? 0),
      value: value instanceof Uint8Array ? value : integerOf(value),
    },
  ];
}

function listOf(field: Field): readonly Field[] {
  return Array.isArray(field) ? field : [];
}

function integerOf(field: Field): SmlInteger | undefined {
  return typeof field === 'object' && 'width' in field ? field : undefined;
}

class FieldReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  readField(depth = 0): Field {
    const from = this.#at;
    let head = this.#next();
    const type = (head >> 4) & 7;
    let length = head & 0x0f;
    while ((head & 0x80) !== 0) {
      head = this.#next();
      length = length * 16 + (head & 0x0f);
      if (length > this.#bytes.length) throw new RangeError('a field that is longer than its telegram');
    }
    if (type === LIST) {
      if (depth >= MAX_DEPTH) throw new RangeError('lists that lie too deep');
      return Array.from({ length }, () => this.readField(depth + 1));
    }
    // One byte alone is the end of a message, or a field that is left out.
    const content = this.#take(Math.max(0, length - (this.#at - from)));
    if (content.length === 0) return undefined;
    if (type === OCTETS) return content;
    if (type === BOOLEAN) return content[0] !== 0;
    if ((type !== SIGNED && type !== UNSIGNED) || content.length > 8) throw new RangeError('a field of no known type');
    const value = BigInt(`0x${Buffer.from(content).toString('hex')}`);
    return { value: type === SIGNED ? BigInt.asIntN(8 * content.length, value) : value, width: content.length };
  }

  #next(): number {
    return this.#take(1)[0] ?? 0;
  }

  #take(count: number): Uint8Array {
    if (this.#at + count > this.#bytes.length) throw new RangeError('a telegram that ends within a field');
    this.#at += count;
    return this.#bytes.subarray(this.#at - count, this.#at);
  }
}
