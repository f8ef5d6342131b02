import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { allCommands } from '../../../src/cli/frame/overview.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { flattened, surfaceOf } from '../../../src/cli/frame/surface.ts';
import { fakeEdge } from '../../support/fake-edge.ts';

/** Values of options that nobody may take, by how help writes what is wanted. */
const WRONG: Readonly<Record<string, string>> = {
  '<number>': 'many',
  '<seconds>': '-1',
  '<duration>': 'soon',
  '<time>': 'soonish',
  '<url>': 'iot.example.org',
  '<windows>': '100 in 1 s',
  '<format>': 'pdf',
  '<where>': 'everywhere',
  '<kind>': 'gossip',
  '<way>': 'by-mail',
  '<language>': 'cobol',
  '<event>': 'party',
  '<rates>': 'fast',
  '<parities>': 'some',
  '<numbers>': '0-1000',
  '<name=a,b>': 'a',
  '<level>': 'loud',
  '<order>': 'colour',
  '<count>': 'many',
  '<key=label>': 'a',
  '<name=token>': 'a',
  '<path=value>': 'a',
};
/** Two placeholders of several meanings, by their option. */
const WRONG_FOR: Readonly<Record<string, string>> = {
  'init --access-token-env': 'MY TOKEN',
  'devices move --slot': 'slot 7',
  'platform-setup --profile': '<b>',
  'platform-setup --customer': '<b>',
  'platform-setup --url': 'iot.example.org',
  'report --url': 'ftp://example.org',
  'report --auth-url': 'example.org',
  'audit --url': 'ftp://example.org',
  'audit --auth-url': 'https://user:word@example.org',
};
/** Any text may stand there; what it names is looked for, or compared, when the command runs. */
const FREE = [
  ['<file>', '<folder>', '<socket>', '<path>', '<port>', '<address>', '<label>', '<template>', '<version>', '<key>'],
  [
    'report --user',
    'audit --user',
    'platform-setup --user',
    'audit --device',
    'outbox rejected --device',
    'scan --broker',
    'scan --host',
    'scan --user',
    'alarms acknowledge --name',
    'alarms acknowledge --device',
  ],
].flat();
/** Arguments that are not the one looked at. */
const RIGHT: Readonly<Record<string, string>> = {
  'view-id': '7e57ab1e-0000-4000-8000-000000000001',
  bus: 'i2c',
  shell: 'bash',
};
const WRONG_ARGUMENTS = [
  ['scan', 'spi'],
  ['completion', 'tcsh'],
  ['report', 'my-view'],
  ['audit', 'my-view'],
  ['rpc', 'getTime', '{day: 1}'],
  ['actuate', 'pump', 'on', '--release'],
  ['settings', 'set', 'platform.uri', 'x'],
  ['settings', 'set', 'colours', 'pink'],
  ['settings', 'unset', 'platform.uri'],
  ['models', 'no-such-model', '--config', join(import.meta.dirname, 'turnstone.yaml')],
  ['identity', 'import', '/no/such/file', '--config', join(import.meta.dirname, 'turnstone.yaml')],
  ['scan', 'modbus', '--host', '127.0.0.1', '--port', '/dev/ttyUSB0'],
  ['outbox', 'list', '--last', '1h', '--from', '2h'],
  ['report', RIGHT['view-id'] ?? '', '--last', '1h', '--from', '2h'],
];

const commands = flattened(surfaceOf(await allCommands()));
const options = commands.flatMap((command) =>
  command.options.flatMap(({ flag, value }) =>
    value === undefined ? [] : [{ command, flag, value, name: `${command.path} ${flag}` }],
  ),
);

async function run(words: readonly string[]) {
  const edge = fakeEdge({ environment: { XDG_CONFIG_HOME: '/nonexistent' } });
  return { exitCode: await runCommandLine(words, { edge, version: () => '1' }), out: edge.out(), err: edge.err() };
}

describe('a wrong value', () => {
  it.each(options.filter(({ name, value }) => !FREE.includes(name) && (name in WRONG_FOR || !FREE.includes(value))))(
    'of $name ends with 2, and says in one line what may stand there',
    async ({ command, flag, value, name }) => {
      const wrong = WRONG_FOR[name] ?? WRONG[value];
      expect([value, wrong]).toEqual([value, expect.any(String)]);
      const words = [...command.path.split(' '), ...command.arguments.map((one) => RIGHT[one.name] ?? 'any')];
      const { exitCode, out, err } = await run([...words, `${flag}=${wrong}`]);
      expect({ exitCode, out }).toEqual({ exitCode: EXIT.usage, out: '' });
      expect(err).toMatch(/^turnstone: option '.*' argument '.*' is invalid\. [^\n]+; see turnstone --help\n$/);
    },
  );

  it.each(WRONG_ARGUMENTS)('of an argument ends with 2: %s %s %s', async (...words) => {
    const { exitCode, err } = await run(words);
    expect([exitCode, err]).toEqual([EXIT.usage, expect.stringMatching(/^turnstone: [^\n]+\n$/)]);
  });

  it.each(commands.filter((one) => one.arguments.some(({ isOptional }) => !isOptional)))(
    'is none at all, where $path must have one',
    async ({ path }) => {
      const { exitCode, err } = await run(path.split(' '));
      expect([exitCode, err]).toEqual([EXIT.usage, expect.stringContaining('missing required argument')]);
    },
  );
});

describe('an error under --json', () => {
  const errorOf = async (...words: readonly string[]) => {
    const { exitCode, out, err } = await run(words);
    expect(out).toBe('');
    expect(err).toMatch(/^[^\n]+\n$/);
    return { exitCode, ...(JSON.parse(err) as { readonly error: unknown }) };
  };

  it('is one line with the code of the fault, what is wrong, and what to do', async () => {
    const folder = join(import.meta.dirname, 'no-such-folder');
    expect(await errorOf('status', '--json', '--run-folder', folder)).toEqual({
      exitCode: EXIT.notRunning,
      error: {
        code: 'control-socket/not-running',
        message: `no agent answers in ${folder}`,
        hint: 'start it (sudo systemctl start turnstone), or name its --run-folder',
      },
    });
  });

  it('is the same for what the command line itself refuses', async () => {
    const hint = 'see turnstone --help';
    expect(await errorOf('status', '--json', '--jsn')).toEqual({
      exitCode: EXIT.usage,
      error: { code: 'cli/usage', message: "unknown option '--jsn' (Did you mean --json?)", hint },
    });
    expect(await errorOf('sttus', '--json')).toEqual({
      exitCode: EXIT.usage,
      error: { code: 'cli/usage', message: "unknown command 'sttus' (Did you mean status?)", hint },
    });
    expect(await errorOf('firmware', '--json')).toMatchObject({ exitCode: EXIT.usage, error: { code: 'cli/usage' } });
  });

  it('is in words where --json is no option', async () => {
    expect((await run(['sttus', '--', '--json'])).err).toMatch(/^turnstone: unknown command/);
  });
});

it('every file of commands is in the overview', async () => {
  const files = readdirSync(join(import.meta.dirname, '../../../src/cli/commands'));
  const loads = Object.values((await import('../../../src/cli/frame/overview.ts')).OVERVIEW).map(({ load }) =>
    String(load),
  );
  expect(files.filter((file) => !loads.some((text) => text.includes(`commands/${file}`)))).toEqual([]);
});
