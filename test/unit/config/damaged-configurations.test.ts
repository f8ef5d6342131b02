/** The example, damaged at random: whatever a hand, an editor or a card does to it, check-config answers with places and words. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../../src/config/read-config.ts';

const EXAMPLE = resolve(import.meta.dirname, '../../../config/turnstone.example.yaml');
/** Each takes a few milliseconds: the whole example is parsed every time. */
const RUNS = process.env.CAMPAIGN === 'full' ? 5_000 : 60;

let folder: string;
let example: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-damaged-'));
  // Without comments: damage should meet what is read.
  example = (await readFile(EXAMPLE, 'utf8')).replace(/(^|\s)#.*$/gm, '').replace(/\n{2,}/g, '\n');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function check(text: string | Uint8Array) {
  const file = join(folder, 'turnstone.yaml');
  await writeFile(file, text);
  return readConfig(file, { environment: {} });
}

async function expectAnswer(text: string): Promise<void> {
  const { config, faults } = await check(text);
  expect(config === undefined).toBe(faults.length > 0);
  const lines = text.split('\n').length;
  for (const { line, column, problem, expected } of faults) {
    expect(Number.isInteger(line) && line >= 1 && line <= lines).toBe(true);
    expect(Number.isInteger(column) && column >= 1).toBe(true);
    expect(
      problem !== '' && expected !== '' && !/undefined|\[object|NaN|\bat .*:\d+:\d+/.test(`${problem} ${expected}`),
    ).toBe(true);
  }
}

const position = fc.double({ min: 0, max: 0.999, noNaN: true });
const hostile = fc.constantFrom(
  '\t',
  ':',
  '- ',
  '{',
  '}',
  '[',
  ']',
  '&a ',
  '*a',
  '!x ',
  '"',
  "'",
  '|',
  '>',
  '%',
  '@',
  '\0',
  'null',
  '~',
  '1e999',
  '-.inf',
  '0x',
  '<<: ',
  '? ',
  '__proto__: 1\n',
  '\u2028',
  '😀',
);

describe('a damaged configuration', () => {
  it('with something put into it gets an answer with places and words', async () => {
    await fc.assert(
      fc.asyncProperty(position, hostile, async (where, piece) => {
        const at = Math.floor(where * example.length);
        await expectAnswer(example.slice(0, at) + piece + example.slice(at));
      }),
      { numRuns: RUNS },
    );
  }, 300_000);

  it('with something cut out of it does, too', async () => {
    await fc.assert(
      fc.asyncProperty(position, fc.integer({ min: 1, max: 60 }), async (where, length) => {
        const at = Math.floor(where * example.length);
        await expectAnswer(example.slice(0, at) + example.slice(at + length));
      }),
      { numRuns: RUNS },
    );
  }, 300_000);

  it('with values of any kind in place of others does, too', async () => {
    const values = [...example.matchAll(/: (?=[^\s{[|>&])[^,}\n]+/g)].map(({ index, 0: match }) => ({
      from: index + 2,
      to: index + match.length,
    }));
    await fc.assert(
      fc.asyncProperty(position, fc.json({ maxDepth: 2 }), async (where, json) => {
        const { from, to } = values[Math.floor(where * values.length)] ?? { from: 0, to: 0 };
        await expectAnswer(example.slice(0, from) + json + example.slice(to));
      }),
      { numRuns: RUNS },
    );
  }, 300_000);

  it('made of bytes at random does, too', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), async (bytes) => {
        const { faults } = await check(bytes);
        expect(faults.length).toBeGreaterThan(0);
      }),
      { numRuns: RUNS },
    );
  }, 300_000);

  it.each([
    ['brackets without end', '['.repeat(200_000)],
    ['mappings without end', '{a: '.repeat(100_000)],
    ['dashes without end', '- '.repeat(100_000)],
    ['a file of two megabytes', `a: ${'x'.repeat(2 * 1024 * 1024)}`],
    ['an anchor that holds itself', 'version: 1\nplatform: &a { url: *a }\n'],
    ['an anchor in a list that holds itself', 'version: 1\nsensors: &a [*a, *a]\n'],
  ])('of %s is refused before the test gives up', async (_what, text) => {
    const result = await check(text).catch((error: unknown) => error);
    expect(result).toSatisfy(
      (one: { faults?: readonly unknown[]; code?: string }) =>
        one.code === 'config/unreadable' || (one.faults?.length ?? 0) > 0,
    );
  });
});
