/** The table of rows names tests that exist, and every row has one or says that it has none. */
import { access, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');

it('each row is in the table, with a test that is there', async () => {
  const text = await readFile(join(import.meta.dirname, 'README.md'), 'utf8');
  const lines = [...text.matchAll(/^\| ([\d, ]+) \|.*\| (.*) \|$/gm)].map(([, rows = '', test = '']) => ({
    rows: rows.split(', ').map(Number),
    test,
  }));
  for (const { test } of lines) {
    const [, file] = /^`(.*)`$/.exec(test) ?? [];
    if (file !== undefined) await access(join(ROOT, file));
    else expect(test).toBe('none of their own yet');
  }
  const rows = new Set(lines.flatMap((line) => line.rows));
  const all = [...Array.from({ length: 38 }, (_, at) => at + 1), ...Array.from({ length: 19 }, (_, at) => at + 51)];
  expect(all.filter((row) => !rows.has(row))).toEqual([]);
});
