import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addTerminalFiles, manualPages } from '../../../scripts/man.ts';
import { plainJsonSchema } from '../../../scripts/schema.ts';
import { allCommands } from '../../../src/cli/frame/overview.ts';
import { flattened, surfaceOf } from '../../../src/cli/frame/surface.ts';

let pages: Readonly<Record<string, string>>;
let folder: string;

beforeAll(async () => {
  pages = await manualPages('1.2.3');
  folder = await mkdtemp('/tmp/turnstone-man-');
});

afterAll(() => rm(folder, { recursive: true }));

/** The page as a terminal of that width shows it; undefined where no groff is. */
function shown(name: string): { readonly text: string; readonly warnings: string } | undefined {
  const { error, stdout, stderr } = spawnSync('groff', ['-man', '-ww', '-Tutf8', '-P-cbou', '-rLL=78n'], {
    input: pages[name] ?? '',
    encoding: 'utf8',
  });
  return error === undefined ? { text: stdout, warnings: stderr } : undefined;
}

/** Words of a page without what roff needs around them. */
function bare(name: string): string {
  return (pages[name] ?? '').replace(/\\f[BIP]/g, '').replaceAll('\\-', '-');
}

describe('the manual pages', () => {
  it.each(['turnstone.1', 'turnstone.yaml.5'])('%s is one that groff has nothing to say about', (name) => {
    const page = shown(name);
    // Without groff the text alone is looked at, by the tests below.
    if (page !== undefined) expect(page.warnings).toBe('');
    expect(pages[name]).toMatch(/^\.TH "[A-Z.]+" "[15]" "" "turnstone 1\.2\.3"\n/);
    expect(pages[name]).not.toMatch(/[^\n -~]/);
  });

  it('turnstone(1) has every command with every option', async () => {
    const text = bare('turnstone.1');
    for (const { path, options } of flattened(surfaceOf(await allCommands()))) {
      const [, section = ''] = text.split(`.SS "turnstone ${path}"\n`);
      const [own = ''] = section.split(/^\.S[SH] /m);
      for (const { flag, short } of options)
        expect([path, own]).toEqual([
          path,
          expect.stringContaining(`.TP\n${short === undefined ? '' : `${short}, `}${flag}`),
        ]);
    }
    for (const heading of ['SYNOPSIS', 'EXIT STATUS', 'FILES', 'ENVIRONMENT', 'SIGNALS'])
      expect(text).toContain(`.SH "${heading}"`);
    expect(text).toContain('.TP\n78\nwrong configuration\n');
    expect(text).toContain('(default 5m)');
  });

  it('turnstone.yaml(5) has every section, and each kind with its options, defaults and ranges', () => {
    const text = bare('turnstone.yaml.5');
    const { properties } = plainJsonSchema() as { readonly properties: Readonly<Record<string, object>> };
    for (const name of Object.keys(properties)) expect(text).toMatch(new RegExp(`^(\\.SS "|)${name}[",\\n]`, 'm'));
    const kinds = readdirSync(join(import.meta.dirname, '../../../docs/reference/sensors')).map((file) =>
      file.replace('.md', ''),
    );
    for (const kind of kinds) expect(text).toContain(`.SS "sensors, kind: ${kind}"`);
    expect(text).toContain('.TP\nplatform.codec\none of json, cbor; default "json"\n');
    expect(text).toContain('version: 1\n');
  });

  it('stand in a release beside the completion scripts', async () => {
    await addTerminalFiles(folder, '1.2.3');
    expect(readdirSync(folder, { recursive: true }).sort()).toEqual([
      'completions',
      'completions/bash',
      'completions/bash/turnstone',
      'completions/fish',
      'completions/fish/turnstone.fish',
      'completions/zsh',
      'completions/zsh/_turnstone',
      'man',
      'man/turnstone.1',
      'man/turnstone.yaml.5',
    ]);
  });
});
