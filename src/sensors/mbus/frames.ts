/**
 * Frames of the M-Bus link layer (EN 13757-2, format class FT1.2), made, and cut out of bytes that come in any pieces:
 *
 *   E5                                                     acknowledged
 *   10  control  address  sum  16                          short
 *   68  length  length  68  control  address  CI  …  sum  16   long
 */
const ACKNOWLEDGED = 0xe5;
const SHORT = 0x10;
const LONG = 0x68;
const STOP = 0x16;
const SHORT_LENGTH = 5;
/** Bytes of a long frame beside those that its length counts. */
const AROUND = 6;
/** Control, address and CI. */
const MIN_LENGTH = 3;
/** Looked at after one request: its answer, and what echoes, other meters and noise put before it. What floods the line costs no more than this. */
const MAX_BYTES = 4 * (255 + AROUND);

/** Control fields of a master. The frame count bit changes with each answer that was received. */
export const SND_NKE = 0x40;
export const SND_UD = 0x73;
export const REQ_UD2 = 0x5b;
export const FRAME_COUNT_BIT = 0x20;

/** Control, address, CI and data; undefined for an acknowledgement. */
export type Frame = Uint8Array | undefined;

export function shortFrame(control: number, address: number): Uint8Array {
  return Uint8Array.of(SHORT, control, address, sumOf(Uint8Array.of(control, address)), STOP);
}

export function longFrame(content: Uint8Array): Uint8Array {
  const { length } = content;
  return Uint8Array.of(LONG, length, length, LONG, ...content, sumOf(content), STOP);
}

/** CI of an order to go to a speed (EN 13757-2). */
const CI_OF_SPEED: Readonly<Record<number, number>> = {
  300: 0xb8,
  600: 0xb9,
  1200: 0xba,
  2400: 0xbb,
  4800: 0xbc,
  9600: 0xbd,
  19200: 0xbe,
  38400: 0xbf,
};

/** Undefined for a speed that meters cannot be sent to. */
export function speedOrder(baudRate: number, address: number): Uint8Array | undefined {
  const ci = CI_OF_SPEED[baudRate];
  return ci === undefined ? undefined : longFrame(Uint8Array.of(SND_UD, address, ci));
}

export class FrameCutter {
  readonly #onFrame: (frame: Frame) => void;
  #bytes: Buffer = Buffer.alloc(0);
  /** How many more bytes are looked at before the next reset. */
  #room = MAX_BYTES;
  /** Bytes that belong to no frame, since the last reset. */
  noise = 0;

  constructor(onFrame: (frame: Frame) => void) {
    this.#onFrame = onFrame;
  }

  cutBytes(bytes: Uint8Array): void {
    const taken = bytes.subarray(0, this.#room);
    this.#room -= taken.length;
    this.#bytes = Buffer.concat([this.#bytes, taken]);
    while (this.#bytes.length > 0) {
      const length = frameLength(this.#bytes);
      if (length === undefined) return;
      if (length === 0) this.noise += 1;
      else if (length === 1) this.#onFrame(undefined);
      else if (length > SHORT_LENGTH) this.#onFrame(Uint8Array.from(this.#bytes.subarray(4, length - 2)));
      this.#bytes = this.#bytes.subarray(Math.max(1, length));
    }
  }

  reset(): void {
    this.#bytes = Buffer.alloc(0);
    this.#room = MAX_BYTES;
    this.noise = 0;
  }
}

/** Length of the frame at the beginning; 0 for none, undefined while it may become one. A short frame is a request that the bus sends back. */
function frameLength(bytes: Buffer): number | undefined {
  const [start, length = MIN_LENGTH, again = length, restart = LONG] = bytes;
  if (start === ACKNOWLEDGED) return 1;
  if (start === SHORT) return bytes.length < SHORT_LENGTH ? undefined : wholeLength(bytes.subarray(0, SHORT_LENGTH), 1);
  if (start !== LONG || length < MIN_LENGTH || again !== length || restart !== LONG) return 0;
  return bytes.length < length + AROUND ? undefined : wholeLength(bytes.subarray(0, length + AROUND), 4);
}

function wholeLength(frame: Buffer, from: number): number {
  const [sum, stop] = frame.subarray(-2);
  return sum === sumOf(frame.subarray(from, -2)) && stop === STOP ? frame.length : 0;
}

function sumOf(content: Uint8Array): number {
  return content.reduce((sum, byte) => (sum + byte) & 0xff, 0);
}
