/** turnstone(1), from the declarations of the commands. */
import { allCommands, DESCRIPTION, EXIT_CODES } from '../../src/cli/frame/overview.ts';
import { flattened, type SurfaceCommand, type SurfaceOption, surfaceOf } from '../../src/cli/frame/surface.ts';
import { formatDuration } from '../../src/config/fields/quantity.ts';
import { bold, definition, example, heading, italic, paragraphs, plain, subheading, title } from './roff.ts';

const FILES = [
  ['/etc/turnstone/turnstone.yaml', 'The configuration; see turnstone.yaml(5).'],
  ['/var/lib/turnstone', 'State folder: the outbox, credentials, journals, the memory of outputs.'],
  ['/run/turnstone', 'Run folder: control sockets, by which commands reach the running agent.'],
] as const;

const SIGNALS = [
  [
    'SIGTERM, SIGINT',
    'turnstone run makes readings durable, sends what it can and stops; a second one ends it at once.',
  ],
  ['SIGHUP', 'turnstone run reads the configuration again and changes only what changed.'],
] as const;

const ENVIRONMENT = [
  ['TURNSTONE_ANALYTICS_PASSWORD', 'Password of report and audit, where neither a file nor the configuration has it.'],
  ['NO_COLOR', 'Not empty: no colours.'],
  ['XDG_CONFIG_HOME', 'Folder of the settings that turnstone settings keeps.'],
] as const;

export async function commandPage(version: string): Promise<string> {
  const commands = surfaceOf(await allCommands());
  const terms = (rows: readonly (readonly [string, string])[]): string =>
    rows.map(([term, says]) => definition(bold(term), says)).join('');
  return [
    title('turnstone', 1, version, 'device agent for Linux gateway hardware'),
    heading('SYNOPSIS'),
    ...flattened(commands).flatMap((command, at) =>
      command.runs ? [`${at === 0 ? '' : '.br\n'}${synopsis(command)}\n`] : [],
    ),
    heading('DESCRIPTION'),
    paragraphs(`${DESCRIPTION}.`),
    heading('OPTIONS'),
    definition(`${bold('-V')}, ${bold('--version')}`, 'print the version'),
    definition(`${bold('-h')}, ${bold('--help')}`, 'display help for the command that stands before it'),
    definition(bold('--json'), 'where a command has it: its result, and an error, as one line of JSON'),
    heading('COMMANDS'),
    ...flattened(commands).map(section),
    heading('EXIT STATUS'),
    ...exitCodes(),
    heading('FILES'),
    terms(FILES),
    heading('ENVIRONMENT'),
    terms(ENVIRONMENT),
    heading('SIGNALS'),
    terms(SIGNALS),
    heading('SEE ALSO'),
    `${bold('turnstone.yaml')}(5), ${bold('systemctl')}(1)\n`,
  ].join('');
}

function synopsis({ path, arguments: args, options }: SurfaceCommand): string {
  const words = args.map(({ name, isOptional, isVariadic }) => {
    const word = `${italic(name)}${isVariadic ? '...' : ''}`;
    return isOptional ? `[${word}]` : word;
  });
  return [bold('turnstone'), bold(path), ...(options.length > 0 ? [`[${italic('options')}]`] : []), ...words].join(' ');
}

function section(command: SurfaceCommand): string {
  const { path, says, options, arguments: args, examples, notes, exitCodes: own } = command;
  return [
    subheading(`turnstone ${path}`),
    `${plain(says)}\n`,
    ...args.map((one) => definition(italic(one.name), wordsOf(one.says, one.offer))),
    ...options.map((option) => definition(termOf(option), wordsOf(option.says, option.offer, usualOf(option)))),
    notes === undefined ? '' : paragraphs(notes),
    own === undefined ? '' : paragraphs(`Exit status: ${own}.`),
    examples.length === 0
      ? ''
      : example(examples.map((line) => (line.startsWith('sudo ') ? line : `turnstone ${line}`))),
  ].join('');
}

function termOf({ flag, short, value }: SurfaceOption): string {
  const names = `${short === undefined ? '' : `${bold(short)}, `}${bold(flag)}`;
  return value === undefined ? names : `${names} ${italic(value.replace(/^<|>$/g, ''))}`;
}

/** The default as a person would type it: durations are milliseconds in the declarations. */
function usualOf({ value, byDefault }: SurfaceOption): string | undefined {
  if (typeof byDefault === 'number')
    return value === '<duration>' || value === '<time>' ? formatDuration(byDefault) : String(byDefault);
  return Array.isArray(byDefault) ? byDefault.join(',') : (byDefault as string | undefined);
}

function wordsOf(says: string, offer: SurfaceOption['offer'], byDefault?: string): string {
  const choices =
    offer.kind === 'words' && !offer.words.every((word) => says.includes(word))
      ? `one of ${offer.words.join(', ')}`
      : '';
  const usual = byDefault === undefined ? '' : `default ${byDefault}`;
  const more = [choices, usual].filter((part) => part !== '').join('; ');
  return more === '' ? says : `${says} (${more})`;
}

/** Each code with its meaning, from the lines below `turnstone --help`. */
function exitCodes(): readonly string[] {
  const parts = EXIT_CODES.replace('Exit codes: ', '').split(/ · |\n/);
  return parts.map((one) => {
    const [, code = '', says = ''] = /^\s*(\d+) (.*)$/.exec(one) ?? [];
    return definition(bold(code), says);
  });
}
