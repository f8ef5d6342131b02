/** Another process of this same program, for as long as this one needs it: the simulated board beside the agent. */
import { spawn } from 'node:child_process';
import { AgentError } from '../errors/agent-error.ts';
import { endedWithin } from './bounded-wait.ts';
import { systemClock } from './clock.ts';

export interface CompanionProcess {
  /** SIGTERM, and resolves when it has ended. Idempotent. */
  stop(): Promise<void>;
}

const STARTS_WITHIN_MS = 10_000;

/**
 * Starts `turnstone ARGS…`; resolves when it has printed its first line, which says that it is ready. It ends with this process, however that
 * ends: its channel to it closes.
 * @throws AgentError `host/companion-failed` (stop) when it ends before that, or takes longer than 10 s.
 */
export async function startCompanion(args: readonly string[]): Promise<CompanionProcess> {
  const child = spawn(process.execPath, [process.argv[1] ?? '', ...args], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    // Ctrl-C in the terminal is for the agent, which sets its safe states on the board before it ends it.
    detached: true,
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
  const fail = (reason: string): void =>
    reject(new AgentError('host/companion-failed', `turnstone ${args[0]} ${reason}`, { recovery: 'stop' }));
  child.once('error', () => fail('cannot be started'));
  child.once('exit', () => fail('ended at once'));
  child.stdout?.once('data', () => resolve());
  if (!(await endedWithin(systemClock, STARTS_WITHIN_MS, ready))) fail('did not start in time');
  await ready.catch((error: unknown) => {
    child.kill('SIGKILL');
    throw error;
  });
  child.stdout?.resume();
  process.once('exit', () => child.kill('SIGTERM'));
  return { stop };
}
