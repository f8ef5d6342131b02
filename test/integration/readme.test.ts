/** The README is the product's face: every command in it is run, here or by the test that is named here, and what it names exists. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
const README = await readFile(join(ROOT, 'README.md'), 'utf8');

/** Which test runs a command, and the words by which it can be found there. */
const RUN_BY: Readonly<Record<string, { readonly file: string; readonly words: string }>> = {
  './scripts/demo.sh': { file: 'test/integration/demo.test.ts', words: 'scripts/demo.sh' },
  './scripts/test.sh': { file: 'test/unit/scripts/test-loops.test.ts', words: "join(ROOT, 'scripts/test.sh')" },
  './scripts/lab.sh': { file: '.ci/run', words: 'stage ./scripts/lab.sh' },
  'npm run simulate -- --seeds 30': { file: '.ci/run', words: 'stage ./scripts/dev.sh node test/simulation/simulate.ts' },
  './scripts/build-release.sh --arch arm64': { file: 'test/release/arm64.test.ts', words: "arch: 'arm64'" },
  'sudo apt install zstd': { file: 'scripts/test-release.sh', words: 'missing+=(zstd)' },
  'mkdir turnstone && tar --zstd -xf turnstone-*.tar.zst -C turnstone': {
    file: 'test/release/bundle.test.ts',
    words: 'is unpacked by ordinary tools',
  },
  'sudo systemctl restart turnstone': { file: 'test/lab/systemd.test.ts', words: 'systemctl' },
  'sudo ./turnstone/install.sh': { file: 'test/release/bundle.test.ts', words: 'installs the release it lies in' },
  'turnstone check-config /etc/turnstone/turnstone.yaml': { file: 'test/integration/check-config.test.ts', words: 'check-config' },
  'sudo systemctl reload turnstone': { file: 'test/integration/daemon.test.ts', words: 'takes up a changed period on SIGHUP' },
  'turnstone status': { file: 'test/integration/daemon.test.ts', words: "command(['status'])" },
};

const commands = [...README.matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap(([, block]) => (block ?? '').trim().split('\n'));

describe('the README', () => {
  it.each(commands)('has a command that is run by a test: %s', { timeout: 60_000 }, async (command) => {
    const proof = RUN_BY[command];
    if (proof !== undefined) {
      expect(await readFile(join(ROOT, proof.file), 'utf8')).toContain(proof.words);
      return;
    }
    const { stdout } = await run('bash', ['-c', command], { cwd: ROOT });
    expect(stdout).not.toBe('');
  });

  it('names only files that exist', () => {
    const paths = [...README.matchAll(/`((?:src|config|scripts|test|systemd)\/[\w./-]+)`/g)].map(([, path]) => path ?? '');
    expect(paths.length).toBeGreaterThan(5);
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('names only commands that the program has', async () => {
    const { stdout } = await run(process.execPath, [join(ROOT, 'src/main.ts'), '--help']);
    const named = new Set([...README.matchAll(/turnstone ([a-z][a-z-]+)/g)].map(([, name]) => name ?? ''));
    expect([...named].filter((name) => !new RegExp(`^  ${name}\\b`, 'm').test(stdout))).toEqual([]);
  });

  it('names only benchmarks that can be run', async () => {
    const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    const named = [...README.matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name ?? '');
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });
});
