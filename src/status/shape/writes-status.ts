/** Bytes written a day, in figures and in the words of every place that tells of them. */
import { formatSize } from '../../config/fields/quantity.ts';
import type { WrittenBytes } from '../../host/storage-writes.ts';

export interface WritesStatus {
  /** Absent until the agent has run for an hour. */
  readonly agentBytesPerDay?: number;
  /** The whole disk that holds the state folder, since boot, with all that other programs write. Absent until then, and where it is not known. */
  readonly disk?: { readonly name: string; readonly bytesPerDay: number };
  readonly words: string;
}

const DAY_MS = 86_400_000;
/** A projection from less is a guess: the start writes more than an hour does. */
const KNOWN_AFTER_MS = 3_600_000;

/** @param written Undefined while the disk is looked for. Times are ms since boot. */
export function writesStatus(
  written: WrittenBytes | undefined,
  { nowMs, startedAtMs }: { readonly nowMs: number; readonly startedAtMs: number },
): WritesStatus {
  const runMs = nowMs - startedAtMs;
  if (written === undefined || runMs < KNOWN_AFTER_MS) return { words: 'what is written a day is not known yet' };
  const agentBytesPerDay = Math.round((written.own * DAY_MS) / runMs);
  const agent = `the agent writes ${formatSize(agentBytesPerDay)} a day`;
  if (written.disk === undefined) return { agentBytesPerDay, words: agent };
  const { name, bytes } = written.disk;
  const bytesPerDay = Math.round((bytes * DAY_MS) / nowMs);
  return {
    agentBytesPerDay,
    disk: { name, bytesPerDay },
    words: `${agent}, the disk ${name} takes ${formatSize(bytesPerDay)} a day`,
  };
}
