import { describe, expect, it } from 'vitest';
import { boundedTree, MAX_CONFIGURATION_BYTES } from '../../../src/remote-config/bounded-tree.ts';

const read = (text: string): unknown => boundedTree(Buffer.from(text), 'the file');
const padded = (bytes: number): string => `a: 1\n#${'x'.repeat(bytes - 6)}`;

describe('a configuration as root reads it', () => {
  it('has its anchors, merge keys and templates expanded, and its variables as they are written', () => {
    const text = `base: &base { period: 10s }
a: { <<: *base, token: "\${TOKEN}" }
templates: { meter: { kind: host, period: 1m } }
sensors: [{ template: meter, count: 2, name: "m{n}" }]
`;
    expect(read(text)).toEqual({
      base: { period: '10s' },
      a: { period: '10s', token: `\${TOKEN}` },
      sensors: [
        { kind: 'host', period: '1m', name: 'm1' },
        { kind: 'host', period: '1m', name: 'm2' },
      ],
    });
  });

  it('has at most 1 MiB', () => {
    expect(read(padded(MAX_CONFIGURATION_BYTES))).toEqual({ a: 1 });
    expect(() => read(padded(MAX_CONFIGURATION_BYTES + 1))).toThrow(
      /the file cannot be read: it has more than 1048576/,
    );
  });

  it('has at most 100 aliases, and what only looks like one is none', () => {
    const aliases = (count: number): string => `a: &a 1\nb: [${'*a, '.repeat(count)}]\nc: |\n  *a\nd: "*a"\n`;
    expect(read(aliases(100))).toMatchObject({ c: '*a\n', d: '*a' });
    expect(() => read(aliases(101))).toThrow(/more than 100 aliases/);
  });

  it('is not expanded without end', () => {
    const levels = Array.from({ length: 9 }, (_, at) => `a${at + 1}: &a${at + 1} [${`*a${at}, `.repeat(9)}]\n`);
    expect(() => read(`a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9]\n${levels.join('')}`)).toThrow(/too many aliases/);
    expect(() => read(`sensors: [{ count: 1000, name: x, each: [] }]\n`)).toThrow(/cannot be read/);
  });

  it.each([
    ['deeper than 32 levels', `${'{ a: '.repeat(40)}1${' }'.repeat(40)}`, /nested too deeply/],
    ['a list', '[1]', /no mapping/],
    ['empty', '', /no mapping|empty/],
    ['no YAML', 'a: [', /line \d+/],
    ['two documents', 'a: 1\n---\nb: 2\n', /line \d+/],
    ['with one key twice', 'a: 1\na: 2\n', /unique/],
    ['with __proto__', '__proto__: { a: 1 }\n', /forbidden key/],
  ])('is refused when it is %s', (_what, text, words) => {
    expect(() => read(text)).toThrow(words);
  });

  it('is refused when its bytes are no text', () => {
    expect(() => boundedTree(Buffer.from([0xff, 0xfe, 0x41, 0]), 'the file')).toThrow(/no UTF-8/);
  });
});
