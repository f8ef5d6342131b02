/**
 * Telegrams of a P1 port that encrypts them for its customer (Luxmetering, P1 specification 1.1.3, section 3.2.5), before they are cut into frames:
 *
 *   DB  08  system title (8)  82  length (2)  30  frame counter (4)  ciphered  tag (12)  ─►  / … !  check sum
 *
 * Bytes between telegrams, and the rest of one whose beginning was not heard, are dropped. A telegram that is not encrypted gives nothing.
 */
import { AgentError } from '../../errors/agent-error.ts';
import { lengthAt } from '../families/ciphers/axdr-length.ts';
import { type Keys, plainOf, wrongKey } from '../families/ciphers/dlms-cipher.ts';

const LENGTH_AT = 10;
const CONTROL_AT = 13;
const BEGINNING = Buffer.of(0xdb, 0x08);
/** Two bytes of length follow. */
const LONG_LENGTH = 0x82;
const AUTHENTICATED = 0x10;
const ENCRYPTED = 0x20;
/** The same for all meters of Luxembourg, and public. */
const PUBLISHED_KEY = Buffer.from('00112233445566778899aabbccddeeff', 'hex');
/** Maker and speed, with which a plain telegram begins: `/LGF5`. */
const PLAIN = /\/[A-Za-z]{3}\d/;
const PLAIN_LENGTH = 5;

/** Cuts plain bytes into frames. */
interface Cutter {
  readonly isSilent: boolean;
  splitBytes(bytes: Uint8Array): void;
  reset(): void;
  expectLine(): void;
}

interface TelegramOpenerOptions {
  readonly key: Uint8Array;
  readonly authenticationKey: Uint8Array | undefined;
  /** First bytes of a plain telegram. */
  readonly start: Uint8Array;
  /** True for telegrams that have a check sum of their own. */
  readonly isChecked: boolean;
  readonly maxBytes: number;
  readonly cutter: Cutter;
  readonly onTooLong: () => void;
  /** Told why a telegram could not be deciphered. */
  readonly onCiphered: (fault: AgentError) => void;
  /** Told of a telegram that is not encrypted. */
  readonly onPlain: () => void;
}

export class TelegramOpener implements Cutter {
  readonly #options: TelegramOpenerOptions;
  #rest: Buffer = Buffer.alloc(0);
  #hasTaken = false;

  constructor(options: TelegramOpenerOptions) {
    this.#options = options;
  }

  /** True when nothing has come since the beginning, or since `reset`. */
  get isSilent(): boolean {
    return !this.#hasTaken;
  }

  /** Takes a piece of any size. */
  splitBytes(bytes: Uint8Array): void {
    this.#hasTaken = true;
    this.#rest = Buffer.concat([this.#rest, bytes]);
    while (this.#takeOne()) {}
  }

  reset(): void {
    this.#rest = Buffer.alloc(0);
    this.#hasTaken = false;
    this.#options.cutter.reset();
  }

  /** Drops what is left of an earlier answer. */
  expectLine(): void {
    this.#rest = Buffer.alloc(0);
    this.#options.cutter.expectLine();
  }

  /** Returns true when there may be another one behind it. */
  #takeOne(): boolean {
    const begin = this.#rest.indexOf(BEGINNING);
    if (begin !== 0) {
      this.#dropUpTo(begin);
      return begin > 0;
    }
    if (this.#rest.length <= CONTROL_AT) return false;
    const { maxBytes, onTooLong, onCiphered, cutter } = this.#options;
    const { length, at } = lengthAt(this.#rest, LENGTH_AT);
    const end = at + length;
    if (!isHead(this.#rest) || end > maxBytes) {
      if (isHead(this.#rest)) onTooLong();
      this.#rest = this.#rest.subarray(1);
      return true;
    }
    if (this.#rest.length < end) return false;
    // A telegram that lost a byte ends within the next one, which then begins before its end.
    let next = 1;
    try {
      const { plain, isProved } = this.#open(this.#rest.subarray(0, end));
      if (isProved) next = end;
      cutter.reset();
      cutter.splitBytes(plain);
    } catch (error) {
      if (error instanceof AgentError) onCiphered(error);
      else if (!(error instanceof RangeError)) throw error;
    }
    this.#rest = this.#rest.subarray(next);
    return true;
  }

  /** Keeps what may be the beginning of something when nothing was found. */
  #dropUpTo(begin: number): void {
    const dropped = begin < 0 ? this.#rest : this.#rest.subarray(0, begin);
    const plain = PLAIN.exec(dropped.toString('latin1'));
    if (plain !== null) this.#options.onPlain();
    const passed = plain === null ? 0 : plain.index + PLAIN_LENGTH;
    const kept = Math.max(passed, this.#rest.length - PLAIN_LENGTH + 1);
    this.#rest = this.#rest.subarray(begin < 0 ? kept : begin);
  }

  /** @throws AgentError `sensors/wrong-key`, `sensors/bad-reading` (retry). @throws RangeError for a telegram that is none. */
  #open(telegram: Uint8Array): ReturnType<typeof plainOf> {
    const { key, authenticationKey, isChecked } = this.#options;
    try {
      return this.#plainOf(telegram, { key, authenticationKey: authenticationKey ?? PUBLISHED_KEY });
    } catch (fault) {
      if (authenticationKey !== undefined || !isChecked || !(fault instanceof AgentError)) throw fault;
      // Operators outside Luxembourg have authentication keys of their own: the check sum of the telegram stands for the proof.
      return this.#plainOf(telegram, { key, authenticationKey: undefined });
    }
  }

  #plainOf(telegram: Uint8Array, keys: Pick<Keys, 'key' | 'authenticationKey'>): ReturnType<typeof plainOf> {
    const opened = plainOf(telegram, { ...keys, systemTitle: undefined });
    if (!opened.isProved && Buffer.from(opened.plain).indexOf(this.#options.start) !== 0)
      throw wrongKey('what is deciphered is no telegram');
    return opened;
  }
}

function isHead(bytes: Uint8Array): boolean {
  const control = bytes[CONTROL_AT] ?? 0;
  return bytes[LENGTH_AT] === LONG_LENGTH && (control & ~AUTHENTICATED) === ENCRYPTED;
}
