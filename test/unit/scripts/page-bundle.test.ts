/** Pages as a release has them: a few files, each named in the head before it is asked for, and small. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { copyPages } from '../../../scripts/bundle.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-pages-'));
  await copyPages(folder);
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const sizeOf = async (...path: string[]): Promise<number> => gzipSync(await readFile(join(folder, ...path))).length;

it('are asked for in a few requests, all of which the head names', async () => {
  const html = await readFile(join(folder, 'status/index.html'), 'utf8');
  const named = [...html.matchAll(/(?:href|src)="\/page\/(.+?)"/g)].map(([, path = '']) => path);
  expect(new Set(named).size).toBeLessThan(12);
  for (const path of named) expect([path, await sizeOf(...path.split('/'))]).toEqual([path, expect.any(Number)]);
  expect(named.filter((path) => path.includes('texts-en'))).toHaveLength(1);
  const app = await readFile(join(folder, 'status/app.js'), 'utf8');
  const imported = [...app.matchAll(/(?:from|import)"\.\/(.+?)"/g)].map(([, name = '']) => `status/${name}`);
  expect(imported.filter((path) => !named.includes(path))).toEqual([]);
});

/** Parts that change the configuration, which are loaded on first use. */
const CHANGES = /^(change|configuration-fold)-/;

it('are at most 9 kB more for who changes the configuration, and none of it before', async () => {
  const files = (await readdir(join(folder, 'status'))).filter((name) => CHANGES.test(name) && !name.includes('-de-'));
  expect(files.length).toBeGreaterThan(2);
  const sizes = await Promise.all(files.map((name) => sizeOf('status', name)));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(9_000);
  const html = await readFile(join(folder, 'status/index.html'), 'utf8');
  expect(files.filter((name) => html.includes(name))).toEqual([]);
});

it('are at most 75 kB as they are sent, with the plot', async () => {
  const files = (await readdir(join(folder, 'status'))).filter((name) => !name.includes('-de-') && !CHANGES.test(name));
  const sizes = await Promise.all([
    ...files.map((name) => sizeOf('status', name)),
    ...['base.css', 'plot.css'].map((name) => sizeOf('shared', name)),
    ...['uPlot.iife.min.js', 'uPlot.min.css'].map((name) => sizeOf('uplot', name)),
  ]);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(75_000);
});
