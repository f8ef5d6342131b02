/** Tables of docs/testing.md that are made from result files; each stands between two marks. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export const PAGE_OF_TABLES = join(import.meta.dirname, '../docs/testing.md');

/** @param name as the marks have it: `lab`, made by `scripts/lab-table.ts`. */
function marksOf(name: string): readonly [begin: string, end: string] {
  return [`<!-- ${name} table: made by scripts/${name}-table.ts -->`, `<!-- end of ${name} table -->`];
}

/** Returns the table between the page's marks; undefined without marks. */
export function tableInPage(page: string, name: string): string | undefined {
  const [beginMark, endMark] = marksOf(name);
  const [begin, end] = [page.indexOf(beginMark), page.indexOf(endMark)];
  return begin < 0 || end < begin ? undefined : page.slice(begin + beginMark.length, end).trim();
}

/** @throws when the page has no marks. */
export function withTable(page: string, name: string, table: string): string {
  const [beginMark, endMark] = marksOf(name);
  const [begin, end] = [page.indexOf(beginMark), page.indexOf(endMark)];
  if (begin < 0 || end < begin)
    throw new Error(`docs/testing.md has no place for the table: ${beginMark} and ${endMark}`);
  return `${page.slice(0, begin)}${beginMark}\n${table}\n${page.slice(end)}`;
}

/** Prints the table, or with `--write` puts it into the page. */
export async function printOrWrite(name: string, table: string): Promise<void> {
  if (process.argv.includes('--write'))
    await writeFile(PAGE_OF_TABLES, withTable(await readFile(PAGE_OF_TABLES, 'utf8'), name, table));
  else console.log(table);
}
