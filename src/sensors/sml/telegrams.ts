/**
 * Telegrams of the SML transport protocol, version 1 (BSI TR-03109-1, SML 1.04, chapter 8), cut out of bytes that come in any pieces:
 *
 *   1b1b1b1b 01010101  messages, padded to four bytes  1b1b1b1b 1a  number of padding bytes, CRC
 *
 * Four bytes 1b within are sent twice. A telegram whose check sum is wrong is counted and passed over.
 */
import { reflectedCrc, X25 } from '../families/lines/reflected-crc.ts';

const ESCAPE = 0x1b;
const START = Buffer.from('1b1b1b1b01010101', 'hex');
const END = 0x1a;
/** Meters with signatures send some 600 bytes. */
const MAX_BYTES = 8_192;

export class TelegramCutter {
  readonly #onTelegram: (messages: Uint8Array) => void;
  #bytes: Buffer = Buffer.alloc(0);
  /** Telegrams with a wrong check sum since the last good one. */
  damaged = 0;

  constructor(onTelegram: (messages: Uint8Array) => void) {
    this.#onTelegram = onTelegram;
  }

  cutBytes(bytes: Uint8Array): void {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    while (this.#cutOne()) {}
    // A longer telegram is noise behind a beginning: the next beginning counts.
    if (this.#bytes.length > MAX_BYTES) this.#bytes = this.#bytes.subarray(-START.length);
  }

  /** The rest of a telegram will not come. */
  reset(): void {
    this.#bytes = Buffer.alloc(0);
  }

  /** True when there may be another one. */
  #cutOne(): boolean {
    const start = this.#bytes.indexOf(START);
    this.#bytes = this.#bytes.subarray(start >= 0 ? start : -(START.length - 1));
    if (start < 0) return false;
    const parts: Uint8Array[] = [];
    let from = START.length;
    for (let at = from; ; ) {
      at = this.#bytes.indexOf(START.subarray(0, 4), at);
      if (at < 0 || at + 8 > this.#bytes.length) return false;
      const [next = 0, padding = 0] = this.#bytes.subarray(at + 4);
      if (next === ESCAPE && this.#bytes.subarray(at + 4, at + 8).every((byte) => byte === ESCAPE)) {
        parts.push(this.#bytes.subarray(from, at + 4));
        at += 8;
        from = at;
      } else if (next === END && padding < 4) {
        parts.push(this.#bytes.subarray(from, at));
        this.#end(Buffer.concat(parts), this.#bytes.subarray(0, at + 8), padding);
        this.#bytes = this.#bytes.subarray(at + 8);
        return true;
      } else if (next === ESCAPE) at += 1;
      else {
        // Another beginning: the one before was cut off.
        this.#bytes = this.#bytes.subarray(at);
        this.damaged += 1;
        if (this.#bytes.indexOf(START) !== 0) this.#bytes = this.#bytes.subarray(1);
        return true;
      }
    }
  }

  #end(messages: Buffer, whole: Buffer, padding: number): void {
    const sum = whole.readUInt16LE(whole.length - 2);
    const content = whole.subarray(0, -2);
    // Holley's DTZ541 begins with zero (CRC-16/KERMIT) instead of ones (CRC-16/X-25).
    if (reflectedCrc(content, X25, 0xffff) !== (sum ^ 0xffff) && reflectedCrc(content, X25, 0) !== sum) {
      this.damaged += 1;
      return;
    }
    this.damaged = 0;
    this.#onTelegram(messages.subarray(0, messages.length - padding));
  }
}
