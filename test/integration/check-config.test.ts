import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SMALLEST } from '../support/config-file.ts';
import { EXPENSIVE, manySensors } from '../support/expensive-configurations.ts';

const MAIN = resolve(import.meta.dirname, '../../src/main.ts');
const FIXTURES = resolve(import.meta.dirname, '../fixtures/config');
const EXAMPLE = resolve(import.meta.dirname, '../../config/turnstone.example.yaml');

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const turnstone = (...words: string[]): Promise<Ended> => started([], words);

function started(options: readonly string[], words: readonly string[]): Promise<Ended> {
  return new Promise((done) => {
    execFile(process.execPath, [...options, MAIN, ...words], (error, stdout, stderr) =>
      done({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

/** As scripts/launcher.sh starts a release: with a heap that a greedy parser fills at once. */
const SMALL_HEAP = ['--max-semi-space-size=1', '--max-old-space-size=64'];
/** Writes the most memory that the process had, in kB, behind everything else. */
const TELL_MEMORY = `data:text/javascript,process.on('exit', () => process.stderr.write(String(process.resourceUsage().maxRSS)))`;
/** Measured: 106,000 to 151,000. With a free heap it would say how late V8 collected on this machine, not what a file needs. */
const MAX_MEMORY_KB = 170_000;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-check-config-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the process', () => {
  it('ends with 0 for the example configuration', async () => {
    expect(await turnstone('check-config', EXAMPLE)).toMatchObject({ code: 0, stderr: '' });
  });

  // One for each stage at which a configuration can fail; the others are in test/unit/config.
  it.each(['tabs', 'anchors', 'not-a-mapping', 'wrong-type', 'unknown-reference', 'secrets'])(
    'ends with 78 for %s, without a stack trace',
    async (name) => {
      const { code, stdout, stderr } = await turnstone('check-config', resolve(FIXTURES, `${name}.yaml`));
      expect({ code, stderr }).toEqual({ code: 78, stderr: '' });
      expect(stdout).toMatch(/^fault {3}\/.*:\d+:\d+: /m);
      expect(stdout).not.toMatch(/\n\s+at /);
    },
  );

  it.each([
    'programs that are not there',
    'words and commas',
    'keys of one sensor',
    'empty brackets',
    'a thousand sensors',
  ])('answers a file of %s within 170 MB and the heap of a release', async (what) => {
    const file = join(folder, 'turnstone.yaml');
    await writeFile(file, EXPENSIVE[what]?.() ?? `${SMALLEST}${manySensors(1_000)}`, { mode: 0o600 });
    const expected = what === 'a thousand sensors' ? 0 : 78;
    const { code, stderr } = await started([...SMALL_HEAP, '--import', TELL_MEMORY], ['check-config', file]);
    expect({ code, stderr }).toEqual({ code: expected, stderr: expect.stringMatching(/^\d+$/) });
    expect(Number(stderr)).toBeLessThan(MAX_MEMORY_KB);
  });

  it('does not start the agent with a wrong configuration: 78, each fault with line and column', async () => {
    const { code, stderr } = await turnstone('run', '--config', resolve(FIXTURES, 'unknown-key.yaml'));
    expect(code).toBe(78);
    expect(stderr).toContain('unknown-key.yaml:11:5: sensors[0].perod: unknown key "perod"');
    expect(stderr).not.toMatch(/\n\s+at /);
  });
});
