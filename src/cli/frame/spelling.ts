/** How declarations are spelt on the command line: names with dashes, and the options that a command takes in all. */
import { AGENT_OPTIONS, type Command, type Parameter, type Parameters } from '../command.ts';

/** `tlsPort` is `tls-port`. */
export function dashed(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** `--tls-port`, `--no-scan`. */
export function flagOf(key: string, { isNegation }: Pick<Parameter, 'isNegation'>): string {
  return `--${isNegation === true ? 'no-' : ''}${dashed(key)}`;
}

/** Options of a command: its own, and those by which one that asks the agent finds it. */
export function parametersOf({
  run,
  agent = 'none',
  options = {},
}: Pick<Command, 'run' | 'agent' | 'options'>): Parameters {
  const takesAgent = run !== undefined && agent !== 'none' && !Object.hasOwn(options, 'runFolder');
  return { ...(takesAgent ? AGENT_OPTIONS : {}), ...options };
}

/** Subcommands with the agent of their group, where they say nothing else. */
export function subcommandsOf({ agent = 'none', subcommands = [] }: Command): readonly Command[] {
  return subcommands.map((subcommand) => ({ agent, ...subcommand }));
}
