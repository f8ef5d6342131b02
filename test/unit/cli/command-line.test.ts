import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { programFor } from '../../../src/cli/frame/commander-program.ts';
import { OVERVIEW } from '../../../src/cli/frame/overview.ts';
import { commandNames, runCommandLine } from '../../../src/cli/frame/program.ts';
import { fakeEdge } from '../../support/fake-edge.ts';

async function run(words: readonly string[], edge = fakeEdge()) {
  const exitCode = await runCommandLine(words, { edge, version: () => '1.2.3' });
  return { exitCode, out: edge.out(), err: edge.err() };
}

describe('the command line', () => {
  it('prints its version', async () => {
    expect(await run(['--version'])).toEqual({ exitCode: EXIT.ok, out: '1.2.3\n', err: '' });
  });

  it('lists every command, with examples and exit codes', async () => {
    const { exitCode, out } = await run(['--help']);
    expect(exitCode).toBe(EXIT.ok);
    for (const name of commandNames()) expect(out).toMatch(new RegExp(`^  ${name}[ \\n]`, 'm'));
    expect(out).toContain('Examples:');
    expect(out).toContain('78 wrong configuration');
  });

  it.each(commandNames())('has a help for %s with a description and examples', async (name) => {
    const { exitCode, out } = await run([name, '--help']);
    expect(exitCode).toBe(EXIT.ok);
    expect(out).toMatch(new RegExp(`^Usage: turnstone ${name}`));
    expect(out).toMatch(new RegExp(`Examples:\\n {2}\\$ turnstone ${name}`));
  });

  it.each(commandNames())('has a command called %s in its file', async (name) => {
    const program = await programFor([name], fakeEdge());
    expect(program.commands.map((command) => command.name())).toEqual([name]);
    expect(program.commands[0]?.description()).not.toBe('');
  });

  it.each(Object.entries(OVERVIEW))(
    'has in its overview the declaration of %s',
    async (name, { says, isHidden = false, load }) => {
      const declared = await load();
      expect({ name, says, isHidden }).toEqual({
        name: declared.name,
        says: declared.says,
        isHidden: declared.isHidden ?? false,
      });
    },
  );

  it('loads no command and no parser for its overview', () => {
    const folder = join(import.meta.dirname, '../../../src');
    const seen = new Set<string>();
    const look = (file: string): void => {
      if (seen.has(file)) return;
      seen.add(file);
      for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(
        /^(?:import|export) (?!type)[^;]*from '([^']+)'/gm,
      ))
        if (path.startsWith('.')) look(join(file, '..', path));
        else seen.add(path);
    };
    look(join(folder, 'main.ts'));
    const inside = [...seen].map((file) => file.replace(`${folder}/`, '')).sort();
    expect(inside).toEqual([
      'cli/exit-code.ts',
      'cli/frame/error-report.ts',
      'cli/frame/overview.ts',
      'cli/frame/program.ts',
      'cli/sentences.ts',
      'errors/agent-error.ts',
      'host/environment.ts',
      'host/version.ts',
      'main.ts',
      'node:events',
      'node:fs',
      'node:module',
    ]);
  });

  it('folds its overview to the terminal', async () => {
    const { out } = await run(['--help'], fakeEdge({ isTerminal: true, columns: 80 }));
    const [above = ''] = out.split('Examples:');
    expect(Math.max(...above.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(above).toContain('\n  safe-states     set the safe states that are declared for a stop or a crash,');
  });

  it('shows the overview on stderr when nothing is asked for, and helps with a command by either word', async () => {
    const overview = await run(['--help']);
    expect(await run([])).toEqual({ exitCode: EXIT.usage, out: '', err: overview.out });
    expect(await run(['help'])).toEqual(overview);
    expect(await run(['help', 'outbox', 'list'])).toEqual(await run(['outbox', 'list', '--help']));
    expect((await run(['help', 'outbux'])).err).toContain('(Did you mean outbox?)');
  });

  it.each([
    [['check-confg'], "unknown command 'check-confg' (Did you mean check-config?)"],
    [['--jsn'], "unknown option '--jsn'"],
    [['status', '--jsn'], "unknown option '--jsn' (Did you mean --json?)"],
    [['doctor', 'a', 'b'], 'too many arguments'],
  ])('tells in one line what is wrong with %j', async (words, message) => {
    const { exitCode, out, err } = await run(words);
    expect(exitCode).toBe(EXIT.usage);
    expect(out).toBe('');
    expect(err).toContain(message);
    expect(err).toMatch(/^turnstone: [^\n]+; see turnstone --help\n$/);
  });

  it('prints no colour where no terminal is, nor where none is wanted', async () => {
    const words = ['check-config', new URL('../../fixtures/config/unknown-key.yaml', import.meta.url).pathname];
    const colour = '\u001b[';
    expect((await run(words)).out).not.toContain(colour);
    expect((await run(words, fakeEdge({ isTerminal: true }))).out).toContain(colour);
    expect((await run(words, fakeEdge({ isTerminal: true, environment: { NO_COLOR: '1' } }))).out).not.toContain(
      colour,
    );
    expect((await run(words, fakeEdge({ isTerminal: true, environment: { TERM: 'dumb' } }))).out).not.toContain(colour);
  });

  it('loads no code for help: declarations import what describes and parses, and nothing that works', () => {
    const folder = join(import.meta.dirname, '../../../src/cli/commands');
    const imported = readdirSync(folder).flatMap((file) =>
      [...readFileSync(join(folder, file), 'utf8').matchAll(/^import (?!type)[^;]*from '([^']+)'/gm)].map(
        ([, path]) => path,
      ),
    );
    const light = [
      '../command.ts',
      '../sentences.ts',
      '../../config/fields/default-places.ts',
      '../../values/json.ts',
      '../range-words.ts',
      '../../stand-ins/local-platform/rate-limit.ts',
      '../../timeline/kinds.ts',
    ];
    expect(imported.filter((path) => !(path?.startsWith('./') || light.includes(path ?? '')))).toEqual([]);
  });

  it('tells times in UTC alone', () => {
    const folder = join(import.meta.dirname, '../../../src/cli');
    const texts = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => [file, readFileSync(join(folder, file), 'utf8')] as const);
    const isLocal = /toLocale(Date|Time)|DateTimeFormat|\.get(Hours|Minutes|Date|Month|FullYear)\(|local-time/;
    expect(texts.filter(([, text]) => isLocal.test(text)).map(([file]) => file)).toEqual([]);
    // What is cut off of an ISO time, or replaced in it, must not be its zone.
    const cut = texts.flatMap(([file, text]) =>
      (text.match(/toISOString\(\)[^;]*;/g) ?? []).map((call) => [file, call] as const),
    );
    expect(cut.filter(([, call]) => /slice|replace/.test(call) && !/'\.?0*Z'|'Z'/.test(call))).toEqual([]);
  });
});
