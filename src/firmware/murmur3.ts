/**
 * MurmurHash3 in a stream, seed 0: the x86 variant of 32 bits and the x64 variant of 128 bits (A. Appleby, MurmurHash3.cpp), each given as
 * the bytes that the platform prints: little-endian words. Ours, as the packages of the registry want the whole image in memory, or give only
 * 32 bits of text; and 64-bit words are pairs of 32-bit halves, as BigInt would take minutes for an image on a small board.
 */

/** The parts of a streaming hash that this room uses; node:crypto's Hash has the same two. */
export interface StreamingHash {
  update(bytes: Uint8Array): void;
  /** The hash's bytes; nothing may follow. */
  digest(): Buffer;
}

/** Cuts a stream into blocks of a fixed size, whatever pieces it arrives in. */
class Blocks {
  readonly #sizeBytes: number;
  #left = Buffer.alloc(0);
  /** All bytes so far. */
  length = 0;

  constructor(sizeBytes: number) {
    this.#sizeBytes = sizeBytes;
  }

  add(bytes: Uint8Array, take: (view: DataView, at: number) => void): void {
    this.length += bytes.length;
    const all = this.#left.length === 0 ? bytes : Buffer.concat([this.#left, bytes]);
    const whole = all.length - (all.length % this.#sizeBytes);
    const view = viewOf(all);
    for (let at = 0; at < whole; at += this.#sizeBytes) take(view, at);
    this.#left = Buffer.from(all.subarray(whole));
  }

  /** Bytes left over, followed by zeros. */
  rest(): DataView {
    return viewOf(Buffer.concat([this.#left], this.#sizeBytes));
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The words, little-endian, as bytes. */
function bytesOf(...words: readonly number[]): Buffer {
  return Buffer.from(Int32Array.from(words).buffer);
}

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
    return bytesOf(h ^ (h >>> 16));
  }
}

function scramble32(k: number): number {
  return Math.imul(rotate32(Math.imul(k, 0xcc9e2d51), 15), 0x1b873593);
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

  add({ high, low }: { readonly high: number; readonly low: number }): this {
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

  finish(): void {
    this.low ^= this.high >>> 1;
    this.multiply(0xff51afd7, 0xed558ccd);
    this.low ^= this.high >>> 1;
    this.multiply(0xc4ceb9fe, 0x1a85ec53);
    this.low ^= this.high >>> 1;
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
      this.#h1.rotate(27).add(this.#h2).multiply(0, 5).add({ high: 0, low: 0x52dce729 });
      this.#mixSecond(view, at + 8);
      this.#h2.rotate(31).add(this.#h1).multiply(0, 5).add({ high: 0, low: 0x38495ab5 });
    });
  }

  digest(): Buffer {
    const rest = this.#blocks.rest();
    this.#mixSecond(rest, 8);
    this.#mixFirst(rest, 0);
    const { length } = this.#blocks;
    const [h1, h2] = [this.#h1, this.#h2];
    for (const word of [h1, h2]) word.xor(new Word().set(Math.floor(length / 2 ** 32), length));
    h2.add(h1.add(h2));
    for (const word of [h1, h2]) word.finish();
    h2.add(h1.add(h2));
    return bytesOf(h1.low, h1.high, h2.low, h2.high);
  }

  #mixFirst(view: DataView, at: number): void {
    const k = this.#k.set(view.getInt32(at + 4, true), view.getInt32(at, true));
    this.#h1.xor(k.multiply(0x87c37b91, 0x114253d5).rotate(31).multiply(0x4cf5ad43, 0x2745937f));
  }

  #mixSecond(view: DataView, at: number): void {
    const k = this.#k.set(view.getInt32(at + 4, true), view.getInt32(at, true));
    this.#h2.xor(k.multiply(0x4cf5ad43, 0x2745937f).rotate(33).multiply(0x87c37b91, 0x114253d5));
  }
}
