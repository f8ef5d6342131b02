/**
 * Reads a small file of the outbox that it can live without: what is no file is set aside, and what the disk does not give, once it is given up.
 */
import type { AgentError } from '../errors.ts';
import { readWhole } from '../host/durable-file.ts';
import { type Files, isLost } from '../host/files.ts';
import type { UnreadFiles } from './unread-files.ts';

/** Lists that grow with the outbox, far below what memory would notice. */
export const SMALL_FILE = { limitBytes: 16 * 1024 * 1024 } as const;
/** A sector may read well at the second try. */
const TRIES = 3;

export interface SmallFileDeps {
  readonly files: Files;
  readonly folder: string;
  readonly unread: UnreadFiles;
}

/**
 * The content; undefined when there is none, or no more.
 * @throws AgentError `host/read-failed` when it may be read another time: the disk does not give it yet, or too many files are open.
 */
export async function readSmallFile(
  { files, folder, unread }: SmallFileDeps,
  name: string,
  setAside: (name: string) => Promise<unknown>,
): Promise<Buffer | undefined> {
  for (let tries = 1; ; tries += 1) {
    try {
      const bytes = await readWhole(files, `${folder}/${name}`, SMALL_FILE);
      unread.wasRead(name);
      return bytes;
    } catch (error) {
      // `readWhole` throws nothing else.
      const { cause, recovery } = error as AgentError;
      const isRefused = isLost(cause);
      if (isRefused && tries < TRIES) continue;
      if (isRefused ? !unread.wasRefused(name) : recovery !== 'drop') throw error;
      await setAside(name);
      return undefined;
    }
  }
}
