/** A guest of the lab begins without what an agent on its host has left: else it finds another one's state, and passes or fails by it. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const textOf = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

it('every folder that the installer makes for the agent is taken away from a guest that begins', () => {
  const made = [...textOf('scripts/install.sh').matchAll(/^\w+=\$root(\/\S*turnstone\S*)$/gm)].map(
    ([, path]) => path as string,
  );
  const [, removed = ''] = /^ *rm -rf (.*)$/m.exec(textOf('test/lab/guest/init')) ?? [];
  expect(made.length).toBe(4);
  expect(removed.split(' ').map((path) => path.replace('"$root"', ''))).toEqual(expect.arrayContaining(made));
});
