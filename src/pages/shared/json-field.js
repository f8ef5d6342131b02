/** Fields that take JSON: a mistake is told beneath the field, with what stands where it is, and nothing is sent until it is mended. */
import { el } from './dom.js';
import { parse } from './words.js';

let count = 0;

/** Makes a field tell its mistakes; returns `read()`, which gives `{value}`, or undefined after it has said what is wrong. */
export function watchJson(field, { isEmptyFine = false } = {}) {
  count += 1;
  const said = el('p', { class: 'mistake', id: `mistake-${count}`, role: 'alert' });
  field.after(said);
  field.setAttribute('aria-describedby', said.id);
  const say = (mistake) => {
    if (mistake === undefined) field.removeAttribute('aria-invalid');
    else field.setAttribute('aria-invalid', 'true');
    said.replaceChildren(...(mistake === undefined ? [] : mistakeParts(mistake, field)));
  };
  const look = () => {
    const text = field.value;
    if (text.trim() === '') return isEmptyFine ? { value: {} } : { mistake: { words: 'A value is needed.' } };
    try {
      return { value: parse(text) };
    } catch {
      return { mistake: jsonMistake(text) };
    }
  };
  // While somebody types, only what is mended is said.
  field.addEventListener('input', () => {
    if (field.getAttribute('aria-invalid') === 'true') say(look().mistake);
  });
  field.addEventListener('change', () => say(field.value.trim() === '' ? undefined : look().mistake));
  return () => {
    const { value, mistake } = look();
    say(mistake);
    if (mistake === undefined) return { value };
    field.focus();
    if (mistake.at !== undefined) field.setSelectionRange?.(mistake.at, mistake.at + 1);
    return undefined;
  };
}

const CONTEXT = 16;

function mistakeParts({ words, at, asText }, field) {
  const text = field.value;
  const parts = [el('span', {}, words)];
  if (at !== undefined) {
    const shown = (from, to) => text.slice(Math.max(0, from), to).replaceAll(/\s/g, ' ');
    const here = at < text.length ? shown(at, at + 1) : '∎';
    parts.push(' ', el('code', {}, shown(at - CONTEXT, at), el('mark', {}, here), shown(at + 1, at + 1 + CONTEXT)));
  }
  if (asText !== undefined) {
    const onclick = () => {
      field.value = asText;
      field.dispatchEvent(new Event('change'));
      field.focus();
    };
    parts.push(' ', el('button', { type: 'button', onclick }, `Make it the text ${asText}`));
  }
  return parts;
}

/** Finds where a text stops being JSON, and says what is the matter there; undefined for JSON. */
export function jsonMistake(text) {
  const reader = new Reader(text);
  try {
    reader.whole();
    return undefined;
  } catch (mistake) {
    if (!(mistake instanceof Mistake)) throw mistake;
    const word = text.trim();
    const isBareWord = /^[\p{L}_][\p{L}\p{N}_ .:/-]*$/u.test(word);
    return { words: mistake.message, at: mistake.at, ...(isBareWord && { asText: JSON.stringify(word) }) };
  }
}

class Mistake extends Error {
  constructor(at, words) {
    super(words);
    this.at = at;
  }
}

const LITERAL = /(?:true|false|null)(?![\p{L}\p{N}_])/uy;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\p{L}\p{N}_.])/uy;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const MAX_DEPTH = 200;

class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  whole() {
    this.value(0);
    this.space();
    if (this.at < this.text.length) this.fail('The value has ended; this is too much:');
  }

  value(depth) {
    if (depth > MAX_DEPTH) this.fail('Too deep:');
    this.space();
    const first = this.text[this.at];
    if (first === '{') return this.list('}', () => this.member(depth));
    if (first === '[') return this.list(']', () => this.value(depth + 1));
    if (first === '"') return this.string();
    if (this.takes(LITERAL) || this.takes(NUMBER)) return undefined;
    if (first === undefined) return this.fail('It ends where a value is due:');
    if (first === "'") return this.fail('Text stands in double quotes:');
    if (/[\p{L}_]/u.test(first)) return this.fail('Text needs quotes:');
    return this.fail('No value begins so:');
  }

  member(depth) {
    this.space();
    if (this.text[this.at] !== '"') this.fail('A name in double quotes is due:');
    this.string();
    this.space();
    if (this.text[this.at] !== ':') this.fail('A colon is due:');
    this.at += 1;
    this.value(depth + 1);
  }

  list(end, item) {
    this.at += 1;
    this.space();
    if (this.text[this.at] === end) {
      this.at += 1;
      return;
    }
    for (;;) {
      item();
      this.space();
      const next = this.text[this.at];
      if (next === undefined) this.fail(`It ends where ${end} is due:`);
      if (next !== ',' && next !== end) this.fail(`A comma or ${end} is due:`);
      this.at += 1;
      if (next === end) return;
      this.space();
      if (this.text[this.at] === end) this.fail('Nothing follows the comma:');
    }
  }

  string() {
    const begin = this.at;
    this.at += 1;
    for (;;) {
      const next = this.text[this.at];
      if (next === undefined) {
        this.at = begin;
        this.fail('The quotes are not closed:');
      }
      if (next < ' ') this.fail('A line break within quotes is written \\n:');
      if (next === '"') break;
      if (next !== '\\') this.at += 1;
      else if (!this.takes(ESCAPE)) this.fail('No escape is written so:');
    }
    this.at += 1;
  }

  takes(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null) return false;
    this.at += found[0].length;
    return true;
  }

  space() {
    while (/[ \t\r\n]/.test(this.text[this.at] ?? '')) this.at += 1;
  }

  fail(words) {
    throw new Mistake(this.at, words);
  }
}
