/** Tables of the README that are made from result files; each stands between two marks. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const README = join(import.meta.dirname, '../README.md');

/** @param name as the marks have it: `lab`, made by `scripts/lab-table.ts`. */
function marksOf(name: string): readonly [begin: string, end: string] {
  return [`<!-- ${name} table: made by scripts/${name}-table.ts -->`, `<!-- end of ${name} table -->`];
}

/** Returns the table between the README's marks; undefined without marks. */
export function tableInReadme(readme: string, name: string): string | undefined {
  const [beginMark, endMark] = marksOf(name);
  const [begin, end] = [readme.indexOf(beginMark), readme.indexOf(endMark)];
  return begin < 0 || end < begin ? undefined : readme.slice(begin + beginMark.length, end).trim();
}

/** @throws when the README has no marks. */
export function withTable(readme: string, name: string, table: string): string {
  const [beginMark, endMark] = marksOf(name);
  const [begin, end] = [readme.indexOf(beginMark), readme.indexOf(endMark)];
  if (begin < 0 || end < begin) throw new Error(`README.md has no place for the table: ${beginMark} and ${endMark}`);
  return `${readme.slice(0, begin)}${beginMark}\n${table}\n${readme.slice(end)}`;
}

/** Prints the table, or with `--write` puts it into the README. */
export async function printOrWrite(name: string, table: string): Promise<void> {
  if (process.argv.includes('--write')) await writeFile(README, withTable(await readFile(README, 'utf8'), name, table));
  else console.log(table);
}
