/** How an error ends a command: one line on stderr, in words or as JSON, and the exit code. */

import { AgentError, hasCode } from '../../errors/agent-error.ts';
import type { Output } from '../edge.ts';
import { CommandError, EXIT, type ExitCode } from '../exit-code.ts';

interface Told {
  readonly exitCode: ExitCode;
  readonly message: string;
  /** Code of the error, or of the one that it came of: a section of the page of error codes. */
  readonly code?: string | undefined;
  readonly hint?: string | undefined;
}

/** Codes for programs where an error has none of its own. */
const PLAIN_CODES: Readonly<Partial<Record<ExitCode, string>>> = {
  [EXIT.usage]: 'usage',
  [EXIT.unreadable]: 'unreadable',
  [EXIT.notRunning]: 'not-running',
  [EXIT.internal]: 'fault-of-the-program',
  [EXIT.noPermission]: 'no-permission',
  [EXIT.badConfig]: 'bad-configuration',
};

/** Codes of faults in what was typed, which only the agent or a report can tell. */
const WRONG_WORDS: ReadonlySet<string> = new Set([
  'actuators/off-step',
  'actuators/out-of-range',
  'actuators/unknown',
  'actuators/unknown-level',
  'actuators/wrong-type',
  'agent/bad-request',
  'analytics/settings',
  'firmware/no-release',
  'provisioning/ambiguous-device',
  'provisioning/bad-token',
  'provisioning/no-such-device',
  'sensors/ambiguous',
  'sensors/unknown',
]);

/** Says what is wrong and what to do next; a stack trace only for faults of the program itself. */
export function reportError(
  error: unknown,
  { stderr, asJson }: { readonly stderr: Output; readonly asJson: boolean },
): ExitCode {
  const told = toldOf(error);
  if (told.message !== '') stderr.write(asJson ? inJson(told) : inWords(told));
  return told.exitCode;
}

function toldOf(error: unknown): Told {
  if (error instanceof CommandError) {
    const { exitCode, says: message, hint, cause } = error;
    return { exitCode, message, hint, code: cause instanceof AgentError ? cause.code : undefined };
  }
  if (hasCode(error, 'control-socket/interrupted')) return { exitCode: EXIT.interrupted, message: '' };
  if (error instanceof AgentError) return { exitCode: exitCodeOf(error), message: error.message, code: error.code };
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { exitCode: EXIT.internal, message: `fault of the program: ${stack}` };
}

function inWords({ message, hint, code }: Told): string {
  const text = hint === undefined ? message : `${message}; ${hint}`;
  // Below the first line stand places in a file, each a line of its own.
  return `turnstone: ${code === undefined ? text : text.replace(/$/m, ` (${code})`)}\n`;
}

/** One line, without sequences of a terminal: JSON escapes what controls. */
function inJson({ message, hint, code, exitCode }: Told): string {
  return `${JSON.stringify({ error: { code: code ?? `cli/${PLAIN_CODES[exitCode] ?? 'failed'}`, message, hint } })}\n`;
}

function exitCodeOf({ code, recovery }: AgentError): ExitCode {
  // systemd is to start it again: what is missing may come with a mount or a credential.
  if (code === 'config/not-now') return EXIT.failure;
  if (code === 'config/unreadable' && recovery === 'retry') return EXIT.unreadable;
  if (code.startsWith('config/')) return EXIT.badConfig;
  if (code === 'control-socket/not-running' || code === 'control-socket/lost') return EXIT.notRunning;
  if (WRONG_WORDS.has(code)) return EXIT.usage;
  return code === 'control-socket/no-permission' ? EXIT.noPermission : EXIT.failure;
}
