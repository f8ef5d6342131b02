/**
 * Frames of the two link layers by which meters push DLMS, cut out of bytes that come in any pieces:
 *
 *   7E  format and length (2)  addresses  control  header sum (2)  content  sum (2)  7E      HDLC, frame type 3 (IEC 62056-46)
 *   68  length  length  68  control  address  CI  source  destination  content  sum  16       M-Bus long frame (EN 13757-2 and -1)
 *
 * Beginnings that are none are passed over: a whole frame behind one counts. A frame whose check sum is wrong is counted.
 */
import { reflectedCrc, X25 } from '../families/lines/reflected-crc.ts';

const FLAG = 0x7e;
const LONG = 0x68;
const STOP = 0x16;
/** A segmented HDLC message comes in some 130 bytes a frame; the longest frame has 2,047. */
const MAX_BYTES = 4_096;
const MAX_LENGTH = 0x7ff;
/** Two addresses of a byte at least, control and sum. */
const MIN_HDLC = 7;
const SEGMENTED = 0x0800;
/** Control, address, CI, source and destination. */
const MBUS_HEADER = 5;
/** Bytes of a long frame beside those that its length counts. */
const MBUS_AROUND = 6;
const LAST_SEGMENT = 0x10;
const LOGICAL_LINK = /^e6e[67]00/;

/** A piece of a message. */
export interface Segment {
  readonly content: Uint8Array;
  /** Number of an M-Bus segment; HDLC frames of one message follow each other. */
  readonly number: number | undefined;
  readonly isLast: boolean;
}

type Found = { readonly length: number; readonly segment: Segment } | 'none' | 'damaged' | 'more';

export class FrameCutter {
  readonly #onSegment: (segment: Segment) => void;
  #bytes: Buffer = Buffer.alloc(0);
  /** Place up to which damaged beginnings were counted. */
  #counted = 0;
  /** Frames with a wrong check sum since the last good one. */
  damaged = 0;

  constructor(onSegment: (segment: Segment) => void) {
    this.#onSegment = onSegment;
  }

  cutBytes(bytes: Uint8Array): void {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    while (this.#cutOne()) {}
    if (this.#bytes.length > MAX_BYTES) this.#drop(this.#bytes.length - MAX_LENGTH);
  }

  /** The rest of a frame will not come. */
  reset(): void {
    this.#drop(this.#bytes.length);
  }

  #drop(count: number): void {
    this.#bytes = this.#bytes.subarray(count);
    this.#counted = Math.max(0, this.#counted - count);
  }

  /** True when there may be another one. */
  #cutOne(): boolean {
    let first = this.#bytes.length;
    for (let at = 0; at < this.#bytes.length; at += 1) {
      const found = frameAt(this.#bytes, at);
      if (found === 'more') first = Math.min(first, at);
      else if (found === 'damaged' && at >= this.#counted) {
        this.damaged += 1;
        this.#counted = at + 1;
      } else if (typeof found === 'object') {
        this.damaged = 0;
        this.#drop(at + found.length);
        this.#onSegment(found.segment);
        return true;
      }
    }
    this.#drop(first);
    return false;
  }
}

function frameAt(bytes: Buffer, at: number): Found {
  if (bytes[at] === FLAG) return hdlcAt(bytes.subarray(at));
  return bytes[at] === LONG ? mbusAt(bytes.subarray(at)) : 'none';
}

/** The closing flag stays: it may open the next frame. */
function hdlcAt(bytes: Buffer): Found {
  const [, format = 0xa0] = bytes;
  if ((format & 0xf0) !== 0xa0) return 'none';
  if (bytes.length < 3) return 'more';
  const field = bytes.readUInt16BE(1);
  const length = field & MAX_LENGTH;
  if (length < MIN_HDLC) return 'none';
  if (bytes.length < length + 2) return 'more';
  const frame = bytes.subarray(1, length + 1);
  if (bytes[length + 1] !== FLAG || crcOf(frame.subarray(0, -2)) !== frame.readUInt16LE(length - 2)) return 'damaged';
  const control = addressEnd(frame, addressEnd(frame, 2));
  const content = frame.subarray(control + 3, -2);
  const isWrapped = LOGICAL_LINK.test(content.toString('hex', 0, 3));
  return {
    length: length + 1,
    segment: {
      content: isWrapped ? content.subarray(3) : content,
      number: undefined,
      isLast: (field & SEGMENTED) === 0,
    },
  };
}

/** An address ends with the byte whose lowest bit is set. */
function addressEnd(frame: Buffer, from: number): number {
  let at = from;
  while (at < from + 4 && ((frame[at] ?? 1) & 1) === 0) at += 1;
  return at + 1;
}

function mbusAt(bytes: Buffer): Found {
  const [, short = 0, again = short, restart = LONG] = bytes;
  if (short !== again || restart !== LONG) return 'none';
  // Sagemcom counts 257 bytes modulo 256.
  const length = short < MBUS_HEADER ? short + 256 : short;
  if (bytes.length < length + MBUS_AROUND) return 'more';
  const content = bytes.subarray(4, length + 4);
  const sum = content.reduce((all, byte) => (all + byte) & 0xff, 0);
  if (bytes[length + 4] !== sum || bytes[length + 5] !== STOP) return 'damaged';
  const [, , information = 0] = content;
  // Transport layer of DLMS: bits 0 to 3 number the segments, bit 4 marks the last one.
  if (information > 0x1f) return 'none';
  return {
    length: length + MBUS_AROUND,
    segment: {
      content: content.subarray(MBUS_HEADER),
      number: information & 0x0f,
      isLast: (information & LAST_SEGMENT) !== 0,
    },
  };
}

/** CRC-16/X-25. */
function crcOf(bytes: Uint8Array): number {
  return reflectedCrc(bytes, X25, 0xffff) ^ 0xffff;
}
