/** Reads what ByteWriter wrote; running past the end throws, because a checksum already said that the bytes are whole. */

export class ByteReader {
  readonly #bytes: Buffer;
  #at: number;

  constructor(bytes: Buffer, at = 0) {
    this.#bytes = bytes;
    this.#at = at;
  }

  get position(): number {
    return this.#at;
  }

  /** Bytes that are left. */
  get remaining(): number {
    return this.#bytes.length - this.#at;
  }

  byte(): number {
    const value = this.#bytes[this.#at];
    if (value === undefined) throw new RangeError('past the end of a block');
    this.#at += 1;
    return value;
  }

  varint(): number {
    let byte = this.byte();
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    let scale = 128;
    do {
      byte = this.byte();
      value += (byte & 0x7f) * scale;
      scale *= 128;
    } while (byte >= 0x80);
    return value;
  }

  zigzag(): number {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  double(): number {
    const value = this.#bytes.readDoubleLE(this.#at);
    this.#at += 8;
    return value;
  }

  /** Passes over these bytes, if they are what comes next. */
  skip(bytes: Buffer): boolean {
    const end = this.#at + bytes.length;
    if (end > this.#bytes.length || this.#bytes.compare(bytes, 0, bytes.length, this.#at, end) !== 0) return false;
    this.#at = end;
    return true;
  }

  /** Returns a copy of the bytes read since a position. */
  copySince(position: number): Buffer {
    return Buffer.from(this.#bytes.subarray(position, this.#at));
  }

  text(): string {
    const length = this.varint();
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new RangeError('past the end of a block');
    const value = this.#bytes.toString('utf8', this.#at, end);
    this.#at = end;
    return value;
  }
}
