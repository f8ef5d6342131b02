/** A program whose lines are read as they come, until it ends or is no longer wanted: `journalctl -f`. */
import { spawn } from 'node:child_process';
import { AgentError, systemCode } from '../errors/agent-error.ts';

export interface FollowedEnd {
  /** Undefined when a signal ended it. */
  readonly exitCode: number | undefined;
  readonly stderr: string;
}

const PROGRAM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const MAX_STDERR_BYTES = 4_096;

/**
 * Gives its output on piece by piece, and waits for `take` before it reads on. It gets none of this process's variables but where it is looked
 * for. @throws AgentError `host/program-not-started` (hold).
 */
export async function followProgram(
  file: string,
  args: readonly string[],
  take: (bytes: Buffer) => Promise<void>,
  signal: AbortSignal,
  path = PROGRAM_PATH,
): Promise<FollowedEnd> {
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: path, LANG: 'C.UTF-8' } });
  const { promise: ended, resolve, reject } = Promise.withResolvers<number | undefined>();
  child.once('error', (cause) => {
    const why = systemCode(cause) ?? 'unknown fault';
    reject(new AgentError('host/program-not-started', `cannot start ${file}: ${why}`, { recovery: 'hold', cause }));
  });
  child.once('close', (code) => resolve(code ?? undefined));
  // Its fault is told by whoever waits for its end below.
  ended.catch(() => {});
  const stop = (): void => void child.kill('SIGTERM');
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  let stderr = '';
  child.stderr.on('data', (bytes: Buffer) => {
    if (stderr.length < MAX_STDERR_BYTES) stderr += bytes.toString('utf8', 0, MAX_STDERR_BYTES);
  });
  try {
    for await (const bytes of child.stdout) await take(bytes as Buffer);
    return { exitCode: await ended, stderr };
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
  }
}
