/** From the columns of a block to entries with wall times: frozen for a batch, or merely looked up for a reader. */
import type { BlockEntries } from './block-payload.ts';
import type { BootTimes, ResolvedTime } from './boot-times.ts';
import type { ResolvedEntry } from './outbox-batch.ts';
import type { PlacedBlock } from './segment-shelf.ts';

/** Says that the `ts` of the key it belongs to is a guess. */
const UNCERTAIN_SUFFIX = '_timeUncertain';

/** Entries of a block whose times are given out now and never change again; each uncertain one is followed by its mark. */
export function freezeEntries(boots: BootTimes, { info }: PlacedBlock, entries: BlockEntries): ResolvedEntry[] {
  return resolve(info, entries, (ms) => boots.freeze(info.bootId, ms));
}

/** The same without giving anything out; entries whose time is not known are left out. */
export function lookAtEntries(boots: BootTimes, { info }: PlacedBlock, entries: BlockEntries): ResolvedEntry[] {
  return resolve(info, entries, (ms) => boots.look(info.bootId, ms));
}

function resolve(info: PlacedBlock['info'], entries: BlockEntries, timeOf: (ms: number) => ResolvedTime | undefined): ResolvedEntry[] {
  const { devices, keys, values, monotonicMs, takenAtMs, sequences } = entries;
  const entryClass = info.alarm ? 'alarm' : 'regular';
  const resolved: ResolvedEntry[] = [];
  for (let row = 0; row < keys.length; row += 1) {
    const time = takenAtMs === undefined ? timeOf(monotonicMs[row] as number) : { ts: takenAtMs[row] as number, uncertain: false };
    if (time === undefined) continue;
    const { ts } = time;
    const device = devices[row] as string;
    const key = keys[row] as string;
    const sequence = sequences === undefined ? info.firstSequence + row : (sequences[row] as number);
    resolved.push({ sequence, device, key, value: values[row] as ResolvedEntry['value'], ts, class: entryClass });
    if (time.uncertain) resolved.push({ sequence, device, key: key + UNCERTAIN_SUFFIX, value: true, ts, class: entryClass });
  }
  return resolved;
}

/** Whether an entry was added by the outbox itself to mark the time of its neighbour. */
export function isUncertaintyMark(entry: ResolvedEntry, before: ResolvedEntry | undefined): boolean {
  return before !== undefined && before.sequence === entry.sequence && entry.key === before.key + UNCERTAIN_SUFFIX;
}
