/** Hours that are on the disk with all their lines; of those that were written in a power cut some may be missing. */
import type { EpochMs } from '../host/clock.ts';
import { nextTurn } from '../host/next-turn.ts';
import { getOrInsert } from '../values/get-or-insert.ts';
import type { PlacedLine } from './band-files.ts';

/** The newest of them, 0 without any. `linesOf` tells how many were written with a line; undefined of a damaged one. */
export async function lastWholeHour(
  lines: AsyncIterable<PlacedLine>,
  linesOf: (line: PlacedLine) => number | undefined,
): Promise<EpochMs> {
  const found = new Map<EpochMs, { lines: number; of: number }>();
  for await (const placed of lines) {
    const of = linesOf(placed);
    if (of === undefined) continue;
    const hour = getOrInsert(found, placed.hourMs, () => ({ lines: 0, of: 0 }));
    hour.lines += 1;
    hour.of = Math.max(hour.of, of);
    await nextTurn();
  }
  return Math.max(0, ...[...found].filter(([, { lines, of }]) => lines >= of).map(([hourMs]) => hourMs));
}
