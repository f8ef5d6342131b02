/**
 * Bounds of a configuration before it is parsed: its bytes are text in UTF-8, and there is not too much of it. The YAML library has no limits of its own: a small file can hold a million tokens,
 * as many faults, or more levels than its stack. Everything here is counted while the text streams into the parser.
 */
import { isUtf8 } from 'node:buffer';
import { Composer, type Document, Lexer, type LineCounter, Parser } from 'yaml';

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
    hint: wide
      ? 'the editor saved it as UTF-16'
      : 'the editor saved it as Latin-1 or Windows-1252; save it again as UTF-8',
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

/** 1,000 sensors with an address, a period and three renamed keys each; twice as many would take a second longer and 100 MB more. */
const MAX_TOKENS = 100_000;
/** Weight of a comma: the parser keeps as much again for each item between brackets. */
const COMMA_COUNTS = 2;
/** More than anybody mends before checking again. */
export const MAX_FAULTS = 100;

/** Emitted by the lexer beside the pieces of the text: start of a document, end of a broken flow, "a scalar follows". */
const NO_TEXT = new Set(['\x02', '\x18', '\x1f']);

/** A text that is not worth reading on. */
export class YamlLimit extends Error {
  readonly offset: number;
  readonly expected: string;

  constructor(problem: string, expected: string, offset: number) {
    super(problem);
    this.offset = offset;
    this.expected = expected;
  }
}

/**
 * Every document of a text, as far as they are asked for; each with at most MAX_FAULTS faults.
 * @throws YamlLimit, RangeError (the composer recurses).
 */
export function* composeBounded(text: string, lines: LineCounter): Generator<Document.Parsed> {
  const composer = new Composer({
    prettyErrors: false,
    version: '1.2',
    schema: 'core',
    merge: false,
    uniqueKeys: false,
  });
  // Private, and the only way: a text of commas alone would make a hundred thousand error objects.
  // The composer's type has it as private.
  const internals = composer as unknown as { onError: (...fault: readonly unknown[]) => void };
  const note = internals.onError;
  let faults = 0;
  internals.onError = (...fault) => {
    faults += 1;
    if (faults <= MAX_FAULTS) note(...fault);
  };
  yield* composer.compose(parseBounded(text, lines), true, text.length) as Generator<Document.Parsed>;
}

function* parseBounded(text: string, lines: LineCounter): ReturnType<Parser['parse']> {
  const parser = new Parser(lines.addNewLine);
  const meter = new Meter();
  lines.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    meter.countLexeme(lexeme);
    for (const token of parser.next(lexeme)) {
      if (token.type === 'error') meter.fault();
      yield token;
    }
  }
  yield* parser.end();
}

/** Counts what passes. */
class Meter {
  #offset = 0;
  #tokens = 0;
  #faults = 0;

  /** @throws YamlLimit. */
  countLexeme(lexeme: string): void {
    if (NO_TEXT.has(lexeme)) return;
    this.#tokens += lexeme === ',' ? COMMA_COUNTS : 1;
    if (this.#tokens > MAX_TOKENS)
      throw new YamlLimit('too much in one file:', `at most ${MAX_TOKENS} words and signs`, this.#offset);
    this.#offset += lexeme.length;
  }

  /** The parser met something that is no YAML at all. @throws YamlLimit. */
  fault(): void {
    this.#faults += 1;
    if (this.#faults > MAX_FAULTS) throw new YamlLimit('no YAML', 'a configuration in YAML', this.#offset);
  }
}
