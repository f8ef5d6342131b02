import { describe, expect, it } from 'vitest';
import { type ExpressionHistory, type ExpressionValue, loadExpressions } from '../../../src/values/expression.ts';

const compile = await loadExpressions();
const NO_HISTORY: ExpressionHistory = {
  rate: () => Number.NaN,
  difference: () => Number.NaN,
  integral: () => Number.NaN,
};

function calculated(source: string, keys: Readonly<Record<string, ExpressionValue>> = {}): ExpressionValue {
  const expression = compile(source);
  return expression.evaluate(
    expression.inputs.map((input) => keys[input] ?? 'missing'),
    NO_HISTORY,
  );
}

describe('an expression', () => {
  it.each([
    ['voltage * current', { voltage: 230, current: 2 }, 460],
    ['(a * 256 + b - 1000) / 10', { a: 4, b: 193 }, 21.7],
    ['1 / 2', {}, 0.5],
    ['-a % 3', { a: 7.5 }, -1.5],
    ['0x10 + 1e2', {}, 116],
    ['m1.power + m2.power', { 'm1.power': 1, 'm2.power': 2 }, 3],
    ['key("outdoor-temp") > 30 ? 1 : 0', { 'outdoor-temp': 31 }, 1],
    ['door && !window', { door: true, window: false }, true],
    ['mode in ["auto", "eco"] ? 2 : 1', { mode: 'eco' }, 2],
    ['mode.startsWith("a")', { mode: 'auto' }, true],
    ['"m " + string(a)', { a: 1.5 }, 'm 1.5'],
    ['count == 3', { count: 3 }, true],
    ['round(a)', { a: -2.5 }, -3],
    ['round(a)', { a: 2.5 }, 3],
    ['round(a)', { a: -0.4 }, 0],
    ['round(a, 1)', { a: -0.25 }, -0.3],
    ['min(max(a, 2), 5) + round(b, 1) + pow(2, 3)', { a: 9, b: 1.26 }, 14.3],
  ] as const)('%s of %j is %j', (source, keys, value) => {
    expect(calculated(source, keys)).toEqual(value);
  });

  // Psychrometric tables: air of 20 °C and 50 % condenses at 9.3 °C; saturated air condenses where it is.
  it('knows the dew point', () => {
    expect(calculated('dewPoint(t, h)', { t: 20, h: 50 })).toBeCloseTo(9.26, 2);
    expect(calculated('dewPoint(t, h)', { t: -5, h: 100 })).toBeCloseTo(-5, 9);
  });

  it('names each key once, and gives each call that remembers its own place', () => {
    const { inputs, places, integrals, evaluate } = compile('rate(a) + rate(a + rate(b)) + integral( a * key("b c") )');
    expect([inputs, places, integrals]).toEqual([
      ['a', 'b', 'b c'],
      [[0], [0, 1], [1], [0, 2]],
      new Map([[3, 'a*key("b c")']]),
    ]);
    const heard: [string, number, number][] = [];
    const history = Object.fromEntries(
      (['rate', 'difference', 'integral'] as const).map((name) => [
        name,
        (value: number, place: number) => {
          heard.push([name, value, place]);
          return 10;
        },
      ]),
    ) as unknown as ExpressionHistory;
    expect(evaluate([1, 2, 1], history)).toBe(30);
    expect(heard).toHaveLength(4);
    expect(new Set(heard.map(([, , place]) => place)).size).toBe(4);
    expect(heard).toContainEqual(['integral', 1, 3]);
  });

  it.each([
    ['a +', /Unexpected/],
    ['foo(a)', /no function foo; there are abs/],
    ['name.matches("(a+)+$")', /no \.matches\(\)/],
    ['[1, 2].all(x, x > 0)', /no \.all\(\)/],
    ['{"a": 1}', /only numbers|Exceeded/],
    ['key(a)', /one name in quotes/],
    [Array.from({ length: 300 }, () => 'a').join('+'), /Exceeded|exceeded|depth/i],
  ])('is refused in words: %s', (source, words) => {
    expect(() => compile(source)).toThrow(words);
  });

  it('says why it cannot be calculated', () => {
    expect(() => calculated('a + b', { a: 1, b: 'x' })).toThrow(/no such overload/);
    expect(() => calculated('a ? 1 : 2', { a: 1 })).toThrow(/must be bool/);
  });
});
