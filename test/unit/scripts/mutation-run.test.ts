import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mutate } from '../../../scripts/mutate.ts';
import { reportLines } from '../../../scripts/mutation/mutation-report.ts';
import { TestHost } from '../../../scripts/mutation/test-host.ts';

const PROJECT = resolve(import.meta.dirname, '../../..');

/** `most` is tested on one side only, nobody calls `unused`, and `program.ts` runs as a process. */
const FILES = {
  'src/room/limits.ts': `
export const FIRST = 1;
export function most(value: number, limit: number): number {
  if (value > limit) return limit;
  return value;
}
export function isKnown(name: string): boolean {
  return name === 'a';
}
export function unused(value: number): boolean {
  return value !== 3;
}
`,
  'src/room/program.ts': 'if (process.argv.length > 2) process.exitCode = 4;\n',
  'src/room/unloadable.ts': "export const line = '-'.repeat(-Number(false));\n",
  'test/unit/room/limits.test.ts': `
import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { FIRST, isKnown, most } from '../../../src/room/limits.ts';
import '../../../src/room/unloadable.ts';

it('limits', () => {
  expect(most(5, 3)).toBe(3);
  expect(most(3, 3)).toBe(3);
});
it('knows', () => {
  expect(isKnown('a')).toBe(true);
  expect(FIRST).toBeGreaterThan(0);
});
it('ends with a code', () => {
  expect(spawnSync(process.execPath, ['src/room/program.ts', 'word']).status).toBe(4);
});
`,
  'test/unit/room/red.test.ts':
    "import { expect, it } from 'vitest';\nimport { unused } from '../../../src/room/limits.ts';\nit('fails', () => expect(unused(3)).toBe(true));\n",
  'vitest.config.ts': "export default { test: { pool: 'forks' } };\n",
};

let root: string;
beforeAll(async () => {
  await mkdir(join(PROJECT, 'build'), { recursive: true });
  // Inside the project, so that vitest is found.
  root = await mkdtemp(join(PROJECT, 'build/mutation-fixture-'));
  for (const [path, text] of Object.entries(FILES)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
});
afterAll(() => rm(root, { recursive: true, force: true }));

describe('turning rules off', () => {
  it('says of every mutant whether a test notices it, and leaves the sources as they are', async () => {
    const files = ['src/room/limits.ts', 'src/room/program.ts', 'src/room/unloadable.ts'];
    const rooms = [{ name: 'room', files, tests: '/room/' }];
    const result = await mutate({ root, rooms, only: undefined, sample: 100, seed: 1, workers: 1, onTrial: () => {} });
    expect(
      result.survivors.map(({ at, outcome, operator, change }) => `${at} ${outcome} ${operator} ${change}`),
    ).toEqual([
      'src/room/limits.ts:2 survived constant 1 → 2',
      'src/room/limits.ts:4 survived comparison value > limit → (value >= limit)',
      'src/room/limits.ts:4 survived condition value > limit → true',
      'src/room/limits.ts:11 not-covered return value !== 3 → (value === 3)',
      'src/room/limits.ts:11 not-covered constant 3 → 4',
      'src/room/program.ts:1 survived comparison process.argv.length > 2 → (process.argv.length >= 2)',
      'src/room/program.ts:1 survived condition process.argv.length > 2 → true',
    ]);
    expect(result).toMatchObject({
      seed: 1,
      mutants: 16,
      killed: 9,
      score: 0.562,
      unloadable: 1,
      unfit: [expect.stringMatching(/^test\/unit\/room\/red\.test\.ts: .+: .*expected/)],
    });
    expect(result.controls).toEqual({ made: 1, failed: [] });
    expect(reportLines(result)).toContain('src/room/limits.ts:2  survived  constant  1 → 2');
    for (const [path, text] of Object.entries(FILES)) expect(await readFile(join(root, path), 'utf8')).toBe(text);
  });

  it('says so when a test that killed a mutant, here one beside its source, fails without it too', async () => {
    const once = join(root, 'build/asked-once');
    const files = {
      'src/moody/moody.ts': 'export const isGlad = (): boolean => {\n  return true;\n};\n',
      'src/moody/moody.test.ts': `
import { existsSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { isGlad } from './moody.ts';
it('is glad once', () => {
  const wasAsked = existsSync('${once}');
  writeFileSync('${once}', '');
  expect([typeof isGlad(), wasAsked]).toEqual(['boolean', false]);
});
`,
    };
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    }
    const rooms = [{ name: 'moody', files: ['src/moody/moody.ts'], tests: '/moody/' }];
    const result = await mutate({ root, rooms, only: undefined, sample: 1, seed: 1, workers: 1, onTrial: () => {} });
    expect(result).toMatchObject({
      mutants: 1,
      killed: 1,
      controls: { made: 1, failed: [expect.stringContaining('is glad once')] },
    });
    expect(reportLines(result).join('\n')).toContain(
      'failed once more without the mutant that it had killed: src/moody',
    );
    for (const path of Object.keys(files)) await rm(join(root, path));
  });

  it('kills what never ends, and goes on', async () => {
    const host = new TestHost(root);
    const path = join(root, 'src/room/limits.ts');
    const order = { tests: [join(root, 'test/unit/room/limits.test.ts')], testTimeoutMs: 60_000, stopAtFailure: true };
    try {
      const endless = await host.carryOut({ ...order, changed: { [path]: 'for (;;);' } }, 3_000);
      expect(endless.outcome).toBe('timed-out');
      expect(await host.carryOut({ ...order, changed: {} }, 60_000)).toMatchObject({ outcome: 'passed' });
    } finally {
      await host.close();
    }
  });

  it('counts a test that ends only by its time limit as late, not as failed', async () => {
    const host = new TestHost(root);
    const path = join(root, 'src/room/limits.ts');
    const test = join(root, 'test/unit/room/late.test.ts');
    const text =
      "import { it } from 'vitest';\nimport { wait } from '../../../src/room/limits.ts';\nit('waits', () => wait());\n";
    await writeFile(test, text);
    const order = { tests: [test], testTimeoutMs: 100, stopAtFailure: true };
    const waiting = 'export const wait = () => new Promise(() => {});';
    const failing = "export const wait = () => Promise.reject(new Error('no'));";
    try {
      expect(await host.carryOut({ ...order, changed: { [path]: waiting } }, 60_000)).toMatchObject({
        outcome: 'timed-out',
      });
      expect(await host.carryOut({ ...order, changed: { [path]: failing } }, 60_000)).toMatchObject({
        outcome: 'failed',
      });
      expect(await host.carryOut({ ...order, changed: { [path]: 'throw new Error("no");' } }, 60_000)).toMatchObject({
        outcome: 'unloadable',
      });
    } finally {
      await host.close();
      await rm(test);
    }
  });
});
