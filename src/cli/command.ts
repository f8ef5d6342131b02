/**
 * How a command is declared: one object in a file of its own, from which its help, its parsing and its call are made. A declaration
 * imports nothing that works: `run` brings the code when the command is called.
 */
import { InvalidArgumentError } from 'commander';
import { DEFAULT_CONFIG_FILE } from '../config/fields/default-places.ts';
import { parseDuration } from '../config/fields/quantity.ts';
import type { AgentCalls, AgentFiles, AgentFlags } from './agent-calls.ts';
import type { Edge } from './edge.ts';
import type { Printer } from './printer.ts';
import type { Settings } from './settings-keys.ts';

/** An option or argument; `T` is what the code gets. Without `value` an option is a switch. */
export interface Parameter<T = unknown> {
  readonly says: string;
  /** Its letter: `f` is `-f`. */
  readonly short?: string;
  /** As help writes it: `<file>`. */
  readonly value?: string;
  readonly parse?: (text: string) => unknown;
  readonly byDefault?: T;
  readonly choices?: readonly string[];
  /** `--no-name`: true unless it is said. */
  readonly isNegation?: boolean;
  readonly isRepeatable?: boolean;
  /** Takes all words that follow. */
  readonly isVariadic?: boolean;
  readonly isRequired?: boolean;
  readonly isHidden?: boolean;
}

/** By which every command that asks the agent finds it. */
export const AGENT_OPTIONS = {
  runFolder: valued('<folder>', 'run folder of the agent (default: /run/turnstone, or what --config says)'),
  config: valued('<file>', 'configuration of the agent, to find its run folder'),
};

/** Option of a command that reads the configuration itself. */
export const CONFIG = valued('<file>', 'the configuration', { byDefault: DEFAULT_CONFIG_FILE });

/** Option of a command that writes or reads an archive. */
export const PASSPHRASE_FILE = valued('<file>', 'the passphrase of the archive, from a file');

/** Option of a command whose whole answer may be had by a program. */
export const AS_JSON = { json: toggle('print as JSON') };

/** Read when neither a file nor the configuration has the password. */
export const PASSWORD_VARIABLE = 'TURNSTONE_ANALYTICS_PASSWORD';

/** By name: `tlsPort` is `--tls-port`. */
export type Parameters = Readonly<Record<string, Parameter>>;
export type Values<P extends Parameters> = {
  readonly [name in keyof P]: P[name] extends Parameter<infer T> ? T : never;
};

/** One call of a command. */
export interface Call<O extends Parameters = Parameters, A extends Parameters = Parameters> {
  readonly flags: Values<O> & AgentFlags;
  readonly args: Values<A>;
  readonly edge: Edge;
  readonly print: Printer;
  /** Settings of the person who calls; empty where the command takes none. */
  readonly settings: Settings;
  /** The running agent, or its files where the command takes them; closed when the command ends. @throws CommandError with exit code 69 or 77. */
  agent(): Promise<AgentCalls>;
}

export interface Command<O extends Parameters = Parameters, A extends Parameters = Parameters> {
  readonly name: string;
  readonly says: string;
  readonly arguments?: A;
  readonly options?: O;
  /** Without the program's name, but for those that begin with `sudo`. */
  readonly examples?: readonly string[];
  /** Stands below the examples. */
  readonly notes?: string;
  /** Those that this command gives a meaning of its own. */
  readonly exitCodes?: string;
  readonly isHidden?: boolean;
  /** Settings of the person who calls are defaults of this command. */
  readonly takesSettings?: boolean;
  /** `needed`, or what opens the files that serve an agent's calls where none runs. Subcommands that say nothing take their group's. */
  readonly agent?: 'none' | 'needed' | ((configFile: string, edge: Edge) => Promise<AgentFiles>);
  readonly subcommands?: readonly Command[];
  /** Subcommand that runs when none is named. */
  readonly defaultSubcommand?: string;
  run?(call: Call<O, A>): Promise<void>;
}

/** Checks that the code takes what the declaration gives. */
export function command<O extends Parameters, A extends Parameters>(
  name: string,
  declared: Omit<Command<O, A>, 'name'>,
): Command {
  return { name, ...declared };
}

export function toggle(says: string): Parameter<boolean | undefined> {
  return { says };
}

export function negation(says: string): Parameter<boolean> {
  return { says, isNegation: true };
}

export function argument(says: string, more?: { readonly byDefault: string }): Parameter<string>;
export function argument<T>(
  says: string,
  more: { readonly parse: (text: string) => T; readonly byDefault?: T },
): Parameter<T>;
export function argument<C extends string>(says: string, more: { readonly choices: readonly C[] }): Parameter<C>;
export function argument(says: string, more: Partial<Parameter> = {}): Parameter {
  return { says, ...more };
}

/** One file or several. */
export function files(says: string, byDefault: string): Parameter<readonly string[]> {
  return { says, isVariadic: true, byDefault: [byDefault] };
}

/** An option with a value. */
export function valued(value: string, says: string): Parameter<string | undefined>;
export function valued(
  value: string,
  says: string,
  more: { readonly isRequired: true } | { readonly byDefault: string },
): Parameter<string>;
export function valued<T>(
  value: string,
  says: string,
  more: { readonly parse: (text: string) => T; readonly byDefault: T },
): Parameter<T>;
export function valued<T>(
  value: string,
  says: string,
  more: { readonly parse: (text: string) => T },
): Parameter<T | undefined>;
export function valued(value: string, says: string, more: Partial<Parameter> = {}): Parameter {
  return { value, says, ...more };
}

export function choice<C extends string>(
  value: string,
  says: string,
  choices: readonly C[],
  byDefault: C,
): Parameter<C>;
export function choice<C extends string>(value: string, says: string, choices: readonly C[]): Parameter<C | undefined>;
export function choice<C extends string>(value: string, says: string, choices: readonly C[], byDefault?: C): Parameter {
  return { value, says, choices, byDefault };
}

/** May be given any number of times. */
export function list<T = string>(
  value: string,
  says: string,
  parse?: (text: string) => T,
): Parameter<readonly T[] | undefined> {
  return { value, says, isRepeatable: true, parse };
}

/** Takes what `read` understands, and otherwise says what can be written. */
export function taking<T>(says: string, read: (text: string) => T | undefined): (text: string) => T {
  return (text) => {
    try {
      const value = read(text);
      if (value !== undefined) return value;
    } catch {
      // Not understood either.
    }
    throw new InvalidArgumentError(says);
  };
}

export function wholeNumber(says: string, min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return taking(says, (text) =>
    /^\d+$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined,
  );
}

/** In ms. */
export function duration(says: string, minMs: number): (text: string) => number {
  return taking(says, (text) => {
    const ms = parseDuration(text);
    return ms !== undefined && ms >= minMs ? ms : undefined;
  });
}

/** An address of the web, as it was typed. */
export const webAddress = taking('an address such as https://iot.example.org, without user and password', (text) => {
  const { protocol, hostname, username, password } = new URL(text);
  return (protocol === 'https:' || protocol === 'http:') && hostname !== '' && username + password === ''
    ? text
    : undefined;
});

/** `name=value`, as it was typed. */
export function assignment(says: string): (text: string) => string {
  return taking(says, (text) => (/^[^=]+=./.test(text) ? text : undefined));
}
