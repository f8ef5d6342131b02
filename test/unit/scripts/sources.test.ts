/** Sources of models and presets: each states its commit, and what has changed since is told from checkouts. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { compare, sourcesOf } from '../../../scripts/sources.ts';

let folder: string;
let checkout: string;

function git(...args: readonly string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_SYSTEM: '/dev/null' };
  const who = ['-c', 'user.name=somebody', '-c', 'user.email=somebody@example.org', '-c', 'init.defaultBranch=main'];
  return execFileSync('git', ['-C', checkout, ...who, ...args], { env, encoding: 'utf8' }).trim();
}

async function commit(path: string, text: string): Promise<string> {
  await mkdir(join(checkout, path, '..'), { recursive: true });
  await writeFile(join(checkout, path), text);
  git('add', '-A');
  git('commit', '-qm', 'a change');
  return git('rev-parse', 'HEAD').slice(0, 12);
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-sources-'));
  checkout = join(folder, 'makers/meters');
  await mkdir(checkout, { recursive: true });
  git('init', '-q');
});
afterEach(() => rm(folder, { recursive: true }));

it('every source in a repository has its commit and path', async () => {
  const sources = await sourcesOf();
  expect(sources.length).toBeGreaterThan(150);
  expect(sources.filter(({ commit, path }) => !/^[0-9a-f]{7,40}$/.test(commit) || path === '')).toEqual([]);
});

describe('a source', () => {
  const source = (at: string, path = 'meter/a.go') => ({
    of: 'model',
    repository: 'makers/meters',
    path,
    commit: at,
  });

  it('is the same while only other files change', async () => {
    const at = await commit('meter/a.go', 'one');
    await commit('meter/b.go', 'other');
    expect(await compare(source(at), folder)).toEqual({ state: 'same' });
  });

  it('has changed by so many commits, the newest of which is named; a folder is all of it', async () => {
    const at = await commit('meter/a.go', 'one');
    await commit('meter/a.go', 'two');
    const newest = await commit('meter/a.go', 'three');
    const changed = { state: 'changed', commits: 2, newest: expect.stringContaining(newest.slice(0, 7)) };
    expect(await compare(source(at), folder)).toEqual(changed);
    expect(await compare(source(at, 'meter/'), folder)).toEqual(changed);
  });

  it('is not found where the checkout has not the commit, or the commit not the file', async () => {
    const at = await commit('meter/a.go', 'one');
    expect(await compare(source('0123456789ab'), folder)).toMatchObject({
      state: 'not-found',
      reason: expect.stringContaining('no commit'),
    });
    expect(await compare(source(at, 'meter/c.go'), folder)).toMatchObject({
      state: 'not-found',
      reason: expect.stringContaining('not there'),
    });
  });

  it('has no verdict without a checkout', async () => {
    expect(await compare({ ...source('0123456789ab'), repository: 'makers/others' }, folder)).toEqual({
      state: 'no-checkout',
    });
  });
});
