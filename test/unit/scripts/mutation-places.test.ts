import { readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withMarks, withMutant } from '../../../scripts/mutation/changed-text.ts';
import { placesIn } from '../../../scripts/mutation/places.ts';
import { sharesOf, shuffled } from '../../../scripts/mutation/rooms.ts';

/** Returns the mutants of a line of code, by operator. */
function changesOf(text: string): string[] {
  return placesIn(text).flatMap(({ changes }) =>
    changes.map((change) => `${change.operator}: ${withMutant(text, change)}`),
  );
}

describe('the operators', () => {
  it('negate a condition, and force it both ways', () => {
    expect(changesOf('if (a(b)) c();')).toEqual([
      'condition: if (!(a(b))) c();',
      'condition: if (true) c();',
      'condition: if (false) c();',
    ]);
    expect(changesOf('d = a === b ? c : e')).toEqual([
      'condition: d = (a !== b) ? c : e',
      'condition: d = true ? c : e',
      'condition: d = false ? c : e',
    ]);
  });

  it('never make a loop endless', () => {
    expect(changesOf('while (!a && b > 1) c();')).toEqual([
      'condition: while (false) c();',
      'comparison: while (!a && (b >= 1)) c();',
      'constant: while (!a && b > 2) c();',
    ]);
    expect(changesOf('for (;;) { await a(); }')).toEqual([]);
    expect(changesOf('while (a) { await b(); await c(); }')).toContain('await: while (a) { ; await c(); }');
  });

  it('leave out one side of a condition', () => {
    expect(changesOf('d = a && (b || c)')).toEqual([
      'logical: d = (a)',
      'logical: d = (a || (b || c))',
      'logical: d = (b || c)',
      'logical: d = a && ((b))',
      'logical: d = a && ((b && c))',
      'logical: d = a && ((c))',
    ]);
  });

  it('turn comparisons round, and shift them where it is not about times', () => {
    expect(changesOf('c = a < b')).toEqual(['comparison: c = (a >= b)', 'comparison: c = (a <= b)']);
    expect(changesOf('c = nowMs - sinceMs >= b')).toEqual(['comparison: c = (nowMs - sinceMs < b)']);
    expect(changesOf('c = a === b')).toEqual(['comparison: c = (a !== b)']);
  });

  it('return something else', () => {
    const returned = (words: string) =>
      changesOf(`function f() { ${words} }`).map((one) => one.slice(one.indexOf('{') + 2, -2));
    expect(returned('return true;')).toEqual(['return false;']);
    expect(returned('return a !== b;')).toEqual(['return (a === b);']);
    expect(returned('return !a;')).toEqual(['return !(!a);']);
    expect(returned('return a(b);')).toEqual(['return undefined;']);
    expect(returned('return undefined;')).toEqual([]);
    expect(returned('return;')).toEqual([]);
  });

  it('leave out an awaited call that stands alone, but no pause', () => {
    expect(changesOf('async () => { await a.b(c); }')).toEqual(['await: async () => { ; }']);
    expect(changesOf('async () => { await clock.sleep(c, d); }')).toEqual([]);
    expect(changesOf('async () => { const e = await a(); }')).toEqual([]);
  });

  it('change numbers and truths', () => {
    const values = (text: string) => changesOf(`a = ${text}`).map((one) => one.slice(one.indexOf('=') + 2));
    expect([
      ...values('1'),
      ...values('60_000'),
      ...values('0x1f'),
      ...values('0.5'),
      ...values('10n'),
      ...values('11n'),
    ]).toEqual(['2', '(60_000 * 2)', '(0x1f + 1)', '(0.5 * 2)', '11n', '(11n * 2n)']);
    expect(values('{ b: true }')).toEqual(['{ b: false }']);
  });

  it.each([
    ['types', 'type A = 1 | true; let a: 5; f<3>(b as 4);'],
    ['texts', `a = \`\${b ? 1 : 2}\`; c = 'd';`],
    ['names', 'a = { 1: b }; import { c } from "d";'],
    ['log calls', 'this.#log.warn({ a: b === c }, d); deps.log?.info(1);'],
    ['what decides only about a log line', 'if (a > 1 && b) log.warn({}, c); else { log.info({}, d); }'],
    ["errors' words", 'throw new AgentError(a, b ? c : d, { e: 1 });'],
  ])('leave %s alone', (_what, text) => {
    expect(changesOf(text)).toEqual([]);
  });

  it('drop an optional field, and do not set it to undefined', () => {
    expect(changesOf('a = { ...(b === undefined ? {} : { b }) }')).toEqual([
      'condition: a = { ...(true ? {} : { b }) }',
    ]);
    expect(changesOf('a = { ...(b ? { b } : {}) }')).toEqual(['condition: a = { ...(false ? { b } : {}) }']);
  });

  it('know the line', () => {
    expect(placesIn('a();\n// ä\nif (b) c();')).toMatchObject([{ line: 3 }]);
  });
});

describe('the marks', () => {
  it('tell of every place that is reached, and change nothing else', () => {
    const text = 'const f = (a: number) => (a > 1 && a < 5 ? a * 2 : 3);\nresults.push(f(0), f(2), f(7));\n';
    const marked = withMarks(text, 10);
    const reached = new Uint8Array(30);
    Object.assign(globalThis, { turnstoneReachedPlaces: reached });
    const results: number[] = [];
    Function('results', stripTypeScriptTypes(marked))(results);
    Object.assign(globalThis, { turnstoneReachedPlaces: undefined });
    expect(results).toEqual([3, 4, 3]);
    expect([...reached.keys()].filter((place) => reached[place] === 1)).toEqual(
      placesIn(text).map((_, index) => 10 + index),
    );
    expect(marked.split('\n')[1]).toMatch(/^results/);
  });
});

describe('what is loaded into every process that is watched', () => {
  it('is next to nothing, so that the tests there are as they are without it', async () => {
    const folder = resolve(import.meta.dirname, '../../../scripts/mutation');
    for (const name of ['in-each-process.ts', 'order.ts']) {
      const imported = [...(await readFile(join(folder, name), 'utf8')).matchAll(/ from '([^']+)'/g)].map(
        ([, from]) => from ?? '',
      );
      expect(imported.filter((from) => !from.startsWith('node:') && from !== './order.ts')).toEqual([]);
    }
  });
});

describe('the sample', () => {
  const counts = new Map([
    ['large', 3_000],
    ['middle', 600],
    ['small', 90],
    ['tiny', 7],
  ]);

  it('takes from every room what was asked for, or all it has, and the rest in proportion', () => {
    const shares = sharesOf(counts, 400, 40);
    expect([...shares]).toEqual([
      ['large', 294],
      ['middle', 59],
      ['small', 40],
      ['tiny', 7],
    ]);
  });

  it('never takes more than there is', () => {
    expect([...sharesOf(counts, 9_999, 40).values()]).toEqual([3_000, 600, 90, 7]);
  });

  it('is the same for the same seed, and another for another', () => {
    const items = Array.from({ length: 50 }, (_, n) => n);
    expect(shuffled(items, 7)).toEqual(shuffled(items, 7));
    expect(shuffled(items, 7)).not.toEqual(shuffled(items, 8));
    expect(shuffled(items, 7).toSorted((a, b) => a - b)).toEqual(items);
  });
});
