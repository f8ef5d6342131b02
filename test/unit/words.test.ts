/** Keeps comments readable: one begins with its noun or its verb, not with a question. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const SRC = resolve(import.meta.dirname, '../../src');

/** Beginnings that name no thing and no act. */
const QUESTION = /^\s*(\/\*\*?|\*|\/\/) (What|Whether|Of|Whom|Who)\b/;

/** Rooms whose comments are still to be rewritten. */
const NOT_YET: readonly string[] = [];

const lines = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.(ts|js|css)$/.test(file))
  .flatMap((file) =>
    readFileSync(join(SRC, file), 'utf8')
      .split('\n')
      .map((text, at) => ({ file, place: `src/${file}:${at + 1}: ${text.trim()}`, text })),
  );

it('begins every comment of src with a noun or a verb', () => {
  expect(
    lines
      .filter(({ file, text }) => QUESTION.test(text) && !NOT_YET.some((room) => file.startsWith(room)))
      .map(({ place }) => place),
  ).toEqual([]);
});
