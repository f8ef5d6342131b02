/**
 * Bounds of a configuration before it is parsed. The YAML library has no limits of its own: a small file can hold a million tokens,
 * as many faults, or more levels than its stack. Everything here is counted while the text streams into the parser.
 */
import { Composer, type Document, Lexer, type LineCounter, Parser } from 'yaml';

/** 1,000 sensors with an address, a period and three renamed keys each; twice as many would take a second longer and 100 MB more. */
const MAX_TOKENS = 100_000;
/** Weight of a comma: the parser keeps as much again for each item between brackets. */
const COMMA_COUNTS = 2;
/** Levels by indentation, by dashes on one line, or by brackets; the tree itself may have fewer. */
const DEEPEST_TEXT = 100;
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
  const composer = new Composer({ prettyErrors: false, version: '1.2', schema: 'core', merge: false, uniqueKeys: false });
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
  /** Open brackets. */
  #flow = 0;
  /** Dashes and question marks one after another on this line. */
  #dashes = 0;
  /** Columns at which the lines around this one begin. */
  #indents: number[] = [];
  #column: number | undefined = 0;

  /** @throws YamlLimit. */
  countLexeme(lexeme: string): void {
    if (NO_TEXT.has(lexeme)) return;
    this.#tokens += lexeme === ',' ? COMMA_COUNTS : 1;
    if (this.#tokens > MAX_TOKENS) throw new YamlLimit('too much in one file:', `at most ${MAX_TOKENS} words and signs`, this.#offset);
    this.#level(lexeme);
    if (this.#flow > DEEPEST_TEXT || this.#dashes > DEEPEST_TEXT || this.#indents.length > DEEPEST_TEXT)
      throw new YamlLimit('nested too deeply', `at most ${DEEPEST_TEXT} levels`, this.#offset);
    this.#offset += lexeme.length;
  }

  /** The parser met something that is no YAML at all. @throws YamlLimit. */
  fault(): void {
    this.#faults += 1;
    if (this.#faults > MAX_FAULTS) throw new YamlLimit('no YAML', 'a configuration in YAML', this.#offset);
  }

  #level(lexeme: string): void {
    const first = lexeme[0];
    if (first === '\n' || first === '\r') {
      this.#dashes = 0;
      this.#column = 0;
    } else if (first === ' ') {
      if (this.#column !== undefined) this.#column += lexeme.length;
    } else {
      if (this.#column !== undefined && this.#flow === 0 && first !== '#') this.#indent(this.#column);
      this.#column = undefined;
      if (lexeme === '[' || lexeme === '{') this.#flow += 1;
      else if (lexeme === ']' || lexeme === '}') this.#flow = Math.max(0, this.#flow - 1);
      if (lexeme === '-' || lexeme === '?') this.#dashes += 1;
      else this.#dashes = 0;
    }
  }

  #indent(column: number): void {
    while ((this.#indents.at(-1) ?? -1) >= column) this.#indents.pop();
    this.#indents.push(column);
  }
}
