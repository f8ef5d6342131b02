/**
 * Sentences of NMEA 0183 in a stream of bytes that may hold anything else between them.
 *
 *   bytes → from the last `$` or `!` to the line end → check sum → talker and type, fields
 */

/** NMEA 0183 allows 82 characters; some receivers send a little more. */
const MAX_SENTENCE_LENGTH = 256;
const [DOLLAR, EXCLAMATION, CARRIAGE_RETURN, LINE_FEED] = [0x24, 0x21, 0x0d, 0x0a];
/** Address, fields of printable characters, check sum. */
const SENTENCE = /^[$!]([A-Z][A-Z0-9]{2,9})((?:,[ -)+-~]*)?)(?:\*([0-9A-Fa-f]{2}))?\s*$/;
/** Talkers have two letters; a P begins a maker's own sentence, as Garmin's PGRMC is. */
const STANDARD = /^[^P].(...)$/;

export interface Sentence {
  /** Talker and type: `GPRMC`. */
  readonly address: string;
  /** The address without its talker: `RMC`; empty for a maker's own sentence. */
  readonly type: string;
  readonly fields: readonly string[];
  /** False when it has no check sum. */
  readonly isChecked: boolean;
}

/** The sentence that a line is; undefined for a damaged one. */
export function parseSentence(line: string): Sentence | undefined {
  const [whole, address = '', fields = '', sum] = SENTENCE.exec(line) ?? [];
  if (whole === undefined) return undefined;
  if (sum !== undefined && Number.parseInt(sum, 16) !== checkSum(address + fields)) return undefined;
  const values = fields.split(',').slice(1);
  return {
    address,
    type: STANDARD.exec(address)?.[1] ?? '',
    fields: values.map((field) => field.trim()),
    isChecked: sum !== undefined,
  };
}

function checkSum(text: string): number {
  return Buffer.from(text, 'latin1').reduce((sum, byte) => sum ^ byte, 0);
}

/** Cuts sentences out of a stream: binary messages and beginnings that are broken off are passed over. */
export class SentenceCutter {
  readonly #onLine: (line: string) => void;
  /** Undefined outside of a sentence. */
  #bytes: number[] | undefined;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  cutBytes(bytes: Uint8Array): void {
    for (const byte of bytes) {
      if (byte === DOLLAR || byte === EXCLAMATION) this.#bytes = [byte];
      else if (byte === LINE_FEED || byte === CARRIAGE_RETURN) this.#end();
      else if ((this.#bytes?.push(byte) ?? 0) > MAX_SENTENCE_LENGTH) this.#bytes = undefined;
    }
  }

  /** Forgets a sentence that was begun. */
  reset(): void {
    this.#bytes = undefined;
  }

  #end(): void {
    if (this.#bytes !== undefined) this.#onLine(Buffer.from(this.#bytes).toString('latin1'));
    this.#bytes = undefined;
  }
}
