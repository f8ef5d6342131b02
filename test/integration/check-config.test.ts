import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';

const MAIN = resolve(import.meta.dirname, '../../src/main.ts');
const FIXTURES = resolve(import.meta.dirname, '../fixtures/config');
const EXAMPLE = resolve(import.meta.dirname, '../../config/turnstone.example.yaml');

function turnstone(...words: string[]): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  return new Promise((done) => {
    execFile(process.execPath, [MAIN, ...words], (error, stdout, stderr) =>
      done({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

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

  it('does not start the agent with a wrong configuration: 78, each fault with line and column', async () => {
    const { code, stderr } = await turnstone('run', '--config', resolve(FIXTURES, 'unknown-key.yaml'));
    expect(code).toBe(78);
    expect(stderr).toContain('unknown-key.yaml:11:5: sensors[0].perod: unknown key "perod"');
    expect(stderr).not.toMatch(/\n\s+at /);
  });
});
