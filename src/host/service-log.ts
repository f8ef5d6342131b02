/** The last lines that a systemd unit has written into the journal. */
import type { Clock } from './clock.ts';
import { runProgram } from './run-program.ts';

const MOST_LINES = 3_000;
const DEADLINE_MS = 10_000;
/** Lines of the agent are some 200 bytes. */
const MOST_BYTES = 2 * 1024 * 1024;

/** Undefined where there is no journal, or this user may not read it. */
export async function readServiceLog(unit: string, clock: Clock, signal: AbortSignal): Promise<string | undefined> {
  const args = ['--unit', unit, '--lines', String(MOST_LINES), '--no-pager', '--output', 'short-iso', '--quiet'];
  const outcome = await runProgram({ file: 'journalctl', args, deadlineMs: DEADLINE_MS, mostOutputBytes: MOST_BYTES }, clock, signal).catch(
    () => undefined,
  );
  return outcome?.exitCode === 0 && outcome.stdout.trim() !== '' ? outcome.stdout : undefined;
}
