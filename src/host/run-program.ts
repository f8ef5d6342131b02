/**
 * Runs a program with a fixed argument list: never through a shell, bounded in time and output, with an environment that holds
 * none of the agent's own variables (secrets arrive in them). It and its children end with their process group.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { AgentError, systemCode } from '../errors.ts';
import type { Clock } from './clock.ts';

export interface Program {
  /** An absolute path, or a name looked up in `PROGRAM_PATH`. */
  readonly file: string;
  readonly args: readonly string[];
  readonly deadlineMs: number;
  /** Beside PATH and LANG; nothing else is passed on. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Written to its standard input, which is closed after it. */
  readonly input?: string | Uint8Array;
  /** What is read of each output stream; what comes after is thrown away. Default 64 KiB. */
  readonly mostOutputBytes?: number;
}

export interface ProgramOutcome {
  /** Undefined when a signal ended it. */
  readonly exitCode?: number;
  readonly endedBySignal?: string;
  readonly stdout: string;
  readonly stderr: string;
  /** Whether output was thrown away. */
  readonly cut: boolean;
}

/** Where programs named without a folder are looked for. */
const PROGRAM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const DEFAULT_OUTPUT_BYTES = 64 * 1024;

/**
 * Resolves when the program has ended, whatever its exit code.
 * @throws AgentError `host/program-not-started` (hold), `host/program-deadline` (retry) when it was killed for taking too long or because
 * `signal` aborted.
 */
export async function runProgram(program: Program, clock: Clock, signal: AbortSignal): Promise<ProgramOutcome> {
  if (signal.aborted) throw endedEarly(program, 'the agent gave up waiting');
  const child = spawn(program.file, program.args, {
    shell: false,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: PROGRAM_PATH, LANG: 'C.UTF-8', ...program.environment },
  });
  let early: string | undefined;
  const endEarly = (why: string): void => {
    early ??= why;
    killGroup(child);
  };
  const abort = (): void => endEarly('the agent gave up waiting');
  const cancelDeadline = clock.after(program.deadlineMs, () => endEarly(`it took more than ${program.deadlineMs} ms`));
  signal.addEventListener('abort', abort, { once: true });
  try {
    const outcome = await outcomeOf(child, program);
    if (early !== undefined) throw endedEarly(program, early);
    return outcome;
  } finally {
    cancelDeadline();
    signal.removeEventListener('abort', abort);
  }
}

function outcomeOf(child: ChildProcess, program: Program): Promise<ProgramOutcome> {
  const mostBytes = program.mostOutputBytes ?? DEFAULT_OUTPUT_BYTES;
  const stdout = collect(child.stdout, mostBytes);
  const stderr = collect(child.stderr, mostBytes);
  // A program that does not read its input is no fault of ours.
  child.stdin?.on('error', () => {});
  child.stdin?.end(program.input ?? '');
  return new Promise((resolve, reject) => {
    child.once('error', (cause) => {
      const why = systemCode(cause) ?? 'unknown fault';
      reject(new AgentError('host/program-not-started', `cannot start ${program.file}: ${why}`, { recovery: 'hold', cause }));
    });
    // `exit` may come before the last output; `close` may never come while a grandchild holds the pipe, which killGroup ends.
    child.once('close', (exitCode, endedBySignal) => {
      resolve({
        ...(exitCode === null ? {} : { exitCode }),
        ...(endedBySignal === null ? {} : { endedBySignal }),
        stdout: stdout.text(),
        stderr: stderr.text(),
        cut: stdout.cut() || stderr.cut(),
      });
    });
  });
}

function collect(stream: NodeJS.ReadableStream | null, mostBytes: number): { text: () => string; cut: () => boolean } {
  const pieces: Buffer[] = [];
  let bytes = 0;
  let cut = false;
  stream?.on('data', (piece: Buffer) => {
    const room = mostBytes - bytes;
    if (piece.length > room) cut = true;
    if (room <= 0) return;
    pieces.push(piece.subarray(0, room));
    bytes += Math.min(piece.length, room);
  });
  return { text: () => Buffer.concat(pieces).toString('utf8'), cut: () => cut };
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL');
  }
}

function endedEarly(program: Program, why: string): AgentError {
  return new AgentError('host/program-deadline', `${program.file} was ended: ${why}`, { recovery: 'retry' });
}
