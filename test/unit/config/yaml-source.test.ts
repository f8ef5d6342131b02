/** Bounds of a file, before anybody asks what it says. */
import { describe, expect, it } from 'vitest';
import { readYaml } from '../../../src/config/yaml/yaml-source.ts';

/** Line, column and words of each fault. */
const faultsOf = (source: string | Uint8Array): string[] =>
  readYaml(source).faults.map(
    ({ line, column, problem, expected, hint }) => `${line}:${column} ${problem}, expected ${expected}; ${hint}`,
  );

describe('the bytes of a configuration', () => {
  it('are UTF-8; the first that are not are shown, and which encoding the editor used', () => {
    expect(faultsOf(Buffer.from('version: 1\nunit: °C\nplace: Küche\n', 'latin1'))).toEqual([
      expect.stringMatching(/^2:7 bytes that are no UTF-8, .*Latin-1/),
    ]);
    expect(faultsOf(Buffer.from('unit: °C\nplace: ü\n', 'utf8'))).toEqual([]);
    expect(faultsOf(Buffer.from('\ufeffversion: 1\n', 'utf16le'))).toEqual([expect.stringMatching(/^1:1 .*UTF-16/)]);
  });

  it.each([0, 1, 2, 3])('are shown where they break, behind %i bytes of a character', (cut) => {
    const good = 'a: 😀ü\nb: 😀'.repeat(50);
    const bytes = Buffer.concat([Buffer.from(good), Buffer.from('😀').subarray(0, cut), Buffer.from([0xfc, 0x0a])]);
    const lines = good.split('\n');
    expect(faultsOf(bytes)[0]).toMatch(
      new RegExp(`^${lines.length}:${(lines.at(-1)?.length ?? 0) + 1} bytes that are no UTF-8`),
    );
  });

  it('may begin with a byte order mark', () => {
    const { tree, faults, locate } = readYaml(Buffer.from('\ufeffversion: 2\n'));
    expect({ tree, faults }).toEqual({ tree: { version: 2 }, faults: [] });
    expect(locate({ path: ['version'], expected: '1' })).toMatchObject({ line: 1, column: 10 });
  });

  it.each([
    ['\0', '0000'],
    ['\x1b', '001B'],
    ['\x7f', '007F'],
    ['\u0085', '0085'],
    ['\u202e', '202E'],
  ])('hold no character that cannot be seen: %j', (hidden, code) => {
    expect(faultsOf(`version: 1\nname: a${hidden}b\n`)).toEqual([
      expect.stringMatching(`^2:8 a character that cannot be seen, U\\+${code}`),
    ]);
  });
});

describe('a YAML file', () => {
  it.each([
    ['a: 1\n---\nb: 2\n', '2:1'],
    ['a: 1\n---\n', '2:1'],
    ['---\na: 1\n...\n---\n# nothing\n', '4:1'],
    [`a: 1\n${'---\nb: [\n'.repeat(1000)}`, '2:1'],
  ])('is one document: %j', (text, place) => {
    expect(faultsOf(text)).toEqual([`${place} a second document, expected one document; remove the --- line`]);
  });

  it('may begin with dashes and end with dots', () => {
    expect(readYaml('---\na: 1\n...\n')).toMatchObject({ tree: { a: 1 }, faults: [] });
  });

  it('has each key once, however it is written', () => {
    expect(faultsOf('1: a\n"1": b\n')).toEqual([expect.stringMatching('^2:1 Map keys must be unique')]);
    expect(faultsOf('a: { b: 1, c: 2, b: 3, c: 4 }\n')).toEqual([
      expect.stringMatching('^1:18'),
      expect.stringMatching('^1:24'),
    ]);
  });

  it('shares what has an anchor, and nothing that holds itself', () => {
    expect(readYaml('a: &x { y: [1] }\nb: *x\nc: { d: *x }\n').tree).toEqual({
      a: { y: [1] },
      b: { y: [1] },
      c: { d: { y: [1] } },
    });
    expect(faultsOf('a: &x { y: *x }\n')).toEqual([expect.stringMatching('^1:12 an alias without its anchor')]);
  });

  it('takes the anchor that was set last', () => {
    expect(readYaml('a: &x 1\nb: *x\nc: &x 2\nd: *x\n').tree).toEqual({ a: 1, b: 1, c: 2, d: 2 });
  });

  it('is not deeper through anchors than it may be without', () => {
    const nested = (depth: number): string => `${'['.repeat(depth)}1${']'.repeat(depth)}`;
    expect(faultsOf(`a: &x ${nested(20)}\nb: ${nested(0)}\n`)).toEqual([]);
    expect(faultsOf(`a: &x ${nested(20)}\nb: ${'['.repeat(20)}*x${']'.repeat(20)}\n`)).toEqual([
      expect.stringContaining('nested too deeply'),
    ]);
  });

  it('does not show the user and the password of an address', () => {
    const { locate } = readYaml('url: http://bob:pass@word@example.org/\n');
    expect(locate({ path: ['url'], expected: 'another' }).value).toBe('"http://[secret]@example.org/"');
  });
});
