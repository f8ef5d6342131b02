/** Keeps TypeScript's check for unknown members: it looks at an object literal, and not at one that is spread into another. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const SPREAD_LITERAL = /\.\.\.\s*\(*\s*\{/;

it.each(['src', 'test', 'scripts'])('no object literal is spread in %s', async (folder) => {
  const files = (await readdir(join(ROOT, folder), { recursive: true })).filter((file) => file.endsWith('.ts'));
  const spread: string[] = [];
  for (const file of files) {
    const lines = (await readFile(join(ROOT, folder, file), 'utf8')).split('\n');
    for (const [at, line] of lines.entries())
      if (SPREAD_LITERAL.test(line)) spread.push(`${folder}/${file}:${at + 1}: ${line.trim()}`);
  }
  expect(spread).toEqual([]);
});

it.each([
  ['onCommand,', 'onComand: onCommand,'],
  ['locked:', 'isLocked:'],
])('a part of the agent that is given %s under another name does not compile', async (member, misspelt) => {
  const text = await readFile(join(ROOT, 'src/agent/open-parts.ts'), 'utf8');
  const open = text.indexOf('DeviceCommands.open(');
  const changed = text.slice(0, open) + text.slice(open).replace(member, misspelt);
  expect(changed).not.toBe(text);
  const at = (path: string): string => join(ROOT, 'src/agent', path);
  expect(
    await faultsIn(changed.replaceAll(/from '(\.\.?\/[^']+)'/g, (_all, path: string) => `from '${at(path)}'`)),
  ).toMatch(/Object literal may only specify known properties|is missing the following properties|is missing in type/);
});

/** Compiles a text as a file of this project; gives what the compiler says. */
async function faultsIn(text: string): Promise<string> {
  await mkdir(join(ROOT, 'build'), { recursive: true });
  const folder = await mkdtemp(join(ROOT, 'build/compiled-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, 'text.ts'), text);
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ extends: '../../tsconfig.json', include: ['text.ts'] }),
  );
  const compiler = join(ROOT, 'node_modules/.bin/tsc');
  return promisify(execFile)(compiler, ['--noEmit', '-p', folder]).then(
    () => '',
    ({ stdout }: { readonly stdout: string }) => stdout,
  );
}
