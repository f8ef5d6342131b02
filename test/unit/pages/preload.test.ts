/** Modules of the status page are asked for all at once: each that is loaded at the start is named in its head, and no other. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';

const PAGES = join(import.meta.dirname, '../../../src/pages');

/** The module's own static imports, and theirs. */
function importsOf(file: string, known: Set<string>): Set<string> {
  const text = readFileSync(file, 'utf8');
  for (const [, path = ''] of text.matchAll(/^(?:import|export) [^;]*? from '(.+?)';$/gms)) {
    const imported = join(dirname(file), path);
    if (known.has(imported)) continue;
    known.add(imported);
    importsOf(imported, known);
  }
  return known;
}

it('the page names what it loads at the start', () => {
  const html = readFileSync(join(PAGES, 'status/index.html'), 'utf8');
  const named = [...html.matchAll(/rel="modulepreload" href="\/page\/(.+?)"/g)].map(([, path = '']) =>
    join(PAGES, path),
  );
  const loaded = importsOf(join(PAGES, 'status/app.js'), new Set([join(PAGES, 'shared/texts-en.js')]));
  expect(loaded.size).toBeGreaterThan(15);
  expect(named.toSorted()).toEqual([...loaded].sort());
});
