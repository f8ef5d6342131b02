/** `.ci/run` over stages that end as the test wants: what it adds up, and what it does not let pass. */
import { spawnSync } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');

describe('.ci/run', () => {
  let checkout: string;

  const stage = async (name: string, script: string): Promise<void> => {
    const path = join(checkout, 'scripts', name);
    await writeFile(path, `#!/bin/sh\n${script}\n`);
    await chmod(path, 0o755);
  };
  const run = (lab?: string): { readonly status: number | null; readonly last: string } => {
    const { LAB: _ours, ...env } = process.env;
    const { status, stdout } = spawnSync(join(checkout, '.ci/run'), {
      encoding: 'utf8',
      env: { ...env, ...(lab === undefined ? {} : { LAB: lab }) },
    });
    return { status, last: stdout.trimEnd().split('\n').at(-1) ?? '' };
  };

  beforeEach(async () => {
    checkout = await mkdtemp(join(tmpdir(), 'turnstone-ci-'));
    await mkdir(join(checkout, '.ci'));
    await mkdir(join(checkout, 'scripts'));
    await copyFile(join(ROOT, '.ci/run'), join(checkout, '.ci/run'));
    await stage('test.sh', 'echo "100 passed, 0 failed, 2 skipped"');
    await stage('test-release.sh', 'echo "10 passed, 0 failed"');
    await stage('lab.sh', 'echo "1 passed, 0 failed, 0 skipped"');
  });
  afterEach(() => rm(checkout, { recursive: true }));

  it('adds up the tests, the release and the lab', () => {
    expect(run()).toEqual({ status: 0, last: '111 passed, 0 failed, 2 skipped' });
  });

  it('fails when the lab cannot run', async () => {
    await stage('lab.sh', 'echo "lab: this needs a Debian machine" >&2; exit 1');
    expect(run()).toEqual({ status: 1, last: '110 passed, 1 failed, 2 skipped' });
  });

  it('leaves the lab out only when it is told to', async () => {
    await stage('lab.sh', 'exit 1');
    expect(run('off')).toEqual({ status: 0, last: '110 passed, 0 failed, 2 skipped' });
    expect(run('yes').status).toBe(1);
  });

  it('fails with a stage whose count says nothing of it', async () => {
    await stage('test.sh', 'echo "100 passed, 0 failed, 2 skipped"; exit 3');
    expect(run()).toEqual({ status: 1, last: '111 passed, 1 failed, 2 skipped' });
  });
});
