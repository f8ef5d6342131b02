/** The bytes of a configuration as text: UTF-8 and nothing else, without characters that no editor shows. */
import { isUtf8 } from 'node:buffer';

/** A hundred bytes for each word and sign that yaml-bounds.ts lets through are for comments. */
const MAX_FILE_LENGTH = 1024 * 1024;
/** Control characters but tab and line ends (YAML 1.2.2, section 5.1), and those that turn the direction of text, so that it reads as it does not stand. */
const HIDDEN = /(?![\t\n\r])\p{Cc}|[\u202a-\u202e\u2066-\u2069\ufffe\uffff]/u;

/** Fault of a text, and its place. */
export interface TextFault {
  readonly text: string;
  readonly offset: number;
  readonly problem: string;
  readonly expected: string;
  readonly hint?: string;
}

/** The text of a file, without a byte order mark; or the first fault, with the text before it. */
export function decodeText(source: string | Uint8Array): string | TextFault {
  if (source.length > MAX_FILE_LENGTH)
    return { text: '', offset: 0, problem: `${source.length} bytes`, expected: `at most ${MAX_FILE_LENGTH}` };
  const decoded = typeof source === 'string' ? source : decode(source);
  if (typeof decoded !== 'string') return decoded;
  const text = decoded.replace(/^\ufeff/, '');
  const hidden = HIDDEN.exec(text);
  if (hidden === null) return text;
  const code = hidden[0].charCodeAt(0).toString(16).padStart(4, '0').toUpperCase();
  return {
    text,
    offset: hidden.index,
    problem: `a character that cannot be seen, U+${code}`,
    expected: 'text',
    hint: 'in double quotes it can be written as an escape such as \\e or \\x1b',
  };
}

function decode(bytes: Uint8Array): string | TextFault {
  if (isUtf8(bytes)) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const wide = bytes[0] === 0xff || bytes[0] === 0xfe;
  const text = new TextDecoder().decode(bytes.subarray(0, wholeBytes(bytes)));
  return {
    text,
    offset: text.length,
    problem: 'bytes that are no UTF-8',
    expected: 'a file in UTF-8',
    hint: wide ? 'the editor saved it as UTF-16' : 'the editor saved it as Latin-1 or Windows-1252; save it again as UTF-8',
  };
}

/** How many bytes from the start on are UTF-8. */
function wholeBytes(bytes: Uint8Array): number {
  let [good, bad] = [0, bytes.length];
  while (bad - good > 1) {
    const middle = (good + bad) >> 1;
    if (isUtf8(bytes.subarray(0, startOfCharacter(bytes, middle)))) good = middle;
    else bad = middle;
  }
  return isUtf8(bytes.subarray(0, good)) ? good : startOfCharacter(bytes, good);
}

/** A character has at most three bytes after its first, and those begin with the bits 10. */
function startOfCharacter(bytes: Uint8Array, at: number): number {
  let start = at;
  while (start > at - 3 && start > 0 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1;
  return start;
}
