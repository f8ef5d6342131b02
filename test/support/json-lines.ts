/** Fixtures of one JSON value a line, as scripts beside them write them. */
import { readFile } from 'node:fs/promises';

/** Returns the values of a file whose lines are of this form. */
export async function readJsonLines<T>(file: string): Promise<readonly T[]> {
  const lines = (await readFile(file, 'utf8')).trim().split('\n');
  return lines.map((line): T => JSON.parse(line));
}

/** The same of a file whose lines are names with their values. */
export async function readNamedLines<T>(file: string): Promise<Readonly<Record<string, T>>> {
  return Object.fromEntries(await readJsonLines<readonly [name: string, value: T]>(file));
}
