/**
 * Decimates a segment: of each key every second sample stays, and of each stretch the first, last, least and greatest, so that a long
 * outage keeps a coarse history. The thinner copy is written beside the segment, synced, and renamed over it.
 */
import { isNumeric, type JsonValue } from '../../values/json.ts';
import { type BlockInfo, frameBlock } from '../format/block-frame.ts';
import { type BlockEntries, PayloadEncoder } from '../format/block-payload.ts';
import { SEGMENT_HEADER_BYTES, segmentHeader } from '../format/segment-file.ts';
import type { PlacedBlock, Segment } from '../segments/segment-shelf.ts';
import { loseBlock } from './damage.ts';
import type { DeliveryParts } from './delivery-parts.ts';
import type { SequenceRanges } from './sequence-ranges.ts';

/** Entries decimated together: a few hundred of each key, and a bounded part of memory. */
const STRETCH_ENTRIES = 4_000;

/** It writes in a turn to read. */
export type ThinningDeps = Pick<DeliveryParts, 'files' | 'folder' | 'shelf' | 'state' | 'reading'>;

export interface Thinned {
  /** Entries that were taken away. */
  readonly removed: number;
  readonly bytesBefore: number;
  readonly bytesAfter: number;
}

interface Written {
  readonly had: number;
  readonly kept: number;
  /** No longer whole. */
  readonly lost: readonly BlockInfo[];
  /** Whole, and nothing waits in them. */
  readonly done: readonly BlockInfo[];
  readonly bytesAfter: number;
}

/** Rewrites one segment that nothing is written to any more. Entries that were delivered go too, alarms stay whole. */
export async function thinSegment(deps: ThinningDeps, segment: Segment): Promise<Thinned> {
  const { files, folder, shelf, state, reading } = deps;
  const path = `${folder}/${segment.name}`;
  const bytesBefore = segment.bytes;
  try {
    const { had, kept, lost, done, bytesAfter } = await writeThinner(deps, segment, `${path}.tmp`);
    // Before their blocks are gone.
    state.settleGaps(done.map(({ firstSequence, lastSequence }) => [firstSequence, lastSequence]));
    await state.settle();
    await files.rename(`${path}.tmp`, path);
    reading.advanced();
    // From here on the file is another: what is known of it must be, too, whatever else fails.
    segment.bytes = bytesAfter;
    segment.count = kept;
    segment.thinned += 1;
    delete segment.unreadable;
    // Blocks that are no longer whole went with the rewriting.
    for (const info of lost) loseBlock(state, info);
    shelf.refresh(segment);
    // Should a power cut bring the thicker one back, nothing is lost by it.
    await files.syncFolder(folder).catch(() => {});
    return { removed: had - kept, bytesBefore, bytesAfter };
  } catch (error) {
    await files.unlink(`${path}.tmp`).catch(() => {});
    throw error;
  }
}

async function writeThinner(
  { files, shelf, state, reading }: ThinningDeps,
  segment: Segment,
  path: string,
): Promise<Written> {
  const { acknowledged } = state;
  const encoder = new PayloadEncoder();
  const blocks = (await shelf.blocksOf(segment)).filter(
    (info) => !acknowledged.covers(info.firstSequence, info.lastSequence),
  );
  let at = SEGMENT_HEADER_BYTES;
  let kept = 0;
  let had = 0;
  const lost: BlockInfo[] = [];
  const done: BlockInfo[] = [];
  const target = await files.open(path, 'replace');
  try {
    for (const stretch of stretches(blocks.map((info) => ({ segment, info })))) {
      const read = await shelf.read(stretch);
      read.forEach((one, row) => {
        if (one === undefined) lost.push((stretch[row] as PlacedBlock).info);
      });
      const entries = waiting(stretch, read, acknowledged);
      had += entries.keys.length;
      const { alarm, bootId, firstSequence } = (stretch[0] as PlacedBlock).info;
      const thinner = alarm ? entries : decimate(entries);
      if (thinner.keys.length === 0) {
        done.push(...stretch.flatMap(({ info }, row) => (read[row] === undefined ? [] : [info])));
        continue;
      }
      kept += thinner.keys.length;
      const lastSequence = (stretch.at(-1) as PlacedBlock).info.lastSequence;
      const { bytes } = frameBlock(encoder, thinner, { alarm, bootId, firstSequence, lastSequence });
      await target.write(bytes, at);
      reading.advanced();
      at += bytes.length;
    }
    await target.write(segmentHeader(segment.thinned + 1, kept), 0);
    reading.advanced();
    await target.datasync();
    reading.advanced();
  } finally {
    await target.close();
  }
  return { had, kept, lost, done, bytesAfter: at };
}

/** Every second sample of each key, and its first, last, least and greatest. */
export function decimate(entries: BlockEntries): BlockEntries {
  const rows = Map.groupBy(entries.keys.keys(), (row) => `${entries.devices[row]}\0${entries.keys[row]}`);
  const kept = new Set<number>();
  for (const own of rows.values()) {
    let least = own[0] as number;
    let greatest = least;
    own.forEach((row, at) => {
      if (at % 2 === 0 || at === own.length - 1) kept.add(row);
      if (isLess(entries.values[row], entries.values[least])) least = row;
      if (isLess(entries.values[greatest], entries.values[row])) greatest = row;
    });
    kept.add(least).add(greatest);
  }
  return joined([{ entries, rows: [...kept].sort((a, b) => a - b) }]);
}

/** A bigint, which whole numbers past 2^53 are, compares exactly with every number. */
function isLess(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  return isNumeric(a) && isNumeric(b) && a < b;
}

interface Rows {
  readonly entries: BlockEntries;
  readonly rows: readonly number[];
}

/** Neighbouring blocks that may become one. */
function* stretches(blocks: readonly PlacedBlock[]): Generator<PlacedBlock[]> {
  let stretch: PlacedBlock[] = [];
  let count = 0;
  for (const placed of blocks) {
    const [first] = stretch;
    if (first !== undefined && (!isAlike(first, placed) || count + placed.info.count > STRETCH_ENTRIES)) {
      yield stretch;
      stretch = [];
      count = 0;
    }
    stretch.push(placed);
    count += placed.info.count;
  }
  if (stretch.length > 0) yield stretch;
}

function isAlike({ info: a }: PlacedBlock, { info: b }: PlacedBlock): boolean {
  return a.alarm === b.alarm && a.ownTime === b.ownTime && a.bootId === b.bootId;
}

/** Entries that are not delivered yet, as one block. */
function waiting(
  stretch: readonly PlacedBlock[],
  read: readonly (BlockEntries | undefined)[],
  acknowledged: SequenceRanges,
): BlockEntries {
  const parts = read.flatMap((entries, at): Rows[] => {
    if (entries === undefined) return [];
    const { firstSequence } = (stretch[at] as PlacedBlock).info;
    const sequences = entries.sequences ?? entries.keys.map((_key, row) => firstSequence + row);
    const rows = [...sequences.keys()].filter((row) => !acknowledged.has(sequences[row] as number));
    return [{ entries: { ...entries, sequences }, rows }];
  });
  return joined(parts);
}

/** Rows of blocks that are alike, as one block. */
function joined(parts: readonly Rows[]): BlockEntries {
  const column = <T>(of: (entries: BlockEntries) => readonly T[] | undefined): T[] =>
    parts.flatMap(({ entries, rows }) => rows.map((row) => of(entries)?.[row] as T));
  const optional = (name: 'takenAtMs' | 'sequences'): number[] | undefined =>
    parts[0]?.entries[name] === undefined ? undefined : column((entries) => entries[name]);
  return {
    devices: column(({ devices }) => devices),
    keys: column(({ keys }) => keys),
    values: column(({ values }) => values),
    monotonicMs: column(({ monotonicMs }) => monotonicMs),
    takenAtMs: optional('takenAtMs'),
    sequences: optional('sequences'),
  };
}
