/** `.ci/run` over stages that end as the test wants: what it adds up, and what it does not let pass. */
import { spawnSync } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

/** As the site of the papers is built. */
const BUILDS = 'case $1 in npm) exit;; esac';
/** As the simulator ends where every world is well. */
const SIMULATES = 'case $2 in *simulate.ts) echo "$3"; echo "4 passed, 0 failed"; exit;; esac';

describe('.ci/run', () => {
  let checkout: string;

  const stage = async (name: string, script: string): Promise<void> => {
    const path = join(checkout, 'scripts', name);
    await writeFile(path, `#!/bin/sh\n${script}\n`);
    await chmod(path, 0o755);
  };
  const run = (lab?: string): { readonly status: number | null; readonly last: string; readonly output: string } => {
    const { LAB: _ours, ...env } = process.env;
    const { status, stdout } = spawnSync(join(checkout, '.ci/run'), {
      encoding: 'utf8',
      env: { ...env, ...(lab === undefined ? {} : { LAB: lab }) },
    });
    return { status, last: stdout.trimEnd().split('\n').at(-1) ?? '', output: stdout };
  };

  beforeEach(async () => {
    checkout = await mkdtemp(join(tmpdir(), 'turnstone-ci-'));
    await mkdir(join(checkout, '.ci'));
    await mkdir(join(checkout, 'scripts'));
    await mkdir(join(checkout, 'src'));
    await writeFile(join(checkout, 'src', 'agent.ts'), '// first');
    await copyFile(join(ROOT, '.ci/run'), join(checkout, '.ci/run'));
    await stage('test.sh', '[ "$*" = --all ] && echo "100 passed, 0 failed, 2 skipped"');
    await stage('test-release.sh', 'echo "10 passed, 0 failed"');
    await mkdir(join(checkout, 'test/package'), { recursive: true });
    await stage('../test/package/package.sh', 'echo "3 passed, 0 failed, 4 skipped"');
    await stage('lab.sh', 'echo "1 passed, 0 failed, 0 skipped"');
    await stage('dev.sh', `${BUILDS}; ${SIMULATES}; echo "$*" >mutate-words`);
  });
  afterEach(() => rm(checkout, { recursive: true }));

  it('adds up the tests, the release, a sample of mutants, and the lab', async () => {
    expect(run()).toMatchObject({ status: 0, last: '120 passed, 0 failed, 6 skipped' });
    const sampled = 'node scripts/mutate.ts --workers 1 --sample 45 --at-least 0.73 --seed ';
    const words = await readFile(join(checkout, 'mutate-words'), 'utf8');
    expect(words.startsWith(sampled)).toBe(true);
    expect(words.slice(sampled.length)).toMatch(/^\d+\n$/);
    // The same source, the same sample; another, another.
    run();
    expect(await readFile(join(checkout, 'mutate-words'), 'utf8')).toBe(words);
    await writeFile(join(checkout, 'src', 'agent.ts'), '// changed');
    run();
    expect(await readFile(join(checkout, 'mutate-words'), 'utf8')).not.toBe(words);
  });

  it('fails when too many mutants live, whatever is printed', async () => {
    await stage('dev.sh', `${BUILDS}; ${SIMULATES}; echo "60 passed, 0 failed"; exit 1`);
    expect(run()).toMatchObject({ status: 1, last: '119 passed, 1 failed, 6 skipped' });
  });

  it('fails when a simulated world does', async () => {
    await stage('dev.sh', `${BUILDS}; case $2 in *simulate.ts) echo "3 passed, 1 failed"; exit 1;; esac`);
    expect(run()).toMatchObject({ status: 1, last: '119 passed, 1 failed, 6 skipped' });
  });

  it('fails when the site of the papers is not built', async () => {
    await stage('dev.sh', `case $1 in npm) exit 1;; esac; ${SIMULATES}`);
    expect(run()).toMatchObject({ status: 1, last: '119 passed, 1 failed, 6 skipped' });
  });

  it('fails when the lab cannot run', async () => {
    await stage('lab.sh', 'echo "lab: this needs a Debian machine" >&2; exit 1');
    expect(run()).toMatchObject({ status: 1, last: '119 passed, 1 failed, 6 skipped' });
  });

  it('leaves the lab out only when it is told to', async () => {
    await stage('lab.sh', 'exit 1');
    expect(run('off')).toMatchObject({ status: 0, last: '119 passed, 0 failed, 6 skipped' });
    expect(run('yes').status).toBe(1);
  });

  it('says at its end what failed', async () => {
    await stage(
      'test.sh',
      'printf "%b FAIL %b test/a.test.ts > goes off\\nAssertionError: on\\n" "\\033[41m" "\\033[0m"; echo "99 passed, 1 failed"; exit 1',
    );
    await stage('lab.sh', 'for i in $(seq 1000); do echo "a line of the lab"; done; echo "1 passed, 0 failed"');
    const end = run().output.trimEnd().split('\n').slice(-5);
    expect(end).toEqual([
      'What failed:',
      ' FAIL  test/a.test.ts > goes off',
      'AssertionError: on',
      '99 passed, 1 failed',
      '119 passed, 1 failed, 4 skipped',
    ]);
  });

  it('fails with a stage whose count says nothing of it', async () => {
    await stage('test.sh', 'echo "100 passed, 0 failed, 2 skipped"; exit 3');
    expect(run()).toMatchObject({ status: 1, last: '120 passed, 1 failed, 6 skipped' });
  });
});
