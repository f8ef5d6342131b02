/** The table of rows names tests that exist, and every row has one. */
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
    const [, file = ''] = /^`(.*)`$/.exec(test) ?? [];
    await access(join(ROOT, file));
  }
  const rows = new Set(lines.flatMap((line) => line.rows));
  const all = [
    ...Array.from({ length: 38 }, (_, at) => at + 1),
    ...Array.from({ length: 19 }, (_, at) => at + 51),
    // The other rows of the third part belong to mechanisms that are not built yet.
    ...[101, 103, 104, 105, 106, 107, 108, 109, 110, 120, 121, 122],
  ];
  expect(all.filter((row) => !rows.has(row))).toEqual([]);
});
