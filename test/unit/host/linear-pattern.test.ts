/** Patterns in linear time: the two that froze an agent end at once, and what cannot be linear is refused in words. */
import { expect, it } from 'vitest';
import { lineParser } from '../../../src/sensors/families/lines/line-format.ts';
import { loadLinearPatterns, patternProblem } from '../../../src/values/linear-pattern.ts';
import { mismatchOf } from '../../../src/values/value-shape.ts';

const compile = await loadLinearPatterns();

// With backtracking each more character doubles the time: these would not end while the machine lasts.
it('a line that nearly matches is refused like any other', () => {
  const format = {
    format: 'regex',
    pattern: '^(?<what>(\\w+\\s?)+): (?<value>\\d+)$',
    separator: ',',
    key: 'value',
  } as const;
  const parse = lineParser(format, compile);
  expect(parse('state of pump: 7')).toHaveLength(2);
  expect(() => parse(`${'word '.repeat(2_000)}!`)).toThrow(/without a value/);
});

it('params that nearly match are refused like any other', () => {
  const matches = (pattern: string, text: string): boolean => compile(pattern).test(text);
  const shape = { type: 'string', pattern: '^(a+)+$', maxLength: 65_536 } as const;
  expect(mismatchOf(shape, 'a'.repeat(20_000), 'params', matches)).toBeUndefined();
  expect(mismatchOf(shape, `${'a'.repeat(20_000)}!`, 'params', matches)).toMatch(/expected to match/);
});

it('gives named groups, those without a part undefined', () => {
  const pattern = compile('^T=(?<t>[-\\d.]+)(?: H=(?<h>\\d+))?');
  expect(pattern.groups('T=-3.5 C')).toEqual({ t: '-3.5', h: undefined });
  expect(pattern.groups('T=1 H=40')).toEqual({ t: '1', h: '40' });
  expect(pattern.groups('H=40')).toBeUndefined();
  expect(compile('\\(?<(?<füllstand>\\d+)>').groups('<7>')).toEqual({ füllstand: '7' });
});

it.each([
  ['\\u00b0C', '°C', true],
  ['^\\/dev\\/tty\\w+$', '/dev/ttyUSB0', true],
  ['(?i)on|off', 'OFF', true],
  ['^[\\w.-]+$', 'a b', false],
  ['\\bstop\\b', 'do stop now', true],
  ['^\\p{L}+$', 'Küche', true],
])('%s over %s is as in JavaScript', (source, text, matches) => {
  expect(compile(source).test(text)).toBe(matches);
});

it.each([
  ['(?=a)b', /without \(\?=/],
  ['(?<!x)y', /without \(\?=/],
  ['(a)\\1', /write out/],
  ['(?<n>a)\\k<n>', /write out/],
  ['[a', /RE2.*missing closing/],
  ['(x{1,1000}){1,1000}', /RE2/],
])('%s is refused with what to write instead', (source, words) => {
  expect(patternProblem(compile, source)).toMatch(words);
});
