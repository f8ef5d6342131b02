/**
 * Small files, which are read whole. The outbox can live without each of them: one that is no file is quarantined, and so is one that the disk has
 * not given for a while, over all tries to open the outbox; not before, because minutes later a disk may give what it refuses now.
 */
import type { AgentError } from '../../errors/agent-error.ts';
import type { Clock } from '../../host/clock.ts';
import { isLost } from '../../host/files.ts';
import { readWhole } from '../../host/whole-file.ts';
import type { OutboxPlace } from './outbox-place.ts';

/** Lists that grow with the outbox, far below what memory would notice. */
export const SMALL_FILE = { limitBytes: 16 * 1024 * 1024 } as const;
/** A sector may read well at the second try. */
const TRIES = 3;

/** Time of retries, in which all delivery stands still and memory takes the readings. */
const GIVEN_UP_AFTER_MS = 10 * 60_000;

export interface SmallFileDeps extends Pick<OutboxPlace, 'files' | 'folder'> {
  readonly unread: UnreadFiles;
  /** Keeps a damaged file for a person to look at. Never rejects. */
  readonly setAside: (name: string) => Promise<void>;
}

/** The content, if there is any. @throws AgentError `host/read-failed` when it may be read another time (disk, too many open files). */
export async function readSmallFile(
  { files, folder, unread, setAside }: SmallFileDeps,
  name: string,
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

/** Since when files are not read. */
export class UnreadFiles {
  readonly #clock: Clock;
  readonly #sinceMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wasRead(name: string): void {
    this.#sinceMs.delete(name);
  }

  /** It could not be read now. Returns whether it is given up. */
  wasRefused(name: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const sinceMs = this.#sinceMs.get(name) ?? nowMs;
    this.#sinceMs.set(name, sinceMs);
    return nowMs - sinceMs >= GIVEN_UP_AFTER_MS;
  }
}
