/** How a command ends: the exit codes that scripts and systemd rely on, and the error that names one. */

export const EXIT = {
  ok: 0,
  /** It failed, or it found something that has to be mended. */
  failure: 1,
  /** The command line is wrong. */
  usage: 2,
  /** EX_NOINPUT: the configuration cannot be read now, whatever it says; the boot guard counts no such start. */
  unreadable: 66,
  /** EX_UNAVAILABLE: no agent runs, or it does not answer. */
  notRunning: 69,
  /** EX_SOFTWARE: a fault of the program itself. */
  internal: 70,
  /** EX_TEMPFAIL: it may have been done, or may be done later; nobody knows yet. */
  outcomeUnknown: 75,
  /** EX_NOPERM: this user may not. */
  noPermission: 77,
  /** EX_CONFIG: the configuration is wrong; systemd does not start it again (RestartPreventExitStatus). */
  badConfig: 78,
  /** Ended by Ctrl-C: 128 + SIGINT. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

interface CommandErrorOptions {
  readonly exitCode?: ExitCode;
  readonly nextStep?: string;
  readonly cause?: unknown;
}

/** Ends a command with a line that says what is wrong and what to do next; an empty message ends it without a word. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: ExitCode;
  /** The message without its next step, which is `hint`. */
  readonly says: string;
  readonly hint: string | undefined;

  constructor(message: string, { exitCode = EXIT.failure, nextStep, cause }: CommandErrorOptions = {}) {
    super(nextStep === undefined || message === '' ? message : `${message}; ${nextStep}`, { cause });
    this.exitCode = exitCode;
    this.says = message;
    this.hint = nextStep;
  }
}

/** Makes the error of a command that Ctrl-C has ended. */
export function interrupted(message = '', more: Omit<CommandErrorOptions, 'exitCode'> = {}): CommandError {
  return new CommandError(message, { ...more, exitCode: EXIT.interrupted });
}

/** Makes an error of input that cannot be used, as it was typed or for what it names. */
export function usageError(message: string, more: Omit<CommandErrorOptions, 'exitCode'> = {}): CommandError {
  return new CommandError(message, { ...more, exitCode: EXIT.usage });
}
