/** One command of the command line as commander parses it, made from its declaration. */
import { Argument, type Command as Commander, CommanderError, Option, Command as Program } from 'commander';
import { DEFAULT_CONFIG_FILE } from '../../config/fields/default-places.ts';
import type { AgentCalls, AgentFlags } from '../agent-calls.ts';
import type { Command, Parameter } from '../command.ts';
import type { Edge } from '../edge.ts';
import { CommandError, EXIT, usageError } from '../exit-code.ts';
import { Printer } from '../printer.ts';
import { DESCRIPTION, helpAfter, OVERVIEW } from './overview.ts';
import { dashed, flagOf, parametersOf, subcommandsOf } from './spelling.ts';

/** Runs what the words say. @throws CommandError with exit code 2 for what commander refuses. */
export async function parseAndRun(words: readonly string[], edge: Edge, asJson: boolean): Promise<void> {
  try {
    await (await programFor(words, edge, asJson)).parseAsync(words, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return;
    // Help has been printed, because a subcommand was not named.
    if (error.code === 'commander.help' && !asJson) throw usageError('');
    const message = error.code === 'commander.help' ? `${words[0]} needs a subcommand` : oneLine(error.message);
    throw usageError(message, { nextStep: 'see turnstone --help' });
  }
}

/** The program with the one command that is asked for. */
export async function programFor(words: readonly string[], edge: Edge, asJson = false): Promise<Commander> {
  const program = new Program('turnstone')
    .description(DESCRIPTION)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => edge.stdout.write(text),
      writeErr: (text) => (asJson ? undefined : edge.stderr.write(text)),
      getOutHelpWidth: () => edge.stdout.columns,
      getErrHelpWidth: () => edge.stderr.columns,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
      outputError: () => undefined,
    });
  const [name = ''] = words;
  if (Object.hasOwn(OVERVIEW, name)) add(program, (await OVERVIEW[name]?.load()) as Command, edge);
  return program;
}

function add(parent: Commander, declared: Command, edge: Edge, isDefault = false): void {
  const { name, says, isHidden = false, examples = [], notes, exitCodes, run } = declared;
  const command = parent.command(name, { hidden: isHidden, isDefault }).description(says);
  for (const [key, parameter] of Object.entries(declared.arguments ?? {}))
    command.addArgument(argumentOf(key, parameter));
  for (const [key, parameter] of Object.entries(parametersOf(declared))) command.addOption(optionOf(key, parameter));
  if (examples.length > 0)
    command.addHelpText('after', helpAfter(examples, notes, exitCodes && `Exit codes: ${exitCodes}.`));
  for (const subcommand of subcommandsOf(declared))
    add(command, subcommand, edge, subcommand.name === declared.defaultSubcommand);
  if (run !== undefined) command.action(() => call(declared, command, edge));
}

async function call(what: Command, command: Commander, bare: Edge): Promise<void> {
  const { run, agent: need, takesSettings, arguments: declared = {} } = what;
  const flags = command.optsWithGlobals<AgentFlags & Record<string, unknown>>();
  const args = Object.fromEntries(Object.keys(declared).map((key, index) => [key, command.processedArgs[index]]));
  const edge = await withServiceVariables(bare, what, command);
  const settings =
    takesSettings === true ? await (await import('../settings-file.ts')).settingsAsDefaults(edge.environment) : {};
  const print = new Printer(edge, flags.json === true, settings.colours);
  let reached: Promise<AgentCalls> | undefined;
  const reach = async (): Promise<AgentCalls> =>
    (await import('../agent-calls.ts')).reachAgent(flags, edge, typeof need === 'function' ? need : undefined);
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
  const { withServiceEnvironment } = await import('../../config/environment-file.ts');
  // Beside a running agent nothing of it may be needed.
  const tell = (text: string): void => void (reads && edge.stderr.write(`turnstone: ${text}`));
  return { ...edge, environment: await withServiceEnvironment(named ?? DEFAULT_CONFIG_FILE, edge.environment, tell) };
}

function argumentOf(key: string, { says, parse, byDefault, choices, isVariadic }: Parameter): Argument {
  const name = `${dashed(key)}${isVariadic === true ? '...' : ''}`;
  const argument = new Argument(byDefault === undefined ? `<${name}>` : `[${name}]`, says);
  if (parse !== undefined) argument.argParser(parse);
  if (choices !== undefined) argument.choices(choices);
  return argument.default(byDefault, isVariadic === true ? String(byDefault) : undefined);
}

function optionOf(key: string, { says, short, value, parse, byDefault, choices, ...is }: Parameter): Option {
  const name = `${short === undefined ? '' : `-${short}, `}${flagOf(key, is)}`;
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

function oneLine(text: string): string {
  return text
    .trim()
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ');
}
