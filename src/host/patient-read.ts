/** Reading a small file at a start: a lack of descriptors or memory passes in a second, and a start waits no longer. */
import { AgentError } from '../errors/agent-error.ts';
import type { Clock } from './clock.ts';
import type { Files } from './files.ts';
import { readWhole } from './whole-file.ts';

const READ_AGAIN_AFTER_MS: readonly number[] = [50, 200, 750];

/** Undefined when there is none. @throws AgentError as `readWhole`, after the last try. */
export async function readPatiently(
  { files, clock }: { readonly files: Files; readonly clock: Clock },
  path: string,
  limitBytes: number,
): Promise<Buffer | undefined> {
  for (const againAfterMs of READ_AGAIN_AFTER_MS) {
    try {
      return await readWhole(files, path, { limitBytes });
    } catch (error) {
      if (!isPassing(error)) throw error;
      await clock.sleep(againAfterMs, new AbortController().signal);
    }
  }
  return await readWhole(files, path, { limitBytes });
}

/** True when it is a fault of the machine, not of the content. */
export function isPassing(error: unknown): boolean {
  return error instanceof AgentError && error.recovery === 'retry';
}
