/** README.md and the pages of docs/: every command in them is run, here or by the test that is named here, and what they name exists. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, normalize } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { firstConfigText } from '../../src/cli/first-config.ts';
import { programFor } from '../../src/cli/frame/commander-program.ts';
import { faultLine } from '../../src/config/fields/config-fault.ts';
import { readConfig } from '../../src/config/read-config.ts';
import { fakeEdge } from '../support/fake-edge.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
/** Pages made from the code have a test of their own: test/unit/scripts/docs-pages.test.ts. */
const isWritten = (name: string): boolean => name.endsWith('.md') && !name.startsWith('reference/');
const DOCS = (await readdir(join(ROOT, 'docs'), { recursive: true })).filter(isWritten).map((name) => `docs/${name}`);
const NAMES = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', ...DOCS];
const PAGES = await Promise.all(NAMES.map(async (name) => ({ name, text: await readFile(join(ROOT, name), 'utf8') })));
/** The new chip's commands are run by new-chip.test.ts. */
const TEXT = PAGES.filter(({ name }) => name !== 'CONTRIBUTING.md')
  .map(({ text }) => text)
  .join('\n');

/** The test that runs a command, and the words by which it can be found there. */
const RUN_BY: Readonly<Record<string, { readonly file: string; readonly words: string }>> = {
  './scripts/demo.sh': { file: 'test/integration/demo.test.ts', words: 'scripts/demo.sh' },
  './scripts/test.sh': { file: 'test/unit/scripts/test-loops.test.ts', words: "join(ROOT, 'scripts/test.sh')" },
  './scripts/lab.sh': { file: '.ci/run', words: './scripts/lab.sh 2>&1 | tee' },
  'npm run simulate -- --seeds 30': {
    file: '.ci/run',
    words: 'stage ./scripts/dev.sh node test/simulation/simulate.ts',
  },
  './scripts/build-release.sh --arch arm64 --deb': { file: 'test/release/arm64.test.ts', words: "arch: 'arm64'" },
  'sudo apt install ./turnstone_*_arm64.deb': { file: 'test/package/life.sh', words: 'apt-get install -y' },
  'sudo apt install ./turnstone_*.deb': { file: 'test/package/life.sh', words: 'apt-get install -y' },
  'sudo apt install zstd': { file: 'scripts/test-release.sh', words: 'missing+=(zstd)' },
  'mkdir turnstone && tar --zstd -xf turnstone-*.tar.zst -C turnstone': {
    file: 'test/release/bundle.test.ts',
    words: 'is unpacked by ordinary tools',
  },
  "packaging/raspberry-pi/prepare-card.sh /media/you/bootfs --package build/release/turnstone_0.1.0_arm64.deb --url https://iot.example.org --token-file token.txt --ssid 'the net' --wifi-key-file wifi-key.txt --country DE":
    { file: 'test/package/first-boot.sh', words: 'prepare-card.sh' },
  'sudo systemctl restart turnstone': { file: 'test/lab/systemd.test.ts', words: 'systemctl' },
  'sudo systemctl start turnstone': { file: 'test/lab/systemd.test.ts', words: 'systemctl' },
  'sudo systemctl stop turnstone': { file: 'test/lab/systemd.test.ts', words: 'systemctl' },
  'sudo ./turnstone/install.sh': { file: 'test/release/bundle.test.ts', words: 'installs the release it lies in' },
  'turnstone check-config /etc/turnstone/turnstone.yaml': {
    file: 'test/integration/check-config.test.ts',
    words: 'check-config',
  },
  'sudo systemctl reload turnstone': {
    file: 'test/integration/daemon.test.ts',
    words: 'takes up a changed period on SIGHUP',
  },
  'turnstone status': { file: 'test/integration/daemon.test.ts', words: "command(['status'])" },
};

/** Commands that no test here can run, and what they need. */
const NOT_HERE: Readonly<Record<string, string>> = {
  'ssh you@boiler-house.local': 'a Raspberry Pi in the network',
  'sudo raspi-config nonint do_i2c 0': 'the system of a Raspberry Pi',
  'sudo raspi-config nonint do_onewire 0': 'the system of a Raspberry Pi',
  'sudo raspi-config nonint do_serial_hw 0': 'the system of a Raspberry Pi',
  'sudo raspi-config nonint do_serial_cons 1': 'the system of a Raspberry Pi',
  'sudo reboot': 'a machine that may be rebooted',
};

const lines = [...TEXT.matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap(([, block]) =>
  (block ?? '')
    .replace(/ \\\n */g, ' ')
    .trim()
    .split('\n'),
);
const isOwn = (line: string): boolean => /^(sudo )?turnstone /.test(line);
/** Commands of the program that a test runs elsewhere are looked at like the others. */
const commands = lines.filter((line) => NOT_HERE[line] === undefined && (!isOwn(line) || RUN_BY[line] !== undefined));
const ownCommands = lines.filter(isOwn);
const inlineCommands = [
  ...PAGES.filter(({ name }) => name !== 'CHANGELOG.md')
    .map(({ text }) => text)
    .join('\n')
    .matchAll(/`((?:sudo )?turnstone [a-z][^`\n]*)`/g),
].map(([, line]) => line ?? '');
/** Set for configurations that take their secrets from the environment. */
const ENVIRONMENT = { TURNSTONE_TOKEN: 'any', PROVISION_KEY: 'any', PROVISION_SECRET: 'any', STATUS_PIN: '471199' };

/** Parses a command line without running it. @throws CommanderError for an option that the command has not, or one without its value. */
async function parseOnly(
  line: string,
): Promise<{ readonly unknown: readonly string[]; readonly tooMany: readonly string[] }> {
  const [typed = ''] = line.replace(/^sudo /, '').split(/ [>|#] ?/);
  const words = [...typed.matchAll(/'[^']*'|"[^"]*"|\S+/g)]
    .map(([word]) => word.replace(/^(['"])(.*)\1$/, '$2'))
    .slice(1);
  let command = await programFor(words, fakeEdge());
  for (let next = command.commands.find((one) => one.name() === words[0]); next !== undefined; ) {
    command = next;
    words.shift();
    next = command.commands.find((one) => one.name() === words[0]);
  }
  if (command.name() === 'turnstone') return { unknown: words, tooMany: [] };
  const { operands, unknown } = command.parseOptions(words);
  return { unknown, tooMany: operands.slice(command.registeredArguments.length) };
}

/** A heading's anchor, as the hosts of such pages make it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s-]/gu, '')
    .replace(/\s/g, '-');
}

describe('README.md and docs/', () => {
  it.each(commands)('have a command that is run by a test: %s', { timeout: 60_000 }, async (command) => {
    const proof = RUN_BY[command];
    if (proof !== undefined) {
      expect(await readFile(join(ROOT, proof.file), 'utf8')).toContain(proof.words);
      return;
    }
    const { stdout } = await run('bash', ['-c', command], { cwd: ROOT });
    expect(stdout).not.toBe('');
  });

  it('have each command that no test can run', () => {
    expect(Object.keys(NOT_HERE).filter((line) => !lines.includes(line))).toEqual([]);
  });

  it.each([...new Set([...ownCommands, ...inlineCommands])])(
    'name a command and options that the program has: %s',
    async (line) => {
      expect(await parseOnly(line)).toEqual({ unknown: [], tooMany: [] });
    },
  );

  it('name only files that exist', () => {
    const paths = [...TEXT.matchAll(/`((?:src|config|docs|scripts|test|systemd)\/[\w./-]+)`/g)].map(
      ([, path]) => path ?? '',
    );
    expect(paths.length).toBeGreaterThan(20);
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('link only to pages and headings that exist', async () => {
    const links = PAGES.flatMap(({ name, text }) =>
      [...text.matchAll(/\]\(([^)#\s]*)(?:#([^)\s]+))?\)/g)].map(([, to = '', anchor]) => ({ name, to, anchor })),
    ).filter(({ to }) => !to.startsWith('https://'));
    expect(links.length).toBeGreaterThan(20);
    for (const { name, to, anchor } of links) {
      const page = to === '' ? name : join(dirname(name), to);
      const text = await readFile(join(ROOT, page), 'utf8');
      const anchors = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));
      expect(anchor === undefined || anchors.includes(anchor), `${name} links to ${page}#${anchor}`).toBe(true);
    }
  });

  it('are all reached from the README, or from the index of docs/', () => {
    const linked = PAGES.filter(({ name }) => name === 'README.md' || name === 'docs/README.md').flatMap(
      ({ name, text }) =>
        [...text.matchAll(/\]\(([^)#\s]+)/g)].map(([, to = '']) => normalize(join(dirname(name), to))),
    );
    const others = NAMES.filter(
      (name) => name !== 'README.md' && name !== 'docs/README.md' && !name.startsWith('docs/reference/'),
    );
    expect(others.filter((name) => !linked.includes(name))).toEqual([]);
  });

  it('name only commands that the program has', async () => {
    const help = async (...words: readonly string[]): Promise<string> =>
      (await run(process.execPath, [join(ROOT, 'src/main.ts'), ...words, '--help'])).stdout;
    const has = (text: string, name: string): boolean => new RegExp(`^  ${name}\\b`, 'm').test(text);
    const all = await help();
    const named = [...TEXT.matchAll(/turnstone ([a-z][a-z-]+)(?: ([a-z][a-z-]+))?/g)].map(([, name = '', word]) => ({
      name,
      word,
    }));
    expect(named.filter(({ name }) => !has(all, name))).toEqual([]);
    const groups = ['outbox', 'firmware', 'identity', 'settings', 'devices', 'configuration'];
    const texts = new Map(await Promise.all(groups.map(async (group) => [group, await help(group)] as const)));
    const isUnknown = (name: string, word: string): boolean => !has(texts.get(name) ?? '', word);
    expect(
      named.filter(({ name, word }) => groups.includes(name) && word !== undefined && isUnknown(name, word)),
    ).toEqual([]);
  });

  it('show only whole configurations that are good', async () => {
    const blocks = [...TEXT.matchAll(/^```yaml\n(version: 1\n[\s\S]*?)^```/gm)].map(([, block]) => block ?? '');
    expect(blocks.length).toBeGreaterThan(1);
    const folder = await mkdtemp(join(tmpdir(), 'turnstone-pages-'));
    try {
      for (const [index, block] of blocks.entries()) {
        const file = join(folder, `${index}.yaml`);
        await writeFile(file, block, { mode: 0o600 });
        const { faults, warnings } = await readConfig(file, { environment: ENVIRONMENT });
        expect([...faults, ...warnings].map((fault) => faultLine(`block ${index}`, fault))).toEqual([]);
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('add lines to the file of init that make a good one', async () => {
    const page = PAGES.find(({ name }) => name === 'docs/raspberry-pi.md')?.text ?? '';
    const [, added = ''] = /^```yaml\n([\s\S]*?)^```/m.exec(page) ?? [];
    const folder = await mkdtemp(join(tmpdir(), 'turnstone-pages-'));
    try {
      const file = join(folder, 'turnstone.yaml');
      const chips = [{ bus: 1, address: 0x76, guess: { kind: 'bme280', isCertain: true } }] as const;
      const first = firstConfigText({
        url: 'https://iot.example.org',
        credentials: { way: 'token-variable', variable: 'TURNSTONE_TOKEN' },
        found: { chips, thermometers: [], serialPorts: [], faults: [] },
      });
      await writeFile(file, `${first}${added}`, { mode: 0o600 });
      const { config, faults, warnings } = await readConfig(file, { environment: ENVIRONMENT });
      expect({ faults, warnings }).toEqual({ faults: [], warnings: [] });
      expect(config?.rules).toHaveLength(1);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('name only benchmarks that can be run', async () => {
    const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
      readonly scripts: Readonly<Record<string, string>>;
    };
    const named = [...TEXT.matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name ?? '');
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });
});

it('the messages of docs/troubleshooting.md are those of the program', async () => {
  const files = (await readdir(join(ROOT, 'src'), { recursive: true })).filter(
    (name) => name.endsWith('.ts') && !name.endsWith('.test.ts'),
  );
  const sources = await Promise.all(files.map((name) => readFile(join(ROOT, 'src', name), 'utf8')));
  const text = sources.join('\n').replaceAll("\\'", "'");
  const page = PAGES.find(({ name }) => name === 'docs/troubleshooting.md')?.text ?? '';
  const messages = [...page.matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, words = '']) => words),
  );
  expect(messages.length).toBeGreaterThan(60);
  const parts = messages.flatMap((message) => message.split('…').map((part) => part.replace(/\($|^\)/g, '').trim()));
  expect(parts.filter((part) => !text.includes(part))).toEqual([]);
});

it('the README is read in five minutes', () => {
  expect(PAGES[0]?.text.split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(1_000);
});
