import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { logLineOf, logLineText } from '../../../src/cli/log-lines.ts';
import { type FakeEdge, type FakeEdgeOptions, fakeEdge } from '../../support/fake-edge.ts';

const record = (level: string, msg: string, more: object = {}): string =>
  JSON.stringify({ level, time: '2020-11-28T07:10:14.123Z', ...more, msg });
const inJournal = (message: string, cursor: string, more: object = {}): string =>
  JSON.stringify({
    __CURSOR: cursor,
    __REALTIME_TIMESTAMP: '1606547414123456',
    PRIORITY: '6',
    MESSAGE: message,
    ...more,
  });

async function logs(words: readonly string[], options: FakeEdgeOptions = {}) {
  const edge = fakeEdge(options);
  const exitCode = await runCommandLine(['logs', ...words], { edge, version: () => '1' });
  return { exitCode, out: edge.out(), err: edge.err() };
}

async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-logs-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

describe('a line of the log', () => {
  it.each([
    [
      record('warn', 'slow', { sensor: 'roof', ms: 12, error: 'no answer', at: { a: 1 } }),
      '2020-11-28 07:10:14Z WARN  slow  sensor=roof ms=12 error="no answer" at={"a":1}\n',
    ],
    [inJournal(record('error', 'lost'), 'c'), '2020-11-28 07:10:14Z ERROR lost\n'],
    [inJournal('Started it.', 'c'), '2020-11-28 07:10:14Z INFO  Started it.\n'],
    [inJournal('Main process exited', 'c', { PRIORITY: '4' }), '2020-11-28 07:10:14Z WARN  Main process exited\n'],
    [JSON.stringify({ __REALTIME_TIMESTAMP: '1606547414123456', MESSAGE: [104, 105] }), '2020-11-28 07:10:14Z hi\n'],
    ['not of ours', 'not of ours\n'],
    ['{"half', '{"half\n'],
    ['{"level":"info"}', '{"level":"info"}\n'],
    [
      record('info', 'sly \u001b[2J', { 'na\u0007me': '\u001b]0;' }),
      '2020-11-28 07:10:14Z INFO  sly \ufffd[2J  na\ufffdme=\ufffd]0;\n',
    ],
    ['{"level":"info","time":"nonsense","msg":"a"}', 'INFO  a\n'],
    [`{"__REALTIME_TIMESTAMP":"9${'9'.repeat(30)}","MESSAGE":"a"}`, 'a\n'],
  ])('%s is told in words', (text, expected) => {
    expect(logLineText(logLineOf(text))).toBe(expected);
  });

  it('is bounded, whatever its fields', () => {
    expect(logLineText(logLineOf(record('info', 'a', { long: 'x'.repeat(10_000) }))).length).toBeLessThan(600);
  });
});

describe('turnstone logs', () => {
  it('shows the last lines of a file, of a level, as words or as they are', async () => {
    const lines = [
      record('debug', 'one'),
      record('error', 'two'),
      record('info', 'three'),
      record('warn', 'four'),
      record('error', 'five'),
    ];
    const file = join(await folderWith({ log: lines.join('\n') }), 'log');
    expect((await logs([file])).out.match(/[a-z]+$/gm)).toEqual(['one', 'two', 'three', 'four', 'five']);
    expect((await logs([file, '-n', '2', '--level', 'warn'])).out.match(/[a-z]+$/gm)).toEqual(['four', 'five']);
    expect((await logs([file, '--json', '-n', '1'])).out).toBe(`${lines.at(-1)}\n`);
    expect((await logs([file, '--since', '1h'])).out).toBe('');
  });

  it('shows what is piped in, cut wherever it may be', async () => {
    const text = `${record('info', 'one')}\n${record('warn', 'two')}\nplain`;
    const { out } = await logs(['-f', '-', '--level', 'warn'], { input: [text.slice(0, 30), text.slice(30)] });
    expect(out).toBe('2020-11-28 07:10:14Z WARN  two\nplain\n');
  });

  it('says what cannot be: a file that is not there, one that is to be followed, one that is no log', async () => {
    expect(await logs(['/nowhere/log'])).toMatchObject({
      exitCode: EXIT.usage,
      err: 'turnstone: cannot read /nowhere/log: ENOENT\n',
    });
    expect((await logs(['-f', 'log'])).err).toContain('tail -f log | turnstone logs -f -');
    expect((await logs(['-'], { input: ['x'.repeat(300_000)] })).err).toContain('this is no log');
  });

  it('refuses a count or a level that is none', async () => {
    expect((await logs(['-n', '0'])).exitCode).toBe(EXIT.usage);
    expect((await logs(['--level', 'loud'])).exitCode).toBe(EXIT.usage);
  });
});

describe('the journal', () => {
  /** A journal that says what it was asked, and first what is there, then what comes. */
  let script: string;
  beforeAll(() => {
    const present = [record('info', 'present'), record('warn', 'warned')].map((line, at) =>
      inJournal(line, `cursor-${at}`),
    );
    const coming = inJournal(record('warn', 'coming'), 'cursor-9');
    script = `#!/bin/sh
echo "$*" >> "\${0%/*}/asked"
case "$*" in
*--follow*) echo '${coming}' ;;
*) echo '${present.join("'; echo '")}' ;;
esac
`;
  });

  async function journal(text: string) {
    const folder = await folderWith({ journalctl: text });
    await chmod(join(folder, 'journalctl'), 0o755);
    return { PATH: `${folder}:/usr/bin:/bin`, folder };
  }

  it('is shown, and followed from where it ended', async () => {
    const { folder, PATH } = await journal(script);
    const { out, exitCode } = await logs(['-f', '--level', 'warn'], { environment: { PATH } });
    expect([out.match(/[a-z]+$/gm), exitCode]).toEqual([['warned', 'coming'], EXIT.ok]);
    const { readFile } = await import('node:fs/promises');
    const [first, second] = (await readFile(join(folder, 'asked'), 'utf8')).split('\n');
    expect(first).toContain('--unit turnstone.service');
    expect(second).toContain('--follow --after-cursor cursor-1');
  });

  it('is said to be missing, with what to do', async () => {
    const { err, exitCode } = await logs([], { environment: { PATH: '/nowhere' } });
    expect(err).toContain('there is no journal on this machine (journalctl cannot be started); name the file');
    expect(exitCode).toBe(EXIT.failure);
  });

  it('is said to be closed, in its own words', async () => {
    const { PATH } = await journal(
      '#!/bin/sh\necho "No journal files were opened due to insufficient permissions." >&2\nexit 1\n',
    );
    expect((await logs([], { environment: { PATH } })).err).toContain(
      'insufficient permissions.; try sudo turnstone logs',
    );
  });

  it('that shows nothing is told apart from an empty screen', async () => {
    const { PATH } = await journal('#!/bin/sh\nexit 0\n');
    const { err } = await logs([], { environment: { PATH } });
    expect(err).toMatch(/turnstone.service/);
  });
});

it('ends at the first Ctrl-C although nothing more is piped in', async () => {
  const silent = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from(`${record('info', 'measuring')}\n`);
    edge.stop();
    await new Promise(() => {});
  };
  const edge: FakeEdge = { ...fakeEdge(), stdin: silent() };
  expect(await runCommandLine(['logs', '-'], { edge, version: () => '1' })).toBe(EXIT.ok);
  expect(edge.out()).toContain('measuring');
});
