/** `turnstone driver new` and `driver test`: each template prints what is expected of it, and each mistake is named. */
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { fakeEdge } from '../../support/fake-edge.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-driver-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function turnstone(...words: readonly string[]) {
  const edge = fakeEdge();
  const exitCode = await runCommandLine(['driver', ...words], { edge, version: () => '' });
  return { exitCode, out: edge.out(), err: edge.err() };
}

async function replace(file: string, from: string, to: string): Promise<void> {
  const text = await readFile(file, 'utf8');
  expect(text).toContain(from);
  await writeFile(file, text.replace(from, to));
}

it.each(['shell', 'python', 'typescript'])('makes a driver in %s that prints what is expected', async (language) => {
  const place = join(folder, 'gauge');
  expect((await turnstone('new', place, '--language', language)).exitCode).toBe(0);
  expect(await turnstone('test', place)).toMatchObject({ exitCode: 0, out: '2 lines, all as expected.\n' });
  expect((await turnstone('new', place)).exitCode).toBe(2);
});

it('names each mistake by its line', async () => {
  const place = join(folder, 'gauge');
  await turnstone('new', place);
  const program = join(place, 'driver.sh');
  await replace(program, '°C', '°X');
  await appendFile(
    program,
    `echo '{"readings": {"level": {"value": 1, "at": "2199-01-01T00:00:00Z"}}}'; echo '{"a'; printf '{"half": 1'; exit 3\n`,
  );
  const { exitCode, out } = await turnstone('test', place);
  expect(exitCode).toBe(1);
  for (const problem of [
    'line 1: unknown unit °X of temperature',
    'line 3: time in the future of level',
    'line 4: a line that is not json',
    'line 3: not expected:',
    'half line at the end, without a newline: {"half": 1',
    'it ended with 3',
  ])
    expect(out).toContain(problem);
});

it('finds a program that keeps its lines back', async () => {
  const place = join(folder, 'gauge');
  await turnstone('new', place);
  await writeFile(join(place, 'driver.sh'), `#!/bin/sh\nexec sed -n -E 's/T=(.*) H=(.*)/{"t": \\1}/p' "$1"\n`);
  await writeFile(join(place, 'expected.jsonl'), '{"t": 21.5}\n{"t": 21.6}\n{"t": 1}\n');
  const { exitCode, out } = await turnstone('test', place);
  expect(exitCode).toBe(1);
  expect(out).toContain('your output is buffered: no line came before the input ended; flush after each line');
  expect(out).toContain('line 3: missing; expected: {"t": 1}');
});
