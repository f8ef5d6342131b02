/**
 * MurmurHash3 in a stream, seed 0: the x86 variant of 32 bits and the x64 variant of 128 bits (A. Appleby, MurmurHash3.cpp). Both are
 * given as the bytes that the platform prints: little-endian words (wire-facts.md, "Firmware"). 64-bit words are pairs of 32-bit
 * halves: BigInt would take minutes for an image on a small board.
 */

/** The parts of a streaming hash that this room uses; node:crypto's Hash has the same two. */
export interface StreamingHash {
  update(bytes: Uint8Array): void;
  /** The hash's bytes; nothing may follow. */
  digest(): Buffer;
}

/** Cuts a stream into blocks of a fixed size, whatever pieces it arrives in. */
class Blocks {
  readonly #held: Buffer;
  #heldBytes = 0;
  /** All bytes so far. */
  length = 0;

  constructor(sizeBytes: number) {
    this.#held = Buffer.alloc(sizeBytes);
  }

  add(bytes: Uint8Array, take: (view: DataView, at: number) => void): void {
    const size = this.#held.length;
    this.length += bytes.length;
    let at = 0;
    if (this.#heldBytes > 0) {
      at = Math.min(size - this.#heldBytes, bytes.length);
      this.#held.set(bytes.subarray(0, at), this.#heldBytes);
      this.#heldBytes += at;
      if (this.#heldBytes < size) return;
      take(viewOf(this.#held), 0);
      this.#heldBytes = 0;
    }
    const view = viewOf(bytes);
    for (; at + size <= bytes.length; at += size) take(view, at);
    this.#held.set(bytes.subarray(at), 0);
    this.#heldBytes = bytes.length - at;
  }

  /** What is left over, followed by zeros. */
  rest(): DataView {
    this.#held.fill(0, this.#heldBytes);
    return viewOf(this.#held);
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

const C1_32 = 0xcc9e2d51;
const C2_32 = 0x1b873593;

export class Murmur3With32Bits implements StreamingHash {
  readonly #blocks = new Blocks(4);
  #h = 0;

  update(bytes: Uint8Array): void {
    this.#blocks.add(bytes, (view, at) => {
      this.#h = (Math.imul(rotate32(this.#h ^ scramble32(view.getUint32(at, true)), 13), 5) + 0xe6546b64) | 0;
    });
  }

  digest(): Buffer {
    let h = this.#h ^ scramble32(this.#blocks.rest().getUint32(0, true)) ^ this.#blocks.length;
    h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
    const digest = Buffer.alloc(4);
    digest.writeUInt32LE((h ^ (h >>> 16)) >>> 0);
    return digest;
  }
}

function scramble32(k: number): number {
  return Math.imul(rotate32(Math.imul(k, C1_32), 15), C2_32);
}

function rotate32(x: number, by: number): number {
  return (x << by) | (x >>> (32 - by));
}

/** A 64-bit word as two signed halves, changed in place so that hashing makes no garbage. */
class Word {
  high = 0;
  low = 0;

  set(high: number, low: number): this {
    this.high = high | 0;
    this.low = low | 0;
    return this;
  }

  add(high: number, low: number): this {
    const sum = (this.low >>> 0) + (low >>> 0);
    return this.set(this.high + high + (sum > 0xffffffff ? 1 : 0), sum);
  }

  xor(other: Word): this {
    return this.set(this.high ^ other.high, this.low ^ other.low);
  }

  multiply(high: number, low: number): this {
    // The upper half of low * low, from four products of 16 bits, each exact in a double.
    const a = this.low & 0xffff;
    const b = this.low >>> 16;
    const c = low & 0xffff;
    const d = low >>> 16;
    const middle = a * d + Math.floor((a * c) / 0x10000);
    const carry = b * d + Math.floor(middle / 0x10000) + Math.floor((b * c + (middle % 0x10000)) / 0x10000);
    return this.set(carry + Math.imul(this.high, low) + Math.imul(this.low, high), Math.imul(this.low, low));
  }

  /** By anything but a multiple of 32. */
  rotate(by: number): this {
    const { high, low } = by < 32 ? this : { high: this.low, low: this.high };
    const rest = by % 32;
    return this.set((high << rest) | (low >>> (32 - rest)), (low << rest) | (high >>> (32 - rest)));
  }

  finish(): this {
    this.low ^= this.high >>> 1;
    this.multiply(0xff51afd7, 0xed558ccd);
    this.low ^= this.high >>> 1;
    this.multiply(0xc4ceb9fe, 0x1a85ec53);
    this.low ^= this.high >>> 1;
    return this;
  }
}

export class Murmur3With128Bits implements StreamingHash {
  readonly #blocks = new Blocks(16);
  readonly #h1 = new Word();
  readonly #h2 = new Word();
  readonly #k = new Word();

  update(bytes: Uint8Array): void {
    this.#blocks.add(bytes, (view, at) => {
      this.#mixFirst(view, at);
      this.#h1.rotate(27).add(this.#h2.high, this.#h2.low).multiply(0, 5).add(0, 0x52dce729);
      this.#mixSecond(view, at + 8);
      this.#h2.rotate(31).add(this.#h1.high, this.#h1.low).multiply(0, 5).add(0, 0x38495ab5);
    });
  }

  digest(): Buffer {
    const rest = this.#blocks.rest();
    this.#mixSecond(rest, 8);
    this.#mixFirst(rest, 0);
    const { length } = this.#blocks;
    const size = new Word().set(Math.floor(length / 2 ** 32), length);
    this.#h1.xor(size);
    this.#h2.xor(size);
    this.#cross();
    this.#h1.finish();
    this.#h2.finish();
    this.#cross();
    const digest = Buffer.alloc(16);
    for (const [at, word] of [this.#h1.low, this.#h1.high, this.#h2.low, this.#h2.high].entries()) digest.writeInt32LE(word, at * 4);
    return digest;
  }

  #mixFirst(view: DataView, at: number): void {
    const k = this.#k.set(view.getInt32(at + 4, true), view.getInt32(at, true));
    this.#h1.xor(k.multiply(0x87c37b91, 0x114253d5).rotate(31).multiply(0x4cf5ad43, 0x2745937f));
  }

  #mixSecond(view: DataView, at: number): void {
    const k = this.#k.set(view.getInt32(at + 4, true), view.getInt32(at, true));
    this.#h2.xor(k.multiply(0x4cf5ad43, 0x2745937f).rotate(33).multiply(0x87c37b91, 0x114253d5));
  }

  #cross(): void {
    this.#h1.add(this.#h2.high, this.#h2.low);
    this.#h2.add(this.#h1.high, this.#h1.low);
  }
}
