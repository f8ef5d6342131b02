/** From the columns of a block to entries with wall times: frozen for a batch, or merely looked up for a reader. */
import type { BlockInfo } from '../format/block-frame.ts';
import type { BlockEntries } from '../format/block-payload.ts';
import { EntryColumns } from '../format/entry-columns.ts';
import type { EntryClass } from '../format/telemetry-entry.ts';
import type { TimeStretch } from './boot-offsets.ts';
import type { BootTimes } from './boot-times.ts';

/** Says that the `ts` of the key it belongs to is a guess. */
const UNCERTAIN_SUFFIX = '_timeUncertain';

/** Fields of a block, in memory or on the disk, that its entries are resolved by. */
type Labelled = Omit<BlockInfo, 'offset' | 'bytes' | 'gaps'>;

/** True when the times of a block can be given out: pending ones must not be frozen, nor make the others of their boot a guess. */
export function canGiveOut(boots: BootTimes, info: Labelled): boolean {
  return info.ownTime || boots.canResolve(info.bootId);
}

/** Entries of a block whose times are given out now and never change again; each uncertain one is followed by its mark. */
export function freezeEntries(boots: BootTimes, info: Labelled, entries: BlockEntries): EntryColumns {
  if (!info.ownTime) boots.give(info.bootId, info.firstMs, info.lastMs);
  return resolve(info, entries, (ms) => boots.freeze(info.bootId, ms));
}

/** The same without giving anything out; entries whose time is not known are left out. */
export function lookAtEntries(boots: BootTimes, info: Labelled, entries: BlockEntries): EntryColumns {
  return resolve(info, entries, (ms) => boots.stretchAt(info.bootId, ms));
}

function resolve(
  info: Labelled,
  entries: BlockEntries,
  stretchAt: (ms: number) => TimeStretch | undefined,
): EntryColumns {
  const {
    devices,
    keys,
    values,
    monotonicMs,
    takenAtMs,
    sequences = countUp(info.firstSequence, info.count),
  } = entries;
  const classes = classesOf(info);
  if (takenAtMs !== undefined) return new EntryColumns({ sequences, devices, keys, values, ts: takenAtMs, classes });
  const ts = new Array<number>(info.count);
  /** Rows whose times are no more than guesses, or not even that. */
  const uncertain: number[] = [];
  const unknown: number[] = [];
  let stretch: TimeStretch | undefined;
  for (let row = 0; row < info.count; row += 1) {
    const ms = monotonicMs[row] as number;
    if (stretch === undefined || ms < stretch.fromMs || ms >= stretch.untilMs) stretch = stretchAt(ms);
    ts[row] = ms + (stretch?.offsetMs ?? 0);
    if (stretch === undefined) unknown.push(row);
    else if (stretch.uncertain) uncertain.push(row);
  }
  const all = new EntryColumns({ sequences, devices, keys, values, ts, classes });
  return uncertain.length + unknown.length === 0 ? all : withMarks(all, new Set(uncertain), new Set(unknown));
}

/** Blocks that follow each other mostly are as long: they share what is the same for all of their entries. */
let lastClasses: readonly EntryClass[] = [];

function classesOf({ count, alarm }: Labelled): readonly EntryClass[] {
  const one: EntryClass = alarm ? 'alarm' : 'regular';
  if (lastClasses.length !== count || lastClasses[0] !== one) lastClasses = new Array<EntryClass>(count).fill(one);
  return lastClasses;
}

function countUp(first: number, count: number): number[] {
  const numbers = new Array<number>(count);
  for (let at = 0; at < count; at += 1) numbers[at] = first + at;
  return numbers;
}

function withMarks(all: EntryColumns, uncertain: ReadonlySet<number>, unknown: ReadonlySet<number>): EntryColumns {
  const known = [...all].map((entry, row) => ({ entry, row })).filter(({ row }) => !unknown.has(row));
  const rows = known.flatMap(({ entry, row }) =>
    uncertain.has(row) ? [entry, { ...entry, key: entry.key + UNCERTAIN_SUFFIX, value: true }] : [entry],
  );
  return EntryColumns.of(rows);
}
