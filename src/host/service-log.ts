/** The last lines of a log: what a systemd unit has written into the journal, or a file. */
import type { Clock } from './clock.ts';
import { systemFiles } from './files.ts';
import { runProgram } from './run-program.ts';

const MAX_LINES = 3_000;
const DEADLINE_MS = 10_000;
/** Lines of the agent are some 200 bytes. */
const MAX_BYTES = 2 * 1024 * 1024;
const CUT = `[what is older is left out: at most ${MAX_BYTES / 1024 / 1024} MB]\n`;

/** Undefined where there is no journal, or this user may not read it. */
export async function readServiceLog(unit: string, clock: Clock, signal: AbortSignal): Promise<string | undefined> {
  const args = ['--unit', unit, '--lines', String(MAX_LINES), '--no-pager', '--output', 'short-iso', '--quiet'];
  const program = {
    file: 'journalctl',
    args,
    deadlineMs: DEADLINE_MS,
    maxOutputBytes: MAX_BYTES,
    keeps: 'last',
  } as const;
  const outcome = await runProgram(program, clock, signal).catch(() => undefined);
  if (outcome?.exitCode !== 0 || outcome.stdout.trim() === '') return undefined;
  return outcome.cut ? fromWholeLine(outcome.stdout) : outcome.stdout;
}

/** A log that a person names; links are followed. @throws what the system says, EINVAL for what is no regular file. */
export async function readLogFile(path: string): Promise<string> {
  const file = await systemFiles.open(path, 'read', { follow: true });
  try {
    const size = await file.size();
    const piece = Buffer.alloc(Math.min(size, MAX_BYTES));
    const text = piece.toString('utf8', 0, await file.read(piece, size - piece.length));
    return size > MAX_BYTES ? fromWholeLine(text) : text;
  } finally {
    await file.close();
  }
}

/** Half a line may begin with half a secret. */
function fromWholeLine(text: string): string {
  return CUT + text.slice(text.indexOf('\n') + 1);
}
