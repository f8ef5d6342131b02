/** docs/reference says what the sources say: every page as it would be made now, one for each kind and device, and no broken link. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../../../scripts/bundle.ts';
import { errorCodes, sourceFiles } from '../../../scripts/docs/error-codes.ts';
import { ERROR_WORDS, ROOM_WORDS } from '../../../scripts/docs/error-words.ts';
import { MADE_BY } from '../../../scripts/docs/markdown.ts';
import { REFERENCE, referencePages, writtenPages } from '../../../scripts/docs-pages.ts';
import { readConfig } from '../../../src/config/read-config.ts';

const FENCED = /^```[\s\S]*?^```/gm;

let made: ReadonlyMap<string, string>;
let folder: string;
beforeAll(async () => {
  made = await referencePages();
  folder = await mkdtemp(join(tmpdir(), 'turnstone-docs-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const namesBelow = (group: string): readonly string[] =>
  [...made.keys()].flatMap((path) => (dirname(path) === group ? [path.slice(group.length + 1, -3)] : [])).sort();

/** Folders of kinds, by what makes one. */
const kindsIn = (group: string): readonly string[] =>
  readdirSync(join(ROOT, 'src', group), { withFileTypes: true })
    .filter(
      (entry) =>
        entry.isDirectory() && existsSync(join(entry.parentPath, entry.name, 'definition.ts')) && entry.name !== 'kind',
    )
    .map(({ name }) => name)
    .sort();

const filesIn = (path: string): readonly string[] =>
  readdirSync(join(ROOT, path))
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => name.slice(0, -5))
    .sort();

describe('docs/reference', () => {
  it('has every page as the sources make it, and no other; npm run docs:pages writes them', () => {
    const written = writtenPages();
    expect([...written.keys()].sort()).toEqual([...made.keys()].sort());
    expect([...made].filter(([path, text]) => written.get(path) !== text).map(([path]) => path)).toEqual([]);
  });

  it.each(['sensors', 'actuators'])('has a page for each kind of %s', (group) => {
    expect(namesBelow(group)).toEqual(kindsIn(group));
  });

  it('has a page for each preset, and at least one for each file of models', () => {
    expect(namesBelow('presets')).toEqual(filesIn('src/sensors/serial-line/presets'));
    const models = namesBelow('models');
    const families = filesIn('src/sensors/modbus/models');
    expect(
      families.filter((family) => !models.some((name) => name === family || name.startsWith(`${family}-`))),
    ).toEqual([]);
    expect(
      models.filter((name) => !families.some((family) => name === family || name.startsWith(`${family}-`))),
    ).toEqual([]);
  });

  it('tells in the first line of each page by which command it was made', () => {
    expect([...made].filter(([, text]) => !text.startsWith(`${MADE_BY}\n`)).map(([path]) => path)).toEqual([]);
    expect(MADE_BY).toContain('npm run docs:pages');
  });

  it('says of every option what it means', () => {
    const mute = [...made].flatMap(([path, text]) =>
      [...text.matchAll(/^\| `[^`]+` \| (?:\||Only with).*$/gm)].map(([row]) => `${path}: ${row}`),
    );
    expect(mute).toEqual([]);
    expect(made.get('sensors/bme280.md')).toContain(
      '| `address` | Address on the I2C bus. | an address from 0x76 to 0x77 | `0x76` |',
    );
    expect(made.get('sensors/gpio-counter.md')).toContain('| 1s to 1d | `1m` |');
    expect(made.get('every-sensor.md')).toContain(
      '| `window.length` | Time that each window takes. | 100ms to 1d | **required** |',
    );
  });

  it('has links to files and places that are there', async () => {
    const broken = [...made].flatMap(([path, text]) =>
      linksOf(text)
        .filter((link) => !leadsSomewhere(path, link))
        .map((link) => `${path}: ${link}`),
    );
    expect(broken).toEqual([]);
  });

  it('is linked from the pages that are written by hand', () => {
    const docs = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
    const links = docs.flatMap((name) => linksOf(readFileSync(join(ROOT, 'docs', name), 'utf8')));
    const toReference = links
      .filter((link) => link.startsWith('reference/'))
      .map((link) => link.slice('reference/'.length));
    expect(toReference).toContain('README.md');
    expect(toReference.filter((link) => !leadsSomewhere('README.md', link))).toEqual([]);
  });

  it('is linked from its own index, page by page', () => {
    const index = linksOf(made.get('README.md') ?? '');
    expect([...made.keys()].filter((path) => path !== 'README.md' && !index.includes(path))).toEqual([]);
  });

  it('shows configurations that work for presets and models', { timeout: 60_000 }, async () => {
    const environment = { PROVISION_KEY: 'key', PROVISION_SECRET: 'secret' };
    const file = join(folder, 'turnstone.yaml');
    const wrong: string[] = [];
    let read = 0;
    for (const [path, text] of made) {
      if (!/^(presets|models)\//.test(path)) continue;
      const [, example = ''] = /^```yaml\n([\s\S]*?)^```/m.exec(text) ?? [];
      await writeFile(file, example, { mode: 0o600 });
      const { faults } = await readConfig(file, { environment });
      wrong.push(...faults.map(({ problem, expected }) => `${path}: ${problem}, expected ${expected}`));
      read += 1;
    }
    expect(wrong).toEqual([]);
    expect(read).toBe(namesBelow('presets').length + namesBelow('models').length);
  });
});

describe('the error codes', () => {
  const errors = errorCodes();

  it('have a message, or words of our own', () => {
    expect(
      errors
        .filter(({ code, messages }) => messages.length === 0 && ERROR_WORDS[code] === undefined)
        .map(({ code }) => code),
    ).toEqual([]);
    expect(
      [...new Set(errors.map(({ code }) => code.split('/')[0] ?? ''))].filter((room) => ROOM_WORDS[room] === undefined),
    ).toEqual([]);
  });

  it('are all that comments and codes of the sources name, and words are for those alone', () => {
    const known = new Set(errors.map(({ code }) => code));
    const rooms = Object.keys(ROOM_WORDS).join('|');
    const thrown = new RegExp(`AgentError \`((?:${rooms})/[a-z0-9-]+)\``, 'g');
    const named = sourceFiles().flatMap(({ file, text }) =>
      [...text.matchAll(thrown)].map(([, code = '']) => ({ file, code })),
    );
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter(({ code }) => !known.has(code)).map(({ file, code }) => `${file}: ${code}`)).toEqual([]);
    expect(Object.keys(ERROR_WORDS).filter((code) => !known.has(code))).toEqual([]);
  });

  it('have the message that stands beside them, with … for what is put in', () => {
    const textsOf = (of: string): readonly string[] =>
      errors.find(({ code }) => code === of)?.messages.map(({ text }) => text) ?? [];
    expect(textsOf('actuators/locked-out')).toEqual(['… is not moved: the machine is locked out']);
    expect(textsOf('json/too-deep')).toEqual(['JSON nested deeper than … levels']);
    expect(textsOf('platform/busy')).toContain('cannot reach …: …');
  });
});

function linksOf(text: string): readonly string[] {
  return [...text.replace(FENCED, '').matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
}

function leadsSomewhere(from: string, link: string): boolean {
  const [path = '', place] = link.split('#');
  const to = path === '' ? from : join(dirname(from), path);
  const text = made.get(to);
  if (place === undefined || text === undefined) return text !== undefined || existsSync(join(REFERENCE, to));
  return (
    text.includes(`<a id="${place}"></a>`) ||
    [...text.matchAll(/^## (.*)$/gm)].some(([, heading = '']) => heading.toLowerCase() === place)
  );
}
