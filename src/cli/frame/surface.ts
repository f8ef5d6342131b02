/** Everything that can be typed, as data: every command with its options and arguments, for completion scripts and manual pages. */
import type { Command, Parameter } from '../command.ts';
import { dashed, flagOf, parametersOf, subcommandsOf } from './spelling.ts';

/** Words or files that a shell offers for a value. */
export type Offer =
  | { readonly kind: 'words'; readonly words: readonly string[] }
  | { readonly kind: 'files' | 'folders' | 'nothing' };

export interface SurfaceOption {
  /** `--format`. */
  readonly flag: string;
  /** `-n`, where there is one. */
  readonly short?: string;
  readonly says: string;
  /** `<format>`; a switch has none. */
  readonly value?: string;
  readonly offer: Offer;
  readonly byDefault?: unknown;
  readonly isRepeatable: boolean;
}

export interface SurfaceArgument {
  /** `view-id`. */
  readonly name: string;
  readonly says: string;
  readonly isOptional: boolean;
  /** It may be given several times, as the last. */
  readonly isVariadic: boolean;
  readonly offer: Offer;
}

export interface SurfaceCommand {
  /** `outbox list`. */
  readonly path: string;
  readonly says: string;
  readonly options: readonly SurfaceOption[];
  readonly arguments: readonly SurfaceArgument[];
  readonly subcommands: readonly SurfaceCommand[];
  readonly examples: readonly string[];
  readonly notes?: string | undefined;
  readonly exitCodes?: string | undefined;
  /** It does something by itself, not only by its subcommands. */
  readonly runs: boolean;
}

/** Commands and options that help hides are left out. */
export function surfaceOf(commands: readonly Command[], parent?: string): readonly SurfaceCommand[] {
  return commands
    .filter(({ isHidden }) => isHidden !== true)
    .map((declared) => {
      const path = parent === undefined ? declared.name : `${parent} ${declared.name}`;
      const { says, notes, exitCodes, examples = [], run } = declared;
      return {
        path,
        says,
        options: Object.entries(parametersOf(declared))
          .filter(([, { isHidden }]) => isHidden !== true)
          .map(([key, parameter]) => optionOf(key, parameter)),
        arguments: Object.entries(declared.arguments ?? {}).map(([key, parameter]) => argumentOf(key, parameter)),
        subcommands: surfaceOf(subcommandsOf(declared), path),
        examples,
        notes,
        exitCodes,
        runs: run !== undefined || declared.defaultSubcommand !== undefined,
      };
    });
}

/** Each command and, after it, its subcommands. */
export function flattened(commands: readonly SurfaceCommand[]): readonly SurfaceCommand[] {
  return commands.flatMap((command) => [command, ...flattened(command.subcommands)]);
}

function optionOf(key: string, parameter: Parameter): SurfaceOption {
  const { says, short, value, byDefault, choices, isRepeatable = false } = parameter;
  const offer = offerOf(value, choices);
  const given = { ...(value === undefined ? {} : { value }), ...(short === undefined ? {} : { short: `-${short}` }) };
  return { flag: flagOf(key, parameter), says, offer, byDefault, isRepeatable, ...given };
}

function argumentOf(key: string, { says, byDefault, choices, isVariadic = false }: Parameter): SurfaceArgument {
  const name = dashed(key);
  return { name, says, isOptional: byDefault !== undefined, isVariadic, offer: offerOf(`<${name}>`, choices) };
}

function offerOf(value: string | undefined, choices: readonly string[] | undefined): Offer {
  if (choices !== undefined) return { kind: 'words', words: choices };
  if (value === '<folder>') return { kind: 'folders' };
  return { kind: value === '<file>' || value === '<socket>' || value === '<port>' ? 'files' : 'nothing' };
}
