/** Sentences of the agent: the same ids and values in English and German, each with words, and labels in the place of names. */
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { CHECKS } from '../../../src/doctor/all-checks.ts';
import type { Told } from '../../../src/errors/sentence.ts';
import { english, labelled, SENTENCES, sentence } from '../../../src/names/sentences.ts';

type Make = (values: object) => string;
interface German {
  readonly CHECKS: Readonly<Record<string, string>>;
  readonly sentences: Readonly<Record<string, Make>>;
  inGerman(told: Told): string;
}

const SHARED = '../../../src/pages/shared';
const load = async (name: string): Promise<unknown> =>
  await import(new URL(`${SHARED}/${name}.js`, import.meta.url).href);
const inner = sentence('agentStops');
/** Values that are no text. */
const KINDS: Readonly<Record<string, unknown>> = {
  all: [inner, inner],
  edge: inner,
  end: 'time',
  gone: inner,
  is: inner,
  problem: inner,
  remedy: inner,
  states: inner,
  by: 'local',
  check: 'disk-space',
  state: 'ready',
  value: true,
  class: undefined,
  unit: undefined,
};
const NUMBERS = /^(count|held|total|lost|status|leftS|ms|\w+Ms)$/;

let german: German;
let unmarked: (text: string) => string;

beforeAll(async () => {
  vi.resetModules();
  vi.stubGlobal('document', { documentElement: { dataset: { languages: 'en de' } } });
  vi.stubGlobal('navigator', { languages: ['de'] });
  vi.stubGlobal('localStorage', { getItem: () => null });
  german = (await load('sentences-de')) as German;
  ({ unmarked } = (await load('forms')) as { unmarked: typeof unmarked });
  vi.unstubAllGlobals();
  // Who loads them next has a language of its own.
  vi.resetModules();
});

/** Calls a sentence with values that stand for any, and returns the names that it has read, with its words. */
function callOf(make: Make): { readonly names: readonly string[]; readonly words: string } {
  const names = new Set<string>();
  const values = new Proxy(
    {},
    {
      get: (_target, name) => {
        names.add(String(name));
        if (String(name) in KINDS) return KINDS[String(name)];
        return NUMBERS.test(String(name)) ? 90_000 : `{${String(name)}}`;
      },
      ownKeys: () => [],
    },
  );
  const words = make(values);
  return { names: [...names].sort(), words };
}

describe('each sentence', () => {
  it('has both languages, with the same values', () => {
    expect(Object.keys(SENTENCES).length).toBeGreaterThan(150);
    expect(Object.keys(german.sentences)).toEqual(Object.keys(SENTENCES));
    for (const [id, make] of Object.entries(SENTENCES)) {
      const [inEnglish, inGerman] = [callOf(make as Make), callOf(german.sentences[id] as Make)];
      // German makes words of a limit, and of a check, that English has as words already.
      const of = (names: readonly string[]): readonly string[] =>
        id.startsWith('alarm') || id === 'checkTitle'
          ? names.filter((one) => !['above', 'below', 'equal', 'limit', 'label', 'check'].includes(one))
          : names;
      expect([id, of(inGerman.names)]).toEqual([id, of(inEnglish.names)]);
      for (const words of [inEnglish.words, unmarked(inGerman.words)])
        expect([id, words.trim()]).toEqual([id, expect.stringMatching(/^(?!.*(undefined|\[object|NaN|#)).+/)]);
    }
  });

  it('is German for each check of the doctor, and for no other', () => {
    expect(Object.keys(german.CHECKS).toSorted()).toEqual(CHECKS.map(({ id }) => id).toSorted());
  });

  it('has German words of its own', () => {
    const same = Object.entries(SENTENCES)
      .filter(([id, make]) => callOf(make as Make).words === unmarked(callOf(german.sentences[id] as Make).words))
      .map(([id]) => id);
    expect(same).toEqual([]);
  });
});

it('has labels in the place of names, in what it is made of as well, and values by their class', () => {
  const why = sentence('several', {
    all: [
      sentence('outputRuleSet', { value: true, rule: 'heat', agoMs: 180_000 }),
      sentence('outputNotYet', { why: sentence('lockedOut', { output: 'pump' }) }),
    ],
  });
  const labels = {
    rule: (name: string) => ({ heat: 'Heizen' })[name],
    output: (name: string) => ({ pump: 'Pumpe' })[name],
    class: 'running',
  };
  expect(english(why)).toBe(
    'on, because rule heat set it 3 min ago; not yet: pump is not moved: the machine is locked out',
  );
  expect(english(labelled(why, labels))).toBe(
    'running, because rule Heizen set it 3 min ago; not yet: Pumpe is not moved: the machine is locked out',
  );
  expect(unmarked(german.inGerman(labelled(why, labels)))).toBe(
    'läuft, wegen der Regel Heizen, seit 3 min; noch nicht: Pumpe wird nicht geschaltet: Die Fernsteuerung ist am Gerät gesperrt',
  );
});

it.each([
  ['page', 'Die Konfiguration abc von der Seite wurde abgelehnt: no.'],
  ['patch', 'Die Konfiguration abc von der Plattform wurde abgelehnt: no.'],
  ['local', 'Die Konfiguration abc von der Kommandozeile wurde abgelehnt: no.'],
] as const)('says in German which way a change came: %s', (by, words) => {
  expect(unmarked(german.inGerman(sentence('changeRefused', { hash: 'abc', by, why: 'no' })))).toBe(words);
});

it('keeps the message of a system in English, marked as such', async () => {
  const { piecesOf } = (await load('forms')) as { piecesOf(text: string): readonly object[] };
  const told = german.inGerman(sentence('sensorFails', { sensor: 'Dach', why: 'no answer at 0x76' }));
  expect(piecesOf(told)).toEqual([
    { mark: undefined, text: 'Sensor ' },
    { mark: 'bdi', text: 'Dach' },
    { mark: undefined, text: ' liefert keine Messwerte: ' },
    { mark: 'en', text: 'no answer at 0x76' },
  ]);
});
