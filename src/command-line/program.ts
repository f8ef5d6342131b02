/** The command line: which commands there are, made from their declarations, and what an error of theirs looks like. */
import { Argument, type Command as Commander, CommanderError, Option, Command as Program } from 'commander';
import type { AgentCalls, AgentFlags } from '../cli/agent-calls.ts';
import { AGENT_OPTIONS, type Command, type Parameter } from '../cli/command.ts';
import type { Edge } from '../cli/edge.ts';
import { CommandError, EXIT, type ExitCode } from '../cli/exit-code.ts';
import { Printer } from '../cli/printer.ts';
import { DEFAULT_CONFIG_FILE } from '../config/fields/default-places.ts';
import { AgentError, hasCode } from '../errors/agent-error.ts';

/** In the order in which `--help` lists them; a call loads its own alone. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  init: async () => (await import('../cli/commands/init.ts')).INIT,
  run: async () => (await import('../cli/commands/run.ts')).RUN,
  logs: async () => (await import('../cli/commands/logs.ts')).LOGS,
  'check-config': async () => (await import('../cli/commands/run.ts')).CHECK_CONFIG,
  doctor: async () => (await import('../cli/commands/doctor.ts')).DOCTOR,
  diagnose: async () => (await import('../cli/commands/doctor.ts')).DIAGNOSE,
  status: async () => (await import('../cli/commands/status.ts')).STATUS,
  firmware: async () => (await import('../cli/commands/firmware.ts')).FIRMWARE,
  sensors: async () => (await import('../cli/commands/status.ts')).SENSORS,
  watch: async () => (await import('../cli/commands/status.ts')).WATCH,
  actuate: async () => (await import('../cli/commands/status.ts')).ACTUATE,
  devices: async () => (await import('../cli/commands/devices.ts')).DEVICES,
  outbox: async () => (await import('../cli/commands/outbox.ts')).OUTBOX,
  scan: async () => (await import('../cli/commands/init.ts')).SCAN,
  models: async () => (await import('../cli/commands/models.ts')).MODELS,
  claim: async () => (await import('../cli/commands/identity.ts')).CLAIM,
  identity: async () => (await import('../cli/commands/identity.ts')).IDENTITY,
  report: async () => (await import('../cli/commands/report.ts')).REPORT,
  audit: async () => (await import('../cli/commands/report.ts')).AUDIT,
  rpc: async () => (await import('../cli/commands/status.ts')).RPC,
  'safe-states': async () => (await import('../cli/commands/run.ts')).SAFE_STATES,
  platform: async () => (await import('../cli/commands/platform.ts')).PLATFORM,
  board: async () => (await import('../cli/commands/platform.ts')).BOARD,
  backup: async () => (await import('../cli/commands/backup.ts')).BACKUP,
  restore: async () => (await import('../cli/commands/backup.ts')).RESTORE,
  settings: async () => (await import('../cli/commands/settings.ts')).SETTINGS,
};

const EXAMPLES = ['check-config /etc/turnstone/turnstone.yaml', 'run --config /etc/turnstone/turnstone.yaml', 'status'];
const EXIT_CODES = `\
Exit codes: 0 done · 1 failed, or something must be mended · 2 wrong command line · 66 configuration not readable now
            69 no agent runs · 70 fault of the program · 77 no permission · 78 wrong configuration · 130 interrupted`;

/** Returns the commands that can be typed after `turnstone`. */
export function commandNames(): readonly string[] {
  return Object.keys(COMMANDS);
}

/** Runs one command line to its end; resolves to the exit code. Nothing is thrown. */
export async function runCommandLine(
  words: readonly string[],
  deps: { readonly edge: Edge; readonly version: () => string },
): Promise<ExitCode> {
  const { edge, version } = deps;
  try {
    if (words[0] === '--version' || words[0] === '-V') edge.stdout.write(`${version()}\n`);
    else await (await programFor(words, edge)).parseAsync(words, { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    return report(error, edge);
  }
}

/** The program with the one command that is asked for, or with all of them for help and for suggestions. */
export async function programFor(words: readonly string[], edge: Edge): Promise<Commander> {
  const program = new Program('turnstone')
    .description('Device agent: telemetry that is never lost, actuators that move exactly once')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => edge.stdout.write(text),
      writeErr: (text) => edge.stderr.write(text),
      getOutHelpWidth: () => edge.stdout.columns,
      getErrHelpWidth: () => edge.stderr.columns,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
      outputError: (text, write) => write(`turnstone: ${oneLine(text)}; see turnstone --help\n`),
    })
    .option('-V, --version', 'print the version')
    .addHelpText('after', helpAfter(EXAMPLES, EXIT_CODES));
  const wanted = words[0] !== undefined && Object.hasOwn(COMMANDS, words[0]) ? [words[0]] : Object.keys(COMMANDS);
  for (const name of wanted) {
    const declared = await COMMANDS[name]?.();
    if (declared !== undefined) add(program, declared, edge);
  }
  return program;
}

function add(parent: Commander, declared: Command, edge: Edge, isDefault = false): void {
  const { name, says, agent = 'none', isHidden = false, options = {}, examples = [], notes, exitCodes, subcommands = [], run } = declared;
  const command = parent.command(name, { hidden: isHidden, isDefault }).description(says);
  for (const [key, parameter] of Object.entries(declared.arguments ?? {})) command.addArgument(argumentOf(key, parameter));
  const takesAgent = run !== undefined && agent !== 'none' && !Object.hasOwn(options, 'runFolder');
  for (const [key, parameter] of Object.entries({ ...(takesAgent ? AGENT_OPTIONS : {}), ...options }))
    command.addOption(optionOf(key, parameter));
  if (examples.length > 0) command.addHelpText('after', helpAfter(examples, notes, exitCodes && `Exit codes: ${exitCodes}.`));
  for (const subcommand of subcommands) add(command, { agent, ...subcommand }, edge, subcommand.name === declared.defaultSubcommand);
  if (run !== undefined) command.action(() => call(declared, command, edge));
}

async function call(what: Command, command: Commander, bare: Edge): Promise<void> {
  const { run, agent: need, takesSettings, arguments: declared = {} } = what;
  const flags = command.optsWithGlobals<AgentFlags & Record<string, unknown>>();
  const args = Object.fromEntries(Object.keys(declared).map((key, index) => [key, command.processedArgs[index]]));
  const edge = await withServiceVariables(bare, what, command);
  const settings = takesSettings === true ? await (await import('../cli/settings-file.ts')).settingsAsDefaults(edge.environment) : {};
  const print = new Printer(edge, flags.json === true, settings.colours);
  let reached: Promise<AgentCalls> | undefined;
  const reach = async (): Promise<AgentCalls> =>
    (await import('../cli/agent-calls.ts')).reachAgent(flags, edge, typeof need === 'function' ? need : undefined);
  const agent = (): Promise<AgentCalls> => (reached ??= reach());
  try {
    await run?.({ flags, args, edge, print, settings, agent });
  } finally {
    await (await reached?.catch(() => undefined))?.close();
  }
  if (print.exitCode !== EXIT.ok) throw new CommandError('', { exitCode: print.exitCode });
}

/** The edge of a command that reads a configuration; of the installed one with the variables that the service has for it. */
async function withServiceVariables(
  edge: Edge,
  { options = {}, arguments: declared = {}, agent }: Command,
  command: Commander,
): Promise<Edge> {
  const isArgument = Object.values(declared).some(({ byDefault }) => [byDefault].flat().includes(DEFAULT_CONFIG_FILE));
  const reads = isArgument || Object.hasOwn(options, 'config');
  if (!reads && typeof agent !== 'function') return edge;
  const named = isArgument ? command.processedArgs.flat()[0] : command.optsWithGlobals<AgentFlags>().config;
  const { withServiceEnvironment } = await import('../config/environment-file.ts');
  // Beside a running agent nothing of it may be needed.
  const tell = (text: string): void => void (reads && edge.stderr.write(`turnstone: ${text}`));
  return { ...edge, environment: await withServiceEnvironment(named ?? DEFAULT_CONFIG_FILE, edge.environment, tell) };
}

function argumentOf(key: string, { says, parse, byDefault, isVariadic }: Parameter): Argument {
  const name = `${dashed(key)}${isVariadic === true ? '...' : ''}`;
  const argument = new Argument(byDefault === undefined ? `<${name}>` : `[${name}]`, says);
  if (parse !== undefined) argument.argParser(parse);
  return argument.default(byDefault, isVariadic === true ? String(byDefault) : undefined);
}

function optionOf(key: string, { says, short, value, parse, byDefault, choices, ...is }: Parameter): Option {
  const name = `${short === undefined ? '' : `-${short}, `}--${is.isNegation === true ? 'no-' : ''}${dashed(key)}`;
  const option = new Option(value === undefined ? name : `${name} ${value}`, says)
    .makeOptionMandatory(is.isRequired === true)
    .hideHelp(is.isHidden === true);
  if (is.isRepeatable === true)
    option.argParser((text, before: readonly unknown[] = []) => [...before, parse === undefined ? text : parse(text)]);
  else if (parse !== undefined) option.argParser(parse);
  if (choices !== undefined) option.choices(choices);
  if (byDefault !== undefined) option.default(byDefault);
  return option;
}

function helpAfter(examples: readonly string[], ...below: readonly (string | undefined)[]): string {
  const said = below.filter((text) => text !== undefined);
  return [
    '',
    'Examples:',
    ...examples.map((line) => `  $ ${line.startsWith('sudo ') ? line : `turnstone ${line}`}`),
    ...(said.length === 0 ? [] : ['', ...said]),
  ].join('\n');
}

function oneLine(text: string): string {
  return text
    .trim()
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ');
}

function dashed(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** One line that says what is wrong and what to do next; a stack trace only for faults of the program itself. */
function report(error: unknown, edge: Edge): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (error instanceof CommandError) {
    if (error.message !== '') edge.stderr.write(`turnstone: ${error.message}\n`);
    return error.exitCode;
  }
  if (hasCode(error, 'control-socket/interrupted')) return EXIT.interrupted;
  if (error instanceof AgentError) {
    edge.stderr.write(`turnstone: ${error.message}\n`);
    return exitCodeOf(error);
  }
  edge.stderr.write(`turnstone: fault of the program: ${error instanceof Error ? error.stack : String(error)}\n`);
  return EXIT.internal;
}

function exitCodeOf({ code, recovery }: AgentError): ExitCode {
  // systemd is to start it again: what is missing may come with a mount or a credential.
  if (code === 'config/not-now') return EXIT.failure;
  if (code === 'config/unreadable' && recovery === 'retry') return EXIT.unreadable;
  if (code.startsWith('config/')) return EXIT.badConfig;
  if (code === 'control-socket/not-running' || code === 'control-socket/lost') return EXIT.notRunning;
  return code === 'control-socket/no-permission' ? EXIT.noPermission : EXIT.failure;
}
