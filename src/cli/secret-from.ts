/** A secret that a command needs: from a file, or asked for without echo; never from the command line, which every user of the machine can read. */
import { constants } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { systemCode } from '../errors/agent-error.ts';
import { systemClock } from '../host/clock.ts';
import { readUserFile } from '../host/whole-file.ts';
import type { Edge } from './edge.ts';
import { CommandError, EXIT, usageError } from './exit-code.ts';

const MAX_SECRET_BYTES = 4_096;
const PIPE_POLL_MS = 20;
/** Wait for a first writer, after which a pipe counts as empty. */
const NO_WRITER_MS = 2_000;

/** @throws CommandError (usage) when there is none. */
export async function secretFrom(file: string | undefined, question: string, edge: Edge): Promise<string> {
  const given = file === undefined ? await edge.ask(question, { hidden: true }) : await secretInFile(file, edge.signal);
  const secret = given.trim();
  if (secret !== '') return secret;
  throw usageError(file === undefined ? 'nothing was entered' : `${file} is empty`);
}

async function secretInFile(file: string, signal: AbortSignal): Promise<string> {
  const isPipe = await stat(file).then(
    (found) => found.isFIFO(),
    () => false,
  );
  const bytes = isPipe ? await bytesOfPipe(file, signal) : await readUserFile(file, MAX_SECRET_BYTES);
  if (bytes === undefined) throw usageError(`there is no file ${file}`);
  return bytes.toString('utf8');
}

/** Reads a pipe to its end, as `<(…)` is one; opening it and reading it wait for nobody, so that Ctrl-C is heard. */
async function bytesOfPipe(path: string, signal: AbortSignal): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((cause: unknown) => {
    throw usageError(`cannot read ${path}: ${systemCode(cause) ?? 'unknown fault'}`, { cause });
  });
  try {
    const bytes = Buffer.alloc(MAX_SECRET_BYTES + 1);
    const emptyAtMs = systemClock.monotonicMs() + NO_WRITER_MS;
    for (let length = 0; length < bytes.length; ) {
      const read = await file.read(bytes, length, bytes.length - length, null).catch(undefinedWhenNothingYet);
      if (signal.aborted) throw new CommandError('', { exitCode: EXIT.interrupted });
      length += read?.bytesRead ?? 0;
      const isEnd = read?.bytesRead === 0 && (length > 0 || systemClock.monotonicMs() >= emptyAtMs);
      if (isEnd) return bytes.subarray(0, length);
      if (read === undefined || read.bytesRead === 0) await systemClock.sleep(PIPE_POLL_MS, signal);
    }
    throw usageError(`${path} has more than ${MAX_SECRET_BYTES} bytes`);
  } finally {
    await file.close();
  }
}

/** A writer is there, and has written nothing more. */
function undefinedWhenNothingYet(error: unknown): undefined {
  if (systemCode(error) !== 'EAGAIN') throw error;
}
