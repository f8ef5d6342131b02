/** The loops of scripts/test.sh, by what the script asks of vitest and what vitest makes of that: no test file is in none of them, or in two projects. */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, '../../..');
/** Runs nothing, and keeps the words. */
const DEV = '#!/usr/bin/env bash\necho "$*" >>words\n';
const REPORTERS = 'vitest run --reporter=default --reporter=json --outputFile.json=build/tests.json';

describe('the loops of scripts/test.sh', () => {
  let checkout: string;

  beforeEach(async () => {
    checkout = await mkdtemp(join(tmpdir(), 'turnstone-loops-'));
    await mkdir(join(checkout, 'scripts'));
    await copyFile(join(ROOT, 'scripts/test.sh'), join(checkout, 'scripts/test.sh'));
    for (const name of ['dev.sh', 'ensure-test-tools.sh'])
      await writeFile(join(checkout, 'scripts', name), DEV, { mode: 0o755 });
  });
  afterEach(() => rm(checkout, { recursive: true }));

  /** The programs that it runs, in their order, and what it gives vitest. */
  async function loop(
    ...words: string[]
  ): Promise<{ readonly checks: readonly string[]; readonly given: readonly string[] }> {
    const env = { ...process.env, COVERAGE: undefined }; // a run with coverage sets it for its tests, too
    await run('bash', ['scripts/test.sh', ...words], { cwd: checkout, env }).catch(() => undefined); // without a report of vitest it fails
    const lines = (await readFile(join(checkout, 'words'), 'utf8')).trim().split('\n');
    const tests = lines.find((line) => line.startsWith(REPORTERS)) ?? '';
    const checks = lines
      .map((line) => /^(tsc|biome|knip|npm run --silent build)\b/.exec(line)?.[0])
      .filter((check) => check !== undefined);
    return { checks: checks.sort(), given: tests.slice(REPORTERS.length).split(' ').filter(Boolean) };
  }

  it('leave no test file out: what is not in the quick one is in the rest, and all is both', async () => {
    const quick = await loop();
    const listed = await list(quick.given);
    expect(quick.checks).toEqual(['biome', 'tsc']);
    await rm(join(checkout, 'words'));
    const all = await loop('--all');
    expect(all).toEqual({ checks: ['biome', 'knip', 'npm run --silent build', 'tsc'], given: [] });

    const everything = await list([]);
    const rest = await list(['--project', 'rest']);
    expect([...listed, ...rest].sort()).toEqual(everything);
    expect(everything).toEqual(await onDisk());
    for (const part of [listed, rest]) expect(part.length).toBeGreaterThan(30);
    expect(listed.filter((file) => /^(src|test\/contract)\//.test(file))).toEqual(
      everything.filter((file) => /^(src|test\/contract)\//.test(file)),
    );
  });

  it('run what a word matches among all', async () => {
    expect(await loop('test/integration/demo', 'costs')).toEqual({
      checks: [],
      given: ['test/integration/demo', 'costs'],
    });
    expect(await list(['test/integration/demo.test.ts'])).toEqual(['test/integration/demo.test.ts']);
  });
});

/** A file that is in two projects stands here twice. */
async function list(words: readonly string[]): Promise<readonly string[]> {
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const { stdout } = await run(process.execPath, [vitest, 'list', ...words, '--filesOnly', '--json'], {
    cwd: ROOT,
    maxBuffer: 2 ** 24,
  });
  return (JSON.parse(stdout) as { readonly file: string }[]).map(({ file }) => relative(ROOT, file)).sort();
}

/** Without those of the lab and of releases, which have their own scripts. */
async function onDisk(): Promise<readonly string[]> {
  const found = await Promise.all(
    ['src', 'test'].map(async (folder) =>
      (await readdir(join(ROOT, folder), { recursive: true })).map((path) => join(folder, path)),
    ),
  );
  return found
    .flat()
    .filter((path) => path.endsWith('.test.ts') && !/^test\/(lab|release)\//.test(path))
    .sort();
}
