/**
 * Joins messages from their pieces: segments of the link layer, and blocks of a general block transfer (IEC 62056-5-3). A piece that is missing costs
 * its message alone.
 */
import { lengthAt } from '../families/ciphers/axdr-length.ts';
import type { Segment } from './frames.ts';

/** Lists of all phases have some 600 bytes. */
export const MAX_MESSAGE_BYTES = 8_192;
const BLOCK_TRANSFER = 0xe0;
/** First bytes of messages: plain (notifications, responses), ciphered, and blocks. The rest of a message whose beginning was not heard begins otherwise. */
const isMessage = ([tag = 0]: Uint8Array): boolean =>
  [0x0f, 0xc2, 0xc4, 0xdb, 0xdc, BLOCK_TRANSFER].includes(tag) || (tag >= 0xc8 && tag <= 0xd6);
const LAST_BLOCK = 0x80;

export class MessageJoiner {
  readonly #onMessage: (message: Uint8Array) => void;
  readonly #segments = new Pieces();
  readonly #blocks = new Pieces();

  constructor(onMessage: (message: Uint8Array) => void) {
    this.#onMessage = onMessage;
  }

  addSegment({ content, number, isLast }: Segment): void {
    const whole = this.#segments.add(content, { number: number ?? this.#segments.next, isLast });
    if (whole === undefined || !isMessage(whole)) return;
    if (whole[0] !== BLOCK_TRANSFER) {
      this.#onMessage(whole);
      return;
    }
    const [, control = 0] = whole;
    const { length, at } = lengthAt(whole, 6);
    if (at + length !== whole.length) return;
    const block = { number: Buffer.from(whole).readUInt16BE(2) - 1, isLast: (control & LAST_BLOCK) !== 0 };
    const message = this.#blocks.add(whole.subarray(at), block);
    if (message !== undefined && isMessage(message)) this.#onMessage(message);
  }

  reset(): void {
    this.#segments.reset();
    this.#blocks.reset();
  }
}

/** Pieces from number 0 on, in their order. */
class Pieces {
  #parts: Uint8Array[] = [];
  #length = 0;

  /** Number that the next piece has. */
  get next(): number {
    return this.#parts.length;
  }

  /** Returns the whole once its last piece has come. */
  add(
    content: Uint8Array,
    { number, isLast }: { readonly number: number; readonly isLast: boolean },
  ): Uint8Array | undefined {
    if (number === 0) this.reset();
    if (number !== this.next || this.#length + content.length > MAX_MESSAGE_BYTES) {
      this.reset();
      return undefined;
    }
    this.#parts.push(Uint8Array.from(content));
    this.#length += content.length;
    if (!isLast) return undefined;
    const whole = Buffer.concat(this.#parts);
    this.reset();
    return whole;
  }

  reset(): void {
    this.#parts = [];
    this.#length = 0;
  }
}
