/**
 * JSON as the real server's transport reads it, which is far from strict (platform/wire-facts.md, "Malformed requests"): single quotes, bare words,
 * `=` for a colon, `;` for a comma, comments, a byte order mark, nothing where a value should be. Numbers keep their spelling.
 */
const MAX_DEPTH = 255;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
/** Ends a word that has no quotes. */
const ENDS_WORD = /[/\\;#={}[\]:,\s]/;
const SPACE = /(?:[ \t\r\n]|\/\/[^\n]*|#[^\n]*|\/\*.*?\*\/)*/sy;
const ESCAPES: Readonly<Record<string, string>> = { t: '\t', b: '\b', n: '\n', r: '\r', f: '\f' };
const WORDS: Readonly<Record<string, boolean | null>> = { true: true, false: false, null: null };

/** Returns the value of a text; `number` makes numbers from their spelling. @throws Error for texts that even this reader refuses. */
export function parseLenient(text: string, number: (source: string) => unknown): unknown {
  return new LenientReader(text, number).document();
}

class LenientReader {
  readonly #text: string;
  readonly #number: (source: string) => unknown;
  #at = 0;

  constructor(text: string, number: (source: string) => unknown) {
    this.#text = text;
    this.#number = number;
  }

  document(): unknown {
    if (this.#text.startsWith('\ufeff')) this.#at = 1;
    this.#space();
    const value = this.#at === this.#text.length ? null : this.#value(0);
    this.#space();
    if (value !== null && this.#at < this.#text.length) throw new Error('Did not consume the entire document.');
    return value;
  }

  #value(depth: number): unknown {
    const next = this.#text[this.#at];
    if (next === '{' || next === '[') {
      if (depth >= MAX_DEPTH) throw new Error(`Nesting limit ${MAX_DEPTH} reached`);
      this.#at += 1;
      return next === '{' ? this.#object(depth) : this.#array(depth);
    }
    if (next === '"' || next === "'") return this.#quoted(next);
    NUMBER.lastIndex = this.#at;
    const source = NUMBER.exec(this.#text)?.[0];
    const word = this.#word();
    if (source === word) return this.#number(word);
    const known = WORDS[word.toLowerCase()];
    return known === undefined ? word : known;
  }

  #object(depth: number): Record<string, unknown> {
    const members = new Map<string, unknown>();
    for (this.#space(); !this.#take('}'); this.#space()) {
      if (members.size > 0 && !this.#take(',') && !this.#take(';')) throw new Error('Unterminated object');
      this.#space();
      const quote = this.#text[this.#at];
      const name = quote === '"' || quote === "'" ? this.#quoted(quote) : this.#word();
      this.#space();
      if (!this.#take(':') && !this.#take('=')) throw new Error("Expected ':'");
      this.#take('>');
      this.#space();
      members.set(name, this.#value(depth + 1));
    }
    members.delete('__proto__');
    return Object.fromEntries(members);
  }

  /** Nothing between two separators, or at an end that is not the beginning, is null. */
  #array(depth: number): unknown[] {
    const items: unknown[] = [];
    this.#space();
    if (this.#take(']')) return items;
    for (;;) {
      this.#space();
      const next = this.#text[this.#at] ?? '';
      items.push(next !== '' && ',;]'.includes(next) ? null : this.#value(depth + 1));
      this.#space();
      if (this.#take(']')) return items;
      if (!this.#take(',') && !this.#take(';')) throw new Error('Unterminated array');
    }
  }

  #quoted(quote: string): string {
    let value = '';
    for (this.#at += 1; ; this.#at += 1) {
      const next = this.#text[this.#at];
      if (next === undefined) throw new Error('Unterminated string');
      if (next === quote) break;
      value += next === '\\' ? this.#escape() : next;
    }
    this.#at += 1;
    return value;
  }

  #escape(): string {
    this.#at += 1;
    const next = this.#text[this.#at] ?? '';
    if (next === 'u') {
      const code = this.#text.slice(this.#at + 1, this.#at + 5);
      if (!/^[0-9a-f]{4}$/i.test(code)) throw new Error('Malformed Unicode escape');
      this.#at += 4;
      return String.fromCharCode(Number.parseInt(code, 16));
    }
    const known = ESCAPES[next];
    if (known !== undefined) return known;
    if ('\n\'"\\/'.includes(next) && next !== '') return next;
    throw new Error('Invalid escape sequence');
  }

  #word(): string {
    const from = this.#at;
    while (this.#at < this.#text.length && !ENDS_WORD.test(this.#text[this.#at] as string)) this.#at += 1;
    if (this.#at === from) throw new Error('Expected value');
    return this.#text.slice(from, this.#at);
  }

  #take(sign: string): boolean {
    if (this.#text[this.#at] !== sign) return false;
    this.#at += 1;
    return true;
  }

  #space(): void {
    SPACE.lastIndex = this.#at;
    SPACE.exec(this.#text);
    this.#at = SPACE.lastIndex;
  }
}
