import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type ConfigFault, faultLine } from '../../../src/config/fields/config-fault.ts';
import { readConfig } from '../../../src/config/read-config.ts';
import { messageOf } from '../../../src/errors/agent-error.ts';
import { configOf, SMALLEST } from '../../support/config-file.ts';

/**
 * Each fixture says itself what is wrong with it: below a line, `#   ^ path | words | words` points at the column of a fault of that line (`#<` at
 * the first column), names its path, and words that the message must hold. Faults without a mark, and marks without a fault, fail.
 */
const FOLDER = resolve(import.meta.dirname, '../../fixtures/config');
/** These cannot carry marks; their faults are below. */
const UNMARKED = ['anchors.yaml', 'missing-section.yaml'];

interface Mark {
  readonly line: number;
  readonly column: number;
  readonly path: string;
  readonly words: readonly string[];
}

function marksIn(text: string): Mark[] {
  let line = 0;
  return text.split('\n').flatMap((written, index) => {
    const match = /^#(?:(<)|( *)\^) (.*)$/.exec(written);
    if (match === null) {
      line = index + 1;
      return [];
    }
    const [path = '', ...words] = (match[3] ?? '').split('|').map((part) => part.trim());
    return [{ line, column: match[1] === '<' ? 1 : (match[2]?.length ?? 0) + 2, path, words }];
  });
}

const read = (name: string) => readConfig(join(FOLDER, name), { environment: {} });
const places = (faults: readonly { readonly line: number; readonly column: number; readonly path: string }[]) =>
  faults.map(({ line, column, path }) => `${line}:${column} ${path}`).sort();

const fixtures = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml'));

describe.each(fixtures.filter((name) => !UNMARKED.includes(name)))('the wrong configuration %s', (name) => {
  const marks = marksIn(readFileSync(join(FOLDER, name), 'utf8'));

  it('gets every fault at once, each with its line and column', async () => {
    const { config, faults } = await read(name);
    expect(config).toBeUndefined();
    expect(marks.length).toBeGreaterThan(0);
    expect(places(faults)).toEqual(places(marks));
  });

  it('is told in words: what it is, what was expected, and what was meant', async () => {
    const { faults } = await read(name);
    for (const { line, column, path, words } of marks) {
      const lines = faults
        .filter((fault) => fault.line === line && fault.column === column && fault.path === path)
        .map((fault) => faultLine(name, fault));
      for (const word of words) expect(lines.join('\n')).toContain(word);
    }
  });

  it('never shows a stack trace or a secret', async () => {
    const { faults } = await read(name);
    const text = faults.map((fault: ConfigFault) => faultLine(name, fault)).join('\n');
    expect(text).not.toMatch(/\n\s+at |fixture-token|fixture-secret|123456789012/);
  });
});

describe('a wrong configuration', () => {
  it('comes in at least twelve classes', () => {
    expect(fixtures.length).toBeGreaterThanOrEqual(12);
  });

  it('may not grow by anchors', async () => {
    const { faults } = await read('anchors.yaml');
    expect(faults).toEqual([
      expect.objectContaining({ line: 1, column: 1, problem: expect.stringContaining('alias') }),
    ]);
  });

  it.each([
    ['.inf', undefined],
    ['-5', undefined],
    ['1e21', undefined],
    ['5', 'did you mean "5s"?'],
    ['0.5', 'did you mean "0.5s"?'],
  ])('is not told of a unit for a number that takes none: %s', async (period, hint) => {
    const told = await configOf(`${SMALLEST}sensors: [{ name: a, kind: host, period: ${period} }]\n`).catch(messageOf);
    expect(told).toContain('a duration');
    expect(/did you mean [^?]*\?/.exec(String(told))?.[0]).toBe(hint);
  });

  it('is told of a section that is not there', async () => {
    const { faults } = await read('missing-section.yaml');
    expect(places(faults)).toEqual(['2:1 platform', '2:10 version']);
  });
});
