/**
 * Times that the newest segment holds when the outbox is opened: how long each boot ran, and which timestamps new values may meet,
 * because many values in one ms ran ahead of the clock, or the clock was set back since.
 */
import type { Clock } from '../../host/clock.ts';
import type { BlockInfo } from '../format/block-frame.ts';
import type { NewestSegment } from '../segments/outbox-folder.ts';
import type { SegmentShelf } from '../segments/segment-shelf.ts';
import { nameOf } from './block-builder.ts';
import type { BootTimes } from './boot-times.ts';
import { lookAtEntries } from './entry-resolver.ts';
import type { EntrySpacing } from './entry-spacing.ts';

interface Noted extends NewestSegment {
  readonly shelf: SegmentShelf;
  readonly boots: BootTimes;
  readonly clock: Clock;
}

/** A start must not wait long for this; while the clock is not known, every entry may lie ahead. */
const MAX_ENTRIES = 20_000;

export async function noteTaken(spacing: EntrySpacing, { segment, scan, shelf, boots, clock }: Noted): Promise<void> {
  const nowMs = Math.floor(clock.monotonicMs());
  const wallNowMs = boots.look(clock.bootId, nowMs) ?? -Number.MAX_VALUE;
  const isOfThisBoot = ({ bootId, ownTime }: BlockInfo): boolean => bootId === clock.bootId && !ownTime;
  const isAhead = (info: BlockInfo): boolean =>
    (isOfThisBoot(info) && info.lastMs >= nowMs) || lastWallMs(boots, info) >= wallNowMs;
  const ahead = scan.blocks.filter(isAhead);
  let from = ahead.length;
  for (let count = 0; from > 0; from -= 1) {
    count += (ahead[from - 1] as BlockInfo).count;
    if (count > MAX_ENTRIES) break;
  }
  // In their order: each timestamp then comes behind those of its key.
  for (const info of ahead.slice(from)) {
    const [entries] = await shelf.read([{ segment, info }]).catch(() => []);
    if (entries === undefined) continue;
    if (isOfThisBoot(info)) {
      const note = (key: string, row: number): void =>
        spacing.takeSinceBoot(nameOf(entries.devices[row] as string, key), entries.monotonicMs[row] as number);
      entries.keys.forEach(note);
    } else
      for (const { device, key, ts } of lookAtEntries(boots, info, entries))
        spacing.takeWallMs(nameOf(device, key), ts);
  }
}

/** Notes how long each boot ran, as far as these blocks show it. */
export function observeBoots(boots: BootTimes, blocks: readonly BlockInfo[]): void {
  let before: string | undefined;
  for (const { bootId, lastMs, ownTime } of blocks) {
    if (ownTime) continue;
    boots.observe(bootId, lastMs, before);
    before = bootId;
  }
}

/** No earlier than the last; a block may lie on both sides of a step. Far back where nothing is known. */
function lastWallMs(boots: BootTimes, { ownTime, bootId, firstMs, lastMs }: BlockInfo): number {
  if (ownTime) return lastMs;
  const offsets = [firstMs, lastMs].map((ms) => boots.stretchAt(bootId, ms)?.offsetMs ?? Number.NEGATIVE_INFINITY);
  return lastMs + Math.max(...offsets);
}
