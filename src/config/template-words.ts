/** Words in braces, and what is put in their place in an item of a template: `meter{n}` → `meter1`. */

export type Mapping = Readonly<Record<string, unknown>>;
/** Words in braces and what is put in their place. */
export type Words = Readonly<Record<string, string | number | boolean>>;

/** `${n}` is a variable of the environment. */
const WORD = /(?<!\$)\{(\w+)\}/g;

export function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function isWords(value: unknown): value is Words {
  return (
    isMapping(value) && Object.values(value).every((word) => ['string', 'number', 'boolean'].includes(typeof word))
  );
}

/** A copy with the words put in, also in keys; a text that is one word alone becomes its value. */
export function filled(value: unknown, words: Words): unknown {
  if (Array.isArray(value)) return value.map((item) => filled(item, words));
  if (isMapping(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [filledText(key, words), filled(item, words)]),
    );
  if (typeof value !== 'string') return value;
  const alone = /^\{(\w+)\}$/.exec(value)?.[1];
  return alone !== undefined && Object.hasOwn(words, alone) ? words[alone] : filledText(value, words);
}

function filledText(text: string, words: Words): string {
  return text.replace(WORD, (whole, word: string) => (Object.hasOwn(words, word) ? String(words[word]) : whole));
}

/** Size of a value, and how often each word stands in it: what is made of it is measured before it is made. */
export class TemplateSize {
  values = 0;
  characters = 0;
  readonly #words = new Map<string, number>();

  constructor(value: unknown) {
    this.#add(value);
  }

  uses(words: Words): boolean {
    return Object.keys(words).some((word) => this.#words.has(word));
  }

  /** Characters of a copy with these words put in. */
  charactersWith(words: Words): number {
    const added = ([word, value]: readonly [string, unknown]): number =>
      (this.#words.get(word) ?? 0) * (String(value).length - word.length - '{}'.length);
    return Object.entries(words).reduce((sum, one) => sum + added(one), this.characters);
  }

  #add(value: unknown): void {
    this.values += 1;
    if (typeof value === 'string') this.#addText(value);
    else if (Array.isArray(value)) for (const item of value) this.#add(item);
    else if (isMapping(value))
      for (const [key, item] of Object.entries(value)) {
        this.#addText(key);
        this.#add(item);
      }
  }

  #addText(text: string): void {
    this.characters += text.length;
    for (const [, word = ''] of text.matchAll(WORD)) this.#words.set(word, (this.#words.get(word) ?? 0) + 1);
  }
}
