/**
 * Frames of the protocol, in hexadecimal letters between a tilde and a carriage return:
 *
 *   ~ version address 46 command length information sum CR
 *
 * The length counts letters, with a check nibble before it; the sum is over the letters before it. An answer has its return code as command.
 */

const START = '~'.charCodeAt(0);
const END = '\r'.charCodeAt(0);
const VERSION = 0x20;
/** Device that is a battery. */
export const BATTERY = 0x46;
const MAX_INFORMATION = 0xfff;
/** Version, address, device, command and length. */
const HEAD = 12;
const SUM = 4;
const HEX = /^(?:[0-9A-Fa-f]{2})+$/;

export interface Frame {
  readonly address: number;
  readonly device: number;
  /** Return code of an answer. */
  readonly code: number;
  readonly information: Buffer;
}

/** Fault of a frame that came, in words. */
export interface Damage {
  readonly damage: string;
}

export interface Request {
  readonly address: number;
  readonly command: number;
  readonly information: readonly number[];
}

export function requestOf({ address, command, information }: Request): Buffer {
  const content = hexOf(Uint8Array.from(information));
  const head = hexOf(Uint8Array.of(VERSION, address, BATTERY, command));
  const letters = `${head}${withNibble(content.length).toString(16).padStart(4, '0')}${content}`.toUpperCase();
  return Buffer.from(`~${letters}${sumOf(letters).toString(16).padStart(4, '0').toUpperCase()}\r`);
}

/** Cuts what comes into frames; what stands before a tilde is noise. */
export class FrameCutter {
  readonly #onFrame: (frame: Frame | Damage, letters: string) => void;
  #letters: number[] | undefined;
  #noise = 0;

  constructor(onFrame: (frame: Frame | Damage, letters: string) => void) {
    this.#onFrame = onFrame;
  }

  /** Number of bytes that belonged to no frame, since the last reset. */
  get noise(): number {
    return this.#noise + (this.#letters?.length ?? 0);
  }

  reset(): void {
    this.#letters = undefined;
    this.#noise = 0;
  }

  cutBytes(bytes: Uint8Array): void {
    for (const byte of bytes) {
      if (byte === START) {
        this.#noise += this.#letters?.length ?? 0;
        this.#letters = [];
      } else if (this.#letters === undefined) this.#noise += 1;
      else if (byte === END) {
        const letters = Buffer.from(this.#letters).toString('latin1');
        this.#letters = undefined;
        this.#onFrame(frameOf(letters), letters);
      } else if (this.#letters.length < HEAD + MAX_INFORMATION + SUM) this.#letters.push(byte);
      else {
        this.#noise += this.#letters.length + 1;
        this.#letters = undefined;
      }
    }
  }
}

function frameOf(letters: string): Frame | Damage {
  if (!HEX.test(letters) || letters.length < HEAD + SUM)
    return { damage: 'a frame of other letters than its protocol has' };
  const content = letters.slice(0, -SUM);
  if (sumOf(content) !== Number.parseInt(letters.slice(-SUM), 16)) return { damage: 'a frame with a wrong check sum' };
  const length = Number.parseInt(content.slice(HEAD - 4, HEAD), 16);
  if (withNibble(length & MAX_INFORMATION) !== length) return { damage: 'a frame whose length has a wrong check sum' };
  if ((length & MAX_INFORMATION) !== content.length - HEAD) return { damage: 'a frame of another length than it says' };
  const [, address = 0, device = 0, code = 0] = Buffer.from(content.slice(0, HEAD - 4), 'hex');
  return { address, device, code, information: Buffer.from(content.slice(HEAD), 'hex') };
}

/** The length with its check nibble: with it the four nibbles add up to a multiple of 16. */
function withNibble(length: number): number {
  const sum = (length & 0xf) + ((length >> 4) & 0xf) + ((length >> 8) & 0xf);
  return length === 0 ? 0 : ((-sum & 0xf) << 12) | length;
}

/** Sum of the letters, negated. */
function sumOf(letters: string): number {
  return -[...Buffer.from(letters, 'latin1')].reduce((sum, one) => sum + one, 0) & 0xffff;
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
