import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { commandNames, programFor, runCommandLine } from '../../../src/command-line/program.ts';
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

  it.each([
    [['check-confg'], "unknown command 'check-confg' (Did you mean check-config?)"],
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
    expect((await run(words, fakeEdge({ isTerminal: true, environment: { NO_COLOR: '1' } }))).out).not.toContain(colour);
    expect((await run(words, fakeEdge({ isTerminal: true, environment: { TERM: 'dumb' } }))).out).not.toContain(colour);
  });

  it('loads no code for help: declarations import what describes and parses, and nothing that works', () => {
    const folder = join(import.meta.dirname, '../../../src/cli/commands');
    const imported = readdirSync(folder).flatMap((file) =>
      [...readFileSync(join(folder, file), 'utf8').matchAll(/^import (?!type)[^;]*from '([^']+)'/gm)].map(([, path]) => path),
    );
    const light = ['../command.ts', '../../config/fields/default-places.ts', '../../host/json.ts', '../../local-platform/rate-limit.ts'];
    expect(imported.filter((path) => !(path?.startsWith('./') || light.includes(path ?? '')))).toEqual([]);
  });
});
