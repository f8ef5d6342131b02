import { describe, expect, it } from 'vitest';
import { difference, fileHash } from '../../../src/remote-config/file-hash.ts';
import { memberPathText, parseMemberPath } from '../../../src/remote-config/member-path.ts';
import { configurationTree, type Tree } from '../../../src/remote-config/tree-differences.ts';

const FILE = `version: 1
platform: { url: "https://user:pass@example.org", accessToken: fixture-token }
sensors:
  - { name: roof, kind: bme280, period: 20s }
  - { name: load, kind: command, program: /usr/bin/load, arguments: [--key, hidden-word], format: json }
rules: [{ name: a, set: { actuator: x } }, { name: b, set: { actuator: x } }]
status: { pin: "471199" }
`;

function treeOf(text: string): Tree {
  const { tree } = configurationTree(text);
  if (tree === undefined) throw new Error('no tree');
  return tree;
}

function told(from: string, to: string): readonly string[] {
  expect(FILE).toContain(from);
  return difference(treeOf(FILE), treeOf(FILE.replace(from, to)));
}

describe('the difference of two files', () => {
  it.each<readonly [string, string, readonly string[]]>([
    ['20s', '30s', ['sensors.roof.period: 20s → 30s']],
    ['20s', '20000ms', []],
    ['period: 20s', 'deadline: 1s', ['sensors.roof.period: removed, was 20s', 'sensors.roof.deadline: added, 1s']],
    ['name: roof', 'name: top', ['sensors.roof: removed', 'sensors.top: added']],
    ['{ name: a, set: { actuator: x } }, ', '', ['rules.a: removed']],
    ['name: a,', 'name: a, label: "A: one",', ['rules.a.label: added, A: one']],
    [
      '{ name: a, set: { actuator: x } }, { name: b',
      '{ name: b, set: { actuator: x } }, { name: a',
      ['rules: in another order'],
    ],
  ])('%s → %s', (from, to, lines) => {
    expect(told(from, to)).toEqual(lines);
  });

  it.each([
    ['fixture-token', 'another-token', 'platform.accessToken: changed'],
    ['471199', '471100', 'status.pin: changed'],
    ['hidden-word', 'other-word', 'sensors.load.arguments: changed'],
    ['accessToken: fixture-token', 'acessToken: fixture-token', 'platform.acessToken: added'],
    ['status: {', 'other: {', 'other.pin: added'],
  ])('shows no secret: %s → %s', (from, to, line) => {
    const lines = told(from, to);
    expect(lines).toContain(line);
    expect(lines.join('\n')).not.toMatch(/fixture|another|4711|-word|pass/);
  });

  it('shows no value that the configuration does not take: it may be a secret', () => {
    expect(told('pass@example.org', 'word@example.net')).toEqual(['platform.url: changed']);
  });

  it('has at most 20 lines', () => {
    const many = Array.from({ length: 30 }, (_, at) => `  - { name: s${at}, kind: host }`).join('\n');
    const lines = told('rules:', `${many}\nrules:`);
    expect(lines).toHaveLength(20);
    expect(lines.at(-1)).toBe('and 11 more');
  });
});

describe('the hash of a file', () => {
  it('is SHA-256 of its bytes', () => {
    expect(fileHash(Buffer.from('abc'))).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(fileHash(Buffer.from('a: 1\n'))).not.toBe(fileHash(Buffer.from('a:  1\n')));
  });
});

describe('a path', () => {
  it.each<readonly [string, readonly (string | number)[]]>([
    ['label', ['label']],
    ['sensors.roof.period', ['sensors', 'roof', 'period']],
    ['sensors.p1.keys["1-0:1.8.0"].scale', ['sensors', 'p1', 'keys', '1-0:1.8.0', 'scale']],
    ['rules.fan.points[1][0]', ['rules', 'fan', 'points', 1, 0]],
    ['sensors.roof.keys.*.round', ['sensors', 'roof', 'keys', '*', 'round']],
    ['firmware.handlers["heat meter"]', ['firmware', 'handlers', 'heat meter']],
    ['["a\\"b"].c', ['a"b', 'c']],
  ])('%s is read and written alike', (text, path) => {
    expect(parseMemberPath(text)).toEqual(path);
    expect(memberPathText(path)).toBe(text);
  });

  it.each([
    '',
    '.',
    'a.',
    '.a',
    'a..b',
    'a b',
    'a["b]',
    'a[b]',
    'a.__proto__',
    'a["__proto__"]',
    'a[-1]',
    `a${'.b'.repeat(40)}`,
    'a'.repeat(2_000),
  ])('%j is none', (text) => {
    expect(parseMemberPath(text)).toBeUndefined();
  });
});
