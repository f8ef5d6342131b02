import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { allCommands } from '../../../src/cli/frame/overview.ts';
import { commandNames, runCommandLine } from '../../../src/cli/frame/program.ts';
import { flattened, surfaceOf } from '../../../src/cli/frame/surface.ts';
import { fakeEdge } from '../../support/fake-edge.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;

let folder: string;

async function scriptFor(shell: string): Promise<string> {
  const edge = fakeEdge();
  expect(await runCommandLine(['completion', shell], { edge, version: () => '1' })).toBe(EXIT.ok);
  return edge.out();
}

beforeAll(async () => {
  folder = mkdtempSync('/tmp/turnstone-completion-');
  for (const shell of SHELLS)
    writeFileSync(join(folder, shell === 'zsh' ? '_turnstone' : shell), await scriptFor(shell));
  writeFileSync(join(folder, 'gateway one.yaml'), '');
});

afterAll(() => rmSync(folder, { recursive: true }));

function isHere(shell: string): boolean {
  return spawnSync(shell, ['--version']).status === 0;
}

/** Offers of bash for the last word of each line, by the script that it has sourced. A line is its words, a space between them. */
function offeredByBash(...lines: readonly string[]): readonly (readonly string[])[] {
  const offers = [
    'source ./bash',
    'for line in "$@"; do',
    'mapfile -t -d " " COMP_WORDS < <(printf %s "turnstone $line")',
    'case $line in *" " | "") COMP_WORDS+=("") ;; esac',
    'COMP_CWORD=$((' + '$' + '{#COMP_WORDS[@]} - 1))',
    '_turnstone',
    'echo "$(IFS="|"; echo "$' + '{COMPREPLY[*]}")"',
    'done',
  ].join('\n');
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', offers, 'bash', ...lines], {
    cwd: folder,
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split('|').filter((word) => word !== ''));
}

function offeredByFish(line: string): readonly string[] {
  const { stdout, stderr } = spawnSync(
    'fish',
    ['--no-config', '-c', `source ./fish; complete -C ${JSON.stringify(line)}`],
    {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: process.env.PATH, HOME: folder },
    },
  );
  expect(stderr).toBe('');
  return stdout.split('\n').flatMap((each) => each.split('\t')[0] || []);
}

/** Set-up of the zsh that is typed into: a key that writes its line down, and says so by a word that was not typed. */
const ZSH_KEYS = [
  'PS1=; fpath=($PWD $fpath); autoload -U compinit; compinit -u -d ./dump; bindkey "^I" complete-word',
  'show() { print -r -- "$BUFFER" >> shown; print SHO""WN; zle kill-buffer; }; zle -N show; bindkey "^X" show; print REA""DY',
].join('\n');

/** What stands on the line of a zsh in a terminal of its own after each beginning and the key. */
function completedByZsh(...beginnings: readonly string[]): readonly string[] {
  writeFileSync(join(folder, 'keys'), ZSH_KEYS);
  const session = [
    'zmodload zsh/zpty; zpty z zsh -f -i',
    'zpty -w z "source ./keys"; zpty -r -m z text "*READY*"',
    `for line in "$@"; do zpty -w -n z "$line"$'\\t\\x18'; zpty -r -m z text "*SHOWN*"; done`,
    'zpty -d z',
  ].join('\n');
  const env = { PATH: process.env.PATH, HOME: folder, TERM: 'xterm' };
  const { stderr } = spawnSync('zsh', ['-f', '-c', session, 'zsh', ...beginnings], {
    cwd: folder,
    encoding: 'utf8',
    env,
    timeout: 60_000,
  });
  expect(stderr).toBe('');
  return readFileSync(join(folder, 'shown'), 'utf8').split('\n').slice(0, -1);
}

describe('completion', () => {
  it('offers in bash the commands, those of a group, and what an argument may be', () => {
    expect(offeredByBash('', 'out', 'outbox ', 'completion ', 'scan mo')).toEqual([
      [...commandNames(), 'help'],
      ['outbox'],
      ['status', 'list', 'export', 'verify', 'drain', 'rejected'],
      [...SHELLS],
      ['modbus'],
    ]);
  });

  it('offers in bash every option of every command', async () => {
    const all = flattened(surfaceOf(await allCommands()));
    expect(offeredByBash(...all.map(({ path }) => `${path} --`))).toEqual(
      all.map(({ options }) => [...options.map(({ flag }) => flag), '--help']),
    );
  });

  it('offers in bash values of a choice, written either way, and goes on behind them', () => {
    const lines = ['--format ', '--format = c', '--format = csv --al', '--format csv --al'].map(
      (words) => `outbox export ${words}`,
    );
    expect(offeredByBash(...lines, 'outbox list --key export --li', 'init --page l')).toEqual([
      ['jsonl', 'csv'],
      ['csv'],
      ['--all'],
      ['--all'],
      ['--limit'],
      ['loopback', 'lan'],
    ]);
  });

  it('offers in bash files where a file is taken, and nothing where a word is free', () => {
    const file = ['gateway one.yaml'];
    const lines = ['run --config gate', 'check-config gate', 'status --run-folder gate', 'watch --every ', 'actuate '];
    expect(offeredByBash(...lines)).toEqual([file, file, [], [], []]);
  });

  it.skipIf(!isHere('fish'))('does the same in fish', () => {
    expect(offeredByFish('turnstone outb')).toEqual(['outbox']);
    expect(offeredByFish('turnstone outbox re')).toEqual(['rejected']);
    expect(offeredByFish('turnstone outbox export --format ')).toEqual(['csv', 'jsonl']);
    expect(offeredByFish('turnstone outbox list --li')).toEqual(['--limit']);
    expect(offeredByFish('turnstone scan mo')).toEqual(['modbus']);
    expect(offeredByFish('turnstone check-config gate')).toEqual(['gateway one.yaml']);
  });

  it.skipIf(!isHere('zsh'))('does the same in zsh', () => {
    expect(
      completedByZsh(
        'turnstone outb',
        'turnstone outbox rej',
        'turnstone outbox export --format c',
        'turnstone outbox list --li',
        'turnstone scan mo',
        'turnstone check-config gate',
      ),
    ).toEqual([
      'turnstone outbox ',
      'turnstone outbox rejected ',
      'turnstone outbox export --format csv ',
      'turnstone outbox list --limit=',
      'turnstone scan modbus ',
      'turnstone check-config gateway\\ one.yaml ',
    ]);
  });
});
