/** Texts of the status page: the same ids and values in both languages, each used, and numbers, plural forms and dates of the language. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';

type Text = string | ((values: Readonly<Record<string, unknown>>) => string);
type Texts = Readonly<Record<string, Text>>;
interface Forms {
  named(text: string): string;
  typed(text: string): string;
  foreign(text: string): string;
  unmarked(text: string): string;
  piecesOf(text: string): readonly { readonly mark?: string; readonly text: string }[];
}
interface Words {
  reading(value: unknown, unit?: string): string;
  plain(value: unknown): string;
  duration(seconds: number): string;
  ago(seconds: number): string;
  bytes(count: number): string;
  percent(value: number): string;
  instant(ms: number): string;
}

const PAGES = join(import.meta.dirname, '../../../src/pages');
const load = async (name: string, folder = 'shared'): Promise<unknown> =>
  await import(new URL(`../../../src/pages/${folder}/${name}.js`, import.meta.url).href);
const partOf = async (name: string, folder?: string): Promise<Texts> =>
  ((await load(name, folder)) as { readonly texts: Texts }).texts;
/** The page's texts with those of the part that is loaded on first use; none has an id of the other. */
const textsOf = async (language: string): Promise<Texts> => {
  const [first, later] = [await partOf(`texts-${language}`), await partOf(`change-texts-${language}`, 'status')];
  expect(Object.keys(later).filter((id) => id in first)).toEqual([]);
  return Object.fromEntries([...Object.entries(first), ...Object.entries(later)]);
};
const [en, de, forms] = [await textsOf('en'), await textsOf('de'), (await load('forms')) as Forms];
const LANGUAGES = { en, de };

const files = ['status', 'shared', 'names'].flatMap((folder) =>
  readdirSync(join(PAGES, folder)).map((name) => join(PAGES, folder, name)),
);
const sources = files
  .filter((file) => file.endsWith('.js') && !/texts-\w+\.js$/.test(file))
  .map((file) => readFileSync(file, 'utf8'));
const html = readFileSync(join(PAGES, 'status/index.html'), 'utf8');
const inHtml = [...html.matchAll(/data-(?:text|label|hint)="(\w+)"/g)].map(([, id = '']) => id);

/** Values that are no text. */
const LISTS = new Set(['moves', 'names', 'when']);
const COUNTS = new Set(['count', 'values', 'sensors', 'failing', 'more', 'listed', 'found', 'good']);

/** Calls a text with values that stand for any, and returns the names that it has read, with the sentence. */
function callOf(text: Text, value: unknown = 3): { readonly names: readonly string[]; readonly words: string } {
  const names = new Set<string>();
  if (typeof text === 'string') return { names: [], words: text };
  const values = new Proxy(
    {},
    {
      get: (_target, name) => {
        names.add(String(name));
        if (LISTS.has(String(name))) return ['a', 'b'];
        return COUNTS.has(String(name)) ? value : String(value);
      },
    },
  );
  return { names: [...names].sort(), words: text(values) };
}

describe('texts', () => {
  it('have the same ids in the same order in both languages', () => {
    expect(Object.keys(en).length).toBeGreaterThan(200);
    expect(Object.keys(de)).toEqual(Object.keys(en));
  });

  it('take the same values, and say something', () => {
    for (const id of Object.keys(en)) {
      const [english, german] = [callOf(en[id] ?? ''), callOf(de[id] ?? '')];
      expect([id, german.names]).toEqual([id, english.names]);
      for (const { words } of [english, german])
        expect([id, words.trim()]).toEqual([id, expect.stringMatching(/^(?!.*(undefined|\[object|NaN|#)).+/)]);
    }
  });

  it('are all used, and none is missing', () => {
    const used = new Set([...sources.join('\n').matchAll(/'(\w+)'/g)].map(([, id = '']) => id));
    for (const id of inHtml) used.add(id);
    expect(Object.keys(en).filter((id) => !used.has(id))).toEqual([]);
    const said = sources.flatMap((source) => [...source.matchAll(/\bsay\(\s*'(\w+)'/g)].map(([, id = '']) => id));
    expect(said.length).toBeGreaterThan(150);
    expect([...said, ...inHtml].filter((id) => en[id] === undefined)).toEqual([]);
  });

  it('stand in English in the page itself, so that nothing changes before the eyes of who reads it', () => {
    const shown = [
      ...html.matchAll(/data-text="(\w+)">(.*?)<\/(?:p|h1|h2|h3|label|span|button|legend|option|summary)>/g),
    ];
    expect(shown.length).toBeGreaterThan(30);
    for (const [, id = '', words = ''] of shown)
      expect(words.replaceAll(/<\/?code>/g, '')).toBe(forms.unmarked(String(en[id])));
  });

  it('have a plural form of their own for one', () => {
    const said = (texts: Texts, count: number): string => callOf(texts.entries ?? '', count).words;
    expect(Object.values(LANGUAGES).map((texts) => [said(texts, 1), said(texts, 0), said(texts, 1_234)])).toEqual([
      ['1 entry', '0 entries', '1,234 entries'],
      ['1 Eintrag', '0 Einträge', '1.234 Einträge'],
    ]);
  });
});

describe('marks', () => {
  it('become pieces, and go without a trace from a title', () => {
    const text = `a ${forms.named('غرفة')} b ${forms.typed('x')}${forms.foreign('up to date')}`;
    expect(forms.piecesOf(text).map(({ mark, text: words }) => [mark, words])).toEqual([
      [undefined, 'a '],
      ['bdi', 'غرفة'],
      [undefined, ' b '],
      ['code', 'x'],
      ['en', 'up to date'],
    ]);
    expect(forms.unmarked(text)).toBe('a غرفة b xup to date');
  });

  it('cannot be made by what a device says', () => {
    const evil = forms.named('x\uE003\uE001code\uE003');
    expect(forms.piecesOf(evil)).toEqual([{ mark: 'bdi', text: 'xcode' }]);
  });
});

describe('values', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.resetModules();
  });

  async function wordsIn(
    languages: readonly string[],
    offered: string | null = 'en de',
    kept: string | null = null,
  ): Promise<Words> {
    vi.resetModules();
    vi.stubGlobal('document', { documentElement: { dataset: offered === null ? {} : { languages: offered } } });
    vi.stubGlobal('navigator', { languages });
    vi.stubGlobal('localStorage', { getItem: () => kept });
    return (await load('words')) as Words;
  }

  it('are those of the language', async () => {
    const words = await wordsIn(['de-AT', 'en']);
    expect(words.reading(7.2, '°C')).toBe('7,2 °C');
    expect([words.plain(12_731), words.plain(-0.000_1), words.plain(9_007_199_254_740_993n)]).toEqual([
      '12731',
      '-0,0001',
      '9007199254740993',
    ]);
    expect([words.plain(true), words.plain(undefined)]).toEqual(['ein', 'unbekannt']);
    expect([words.duration(9_000), words.ago(12 * 86_400), words.duration(12 * 86_400)]).toEqual([
      '2,5 h',
      'vor 12 Tagen',
      '12 Tage',
    ]);
    expect([words.bytes(91_000), words.percent(43)]).toEqual(['91,0 kB', '43 %']);
    expect(words.instant(new Date(2026, 2, 3, 20, 5, 6).getTime())).toBe('03.03.2026, 20:05:06');
  });

  it('are English where the browser speaks neither language, with a clock of 24 hours and a month that nobody confuses', async () => {
    const words = await wordsIn(['fr', 'ar']);
    expect([words.reading(7.2, '°C'), words.plain(3e-9), words.duration(9_000)]).toEqual(['7.2 °C', '3E-9', '2.5 h']);
    expect(words.instant(new Date(2026, 2, 3, 20, 5, 6).getTime())).toBe('3 Mar 2026, 20:05:06');
    expect([words.percent(43), words.bytes(999), words.bytes(1_500_000)]).toEqual(['43 %', '999 B', '1.5 MB']);
  });

  it('follow the choice on the page before the browser, and stay English on a page that offers no language', async () => {
    expect((await wordsIn(['en'], 'en de', 'de')).plain(1.5)).toBe('1,5');
    expect((await wordsIn(['de'], 'en de', 'en')).plain(1.5)).toBe('1.5');
    expect((await wordsIn(['de'], 'en de', 'xx')).plain(1.5)).toBe('1,5');
    expect((await wordsIn(['de'], null, 'de')).plain(1.5)).toBe('1.5');
  });
});

it('style sheets name no side of the screen', () => {
  const sheets = files.filter((file) => file.endsWith('.css')).map((file) => readFileSync(file, 'utf8'));
  expect(sheets.length).toBe(3);
  expect(sheets.flatMap((text) => text.match(/^.*\b(?:left|right)\b.*$/gm) ?? [])).toEqual([]);
});
