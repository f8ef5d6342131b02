/**
 * Reasons for which a line gives no reading, as far as its bytes were understood: bytes without a frame, telegrams that are not deciphered, frames with a
 * wrong check sum, whole ones that are not read, whole ones without a key that is asked for, or silence. The one that was understood best is told.
 */
import type { Clock } from '../../../host/clock.ts';

const CAUSES = ['no-key', 'unreadable', 'check-sum', 'ciphered', 'too-long'] as const;
type Cause = (typeof CAUSES)[number];

interface Seen {
  readonly count: number;
  /** Words for the last one. */
  readonly detail: string;
}

/** Beginning of a telegram that is encrypted for its customer, with a system title of eight bytes. */
const CIPHERED = Buffer.of(0xdb, 0x08);
/** Bytes that are shown of those without a frame. */
const SHOWN_BYTES = 16;
/** Age up to which bytes count as recent; two periods where that is longer. */
const SPEAKS_WITHIN_MS = 60_000;
/** So few bytes may be the end of a frame that was read. */
const FEW_BYTES = 8;
/** Names that are told of a frame without a key. */
const MAX_NAMES = 8;
/** Codes before a bracket, members of JSON, and words before a value, as meters and devices write them. */
const NAMES =
  /(?:\d+-\d+:)?[A-Z0-9]+(?:\.[A-Z0-9]+)+(?=\()|"([^"]{1,32})"(?=\s*:)|(?<![A-Za-z0-9_])[A-Za-z][A-Za-z0-9_]{0,31}(?=\s*[=:\t])/g;

export class LineTrouble {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #isDeciphered: boolean;
  readonly #advice: string;
  readonly #seen = new Map<Cause, Seen>();
  #beginning: Buffer = Buffer.alloc(0);
  #bytes = 0;
  #fitting: string | undefined;
  #heardAtMs = Number.NEGATIVE_INFINITY;

  /** @param options.isDeciphered for encrypted telegrams that are read. @param options.advice for lines that are not read; default: that of a wire. */
  constructor(
    clock: Pick<Clock, 'monotonicMs'>,
    options: { readonly isDeciphered?: boolean; readonly advice?: string } = {},
  ) {
    this.#clock = clock;
    this.#advice = options.advice ?? 'check format, and baudRate and parity';
    this.#isDeciphered = options.isDeciphered ?? false;
  }

  /** Takes bytes as they come. */
  hear(bytes: Uint8Array): void {
    if (this.#beginning.length < SHOWN_BYTES)
      this.#beginning = Buffer.concat([this.#beginning, bytes.subarray(0, SHOWN_BYTES - this.#beginning.length)]);
    this.#bytes += bytes.length;
    this.#heardAtMs = this.#clock.monotonicMs();
  }

  /** Counts a line or frame that gave nothing; returns how many did since the last reading. */
  count(cause: Cause, detail: string): number {
    this.#seen.set(cause, { count: (this.#seen.get(cause)?.count ?? 0) + 1, detail });
    return [...this.#seen.values()].reduce((sum, { count }) => sum + count, 0);
  }

  /** Takes the options that read what has no key that is asked for. */
  adviseOthers(options: string | undefined): void {
    this.#fitting = options;
  }

  /** Clears what was counted: a reading came. */
  forget(): void {
    this.#seen.clear();
    this.#beginning = Buffer.alloc(0);
    this.#bytes = 0;
  }

  /** True when bytes came lately. @param periodMs in which it speaks. */
  speaks(periodMs: number): boolean {
    return this.#clock.monotonicMs() - this.#heardAtMs <= Math.max(SPEAKS_WITHIN_MS, 2 * periodMs);
  }

  /** @param what is counted: `lines`, `frames`, `telegrams`. @param periodMs in which it speaks. */
  words(path: string, what: string, periodMs: number): string {
    if (!this.speaks(periodMs)) return `nothing comes on ${path}`;
    if (!this.#isDeciphered && this.#beginning.includes(CIPHERED))
      return `an encrypted telegram comes on ${path}, as from P1 ports of Luxembourg: ask the grid operator for its key, and give it as encryptionKey beside preset: dsmr`;
    const cause = CAUSES.find((one) => this.#seen.has(one));
    if (cause !== undefined) {
      const { count, detail } = this.#seen.get(cause) ?? { count: 0, detail: '' };
      return `${count === 1 ? `1 ${what.replace(/s$/, '')}` : `${count} ${what}`} came on ${path}${sentenceOf(cause, detail, this.#advice)}${cause === 'no-key' && this.#fitting !== undefined ? `: ${this.#fitting} reads them` : ''}`;
    }
    if (this.#bytes <= FEW_BYTES) return `nothing comes on ${path}`;
    return `${this.#bytes} bytes came on ${path} without the end of one of its ${what}; the first: ${shown(this.#beginning)}: check baudRate and parity, and what the device is`;
  }
}

function sentenceOf(cause: Cause, detail: string, advice: string): string {
  switch (cause) {
    case 'no-key':
      return detail === ''
        ? ', whole, and none has a value that is asked for'
        : `, whole, and none has a value that is asked for: they have ${detail}`;
    case 'unreadable':
      return `, and none could be read: ${detail}: ${advice}`;
    case 'check-sum':
      return ' with a wrong check sum: check parity and wiring, and whether two speak at once';
    case 'ciphered':
      return ` encrypted, and none could be deciphered: ${detail}`;
    case 'too-long':
      return ' longer than maxLine: check where they end, and baudRate';
  }
}

/** As hex and as text. */
function shown(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes);
  const text = buffer.toString('latin1').replace(/[^\x20-\x7e]/g, '.');
  return `${buffer.toString('hex').replace(/(..)(?=.)/g, '$1 ')} "${text}"`;
}

/** Returns the names of values in a whole line or frame of text, for people: `1-0:1.8.0, 1-0:2.8.0`. */
export function namesIn(text: string): string {
  const names = [...text.slice(0, 4_096).matchAll(NAMES)].map(([name, member]) => member ?? name);
  const unique = [...new Set(names)];
  return unique.length > MAX_NAMES
    ? `${unique.slice(0, MAX_NAMES).join(', ')} and ${unique.length - MAX_NAMES} more`
    : unique.join(', ');
}
