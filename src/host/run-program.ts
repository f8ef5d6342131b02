/**
 * Runs a program with a fixed argument list: never through a shell, bounded in time and output, with an environment that holds
 * none of the agent's own variables (secrets arrive in them). It and its children end with their process group; what left the group, as daemons
 * do, or cannot be killed, is not waited for.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { AgentError, retryable, systemCode } from '../errors/agent-error.ts';
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
  /** Bytes kept of each output stream; the rest is thrown away. Default 64 KiB. */
  readonly maxOutputBytes?: number;
  /** How its output is written in bytes. Default `utf8`. */
  readonly encoding?: 'utf8' | 'latin1';
  /** Which part of it. Default `first`. */
  readonly keeps?: 'first' | 'last';
}

export interface ProgramOutcome {
  /** Undefined when a signal ended it. */
  readonly exitCode?: number;
  readonly endedBySignal?: string;
  readonly stdout: string;
  readonly stderr: string;
  /** True when output was thrown away. */
  readonly cut: boolean;
}

/** Runs programs: the machine's port to them. @throws as `runProgram`. */
export type RunProgram = (program: Program, clock: Clock, signal: AbortSignal) => Promise<ProgramOutcome>;

/** Where programs named without a folder are looked for. */
const PROGRAM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const DEFAULT_OUTPUT_BYTES = 64 * 1024;
/** `exit` may come before the last output. A child that holds the pipes for longer has other things to do. */
const LAST_OUTPUT_MS = 1_000;
/** Killed is ended, but for a system call that does not come back. */
const KILLED_WITHIN_MS = 500;

/**
 * Resolves when the program has ended, whatever its exit code; settles half a second after the deadline at the latest.
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
  const running = follow(child, program);
  let early: string | undefined;
  let cancelLetGo = (): void => {};
  const letGoIn = (ms: number): void => {
    cancelLetGo();
    cancelLetGo = clock.after(ms, running.letGo);
  };
  const endEarly = (why: string): void => {
    const hasExited = child.exitCode !== null || child.signalCode !== null;
    if (!hasExited) early ??= why;
    killGroup(child);
    letGoIn(hasExited ? 0 : KILLED_WITHIN_MS);
  };
  const abort = (): void => endEarly('the agent gave up waiting');
  const cancelDeadline = clock.after(program.deadlineMs, () => endEarly(`it took more than ${program.deadlineMs} ms`));
  signal.addEventListener('abort', abort, { once: true });
  child.once('exit', () => early === undefined && letGoIn(LAST_OUTPUT_MS));
  try {
    await running.ended;
    if (early !== undefined) throw endedEarly(program, early);
    return running.outcome();
  } finally {
    cancelDeadline();
    cancelLetGo();
    signal.removeEventListener('abort', abort);
  }
}

/** Its end, its outcome, and how what of its group still holds the pipes is ended and waited for no more. */
function follow(child: ChildProcess, program: Program) {
  const stdout = collect(child.stdout, program);
  const stderr = collect(child.stderr, program);
  // A program that does not read its input is no fault of ours.
  child.stdin?.on('error', () => {});
  child.stdin?.end(program.input ?? '');
  // It and its output have ended, or it was given up; rejects with AgentError `host/program-not-started`.
  const { promise: ended, resolve, reject } = Promise.withResolvers<void>();
  child.once('error', (cause) => {
    const why = systemCode(cause) ?? 'unknown fault';
    reject(
      new AgentError('host/program-not-started', `cannot start ${program.file}: ${why}`, { recovery: 'hold', cause }),
    );
  });
  child.once('close', () => resolve());
  const letGo = (): void => {
    killGroup(child);
    for (const pipe of child.stdio) pipe?.destroy();
    child.unref();
    resolve();
  };
  const outcome = (): ProgramOutcome => ({
    ...(child.exitCode === null ? {} : { exitCode: child.exitCode }),
    ...(child.signalCode === null ? {} : { endedBySignal: child.signalCode }),
    stdout: stdout.text(),
    stderr: stderr.text(),
    cut: stdout.cut() || stderr.cut(),
  });
  return { ended, letGo, outcome };
}

function collect(
  stream: NodeJS.ReadableStream | null,
  { maxOutputBytes = DEFAULT_OUTPUT_BYTES, keeps, encoding = 'utf8' }: Program,
) {
  let pieces: Buffer[] = [];
  let bytes = 0;
  let cut = false;
  const kept = (): Buffer => {
    const all = Buffer.concat(pieces);
    return keeps === 'last' ? all.subarray(-maxOutputBytes) : all.subarray(0, maxOutputBytes);
  };
  stream?.on('data', (piece: Buffer) => {
    if (bytes + piece.length > maxOutputBytes) cut = true;
    if (keeps !== 'last' && bytes >= maxOutputBytes) return;
    pieces.push(piece);
    bytes += piece.length;
    if (bytes <= 2 * maxOutputBytes) return;
    pieces = [Buffer.from(kept())];
    bytes = maxOutputBytes;
  });
  return { text: () => kept().toString(encoding), cut: () => cut };
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
  return retryable('host/program-deadline', `${program.file} was ended: ${why}`);
}
