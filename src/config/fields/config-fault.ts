/** Faults of a configuration, in the words of the person who has to mend them. */
import { AgentError } from '../../errors/agent-error.ts';

/** Keys and list indexes from the root: `['sensors', 0, 'period']`. */
export type ConfigPath = readonly (string | number)[];

/** A fault before it is known where in the file it stands. */
export interface PathFault {
  readonly path: ConfigPath;
  /** Point at the key itself, not at its value: unknown keys, duplicate keys. */
  readonly atKey?: boolean;
  /** The last key is not to be shown: nobody knows it, and it may be a secret. */
  readonly hidesKey?: boolean;
  /** Fault that does not lie in the value: "duplicate name", "unknown key". */
  readonly problem?: string;
  readonly expected: string;
  /** Suggestion of what to write instead; looked for only when the fault is told. */
  readonly hint?: string | (() => string | undefined);
  /** The value as it may be shown; taken from the file when it is not given, nothing when it is empty. */
  readonly value?: string;
  /** It is not in the configuration's text: a file that is not there now may be there later, with a disk that is mounted or a credential. */
  readonly mayPass?: boolean;
  /** It may be right on the gateway, whatever this machine says: a variable of its service, a program, a folder. */
  readonly onGateway?: boolean;
}

export interface ConfigFault {
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
  /** `sensors[0].period`. */
  readonly path: string;
  readonly problem: string;
  /** As written, shortened; secrets are `[secret]`. Absent when there is none to show. */
  readonly value?: string;
  readonly expected: string;
  readonly hint?: string;
  readonly mayPass?: boolean;
  readonly onGateway?: boolean;
}

/** Every fault of one configuration at once; the service must not start, and not be started again by itself unless all of them may pass. */
export class ConfigError extends AgentError {
  readonly file: string;
  readonly faults: readonly ConfigFault[];

  constructor(file: string, faults: readonly ConfigFault[]) {
    const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`;
    const mayPass = faults.every((fault) => fault.mayPass === true);
    super(
      mayPass ? 'config/not-now' : 'config/invalid',
      `${file}: ${count}\n${faults.map((fault) => faultLine(file, fault)).join('\n')}`,
      {
        recovery: mayPass ? 'retry' : 'stop',
      },
    );
    this.file = file;
    this.faults = faults;
  }
}

/** `turnstone.yaml:12:5: sensors[0].perod: unknown key; expected …; did you mean "period"?` in the form that editors can jump to. */
export function faultLine(file: string, fault: ConfigFault): string {
  const place = fault.path === '' ? '' : `${fault.path}: `;
  const value = fault.value === undefined ? '' : ` ${fault.value}`;
  const hint = fault.hint === undefined ? '' : `; ${fault.hint}`;
  return `${file}:${fault.line}:${fault.column}: ${place}${fault.problem}${value}, expected ${fault.expected}${hint}`;
}

/** `sensors[0].keys.temperature`. */
export function pathText(path: ConfigPath): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? part : `${text}.${part}`;
  }, '');
}

/** How many parts of a path lead on in a value. */
export function depthIn(value: unknown, path: ConfigPath): number {
  const [key, ...rest] = path;
  if (key === undefined || typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return 0;
  return 1 + depthIn((value as Record<string | number, unknown>)[key], rest);
}

/** `platform` of `platform.caFile`. */
export function sectionOf({ path }: ConfigFault): string {
  return /^\w*/.exec(path)?.[0] ?? '';
}
