/**
 * Turns appended entries into blocks: gives sequences, spaces timestamps, and keeps apart what a lane or a clock must tell apart. A block is numbered
 * when it may leave, and framed when it is written: those that follow each other become one.
 */
import { SELF } from '../../values/self.ts';
import { boundsOf, type FramedBlock, frameBlock, type NumberedBlock } from '../format/block-frame.ts';
import { type BlockEntries, PayloadEncoder } from '../format/block-payload.ts';
import type { TelemetryEntry } from '../format/telemetry-entry.ts';
import type { BootTimes } from './boot-times.ts';
import { EntrySpacing } from './entry-spacing.ts';

type Writable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] };
interface Group {
  readonly alarm: boolean;
  readonly bootId: string;
  readonly ownTime: boolean;
  readonly entries: Writable<Required<Omit<BlockEntries, 'sequences'>>>;
}

/** Farther from 1970 than this no date of the platform goes (JavaScript's own limit), and a double still tells ms apart. */
const LAST_DATE_MS = 8.64e15;

type Times = Pick<BootTimes, 'refresh' | 'stretchAt' | 'hold'>;

export class BlockBuilder {
  readonly #encoder = new PayloadEncoder();
  readonly #boots: Times | undefined;
  /** Timestamps of keys that are in use; those of an earlier process are to be told. */
  readonly spacing: EntrySpacing;
  #nextSequence: number;

  constructor(nextSequence: number, boots?: Times) {
    this.#nextSequence = nextSequence;
    this.#boots = boots;
    this.spacing = new EntrySpacing(boots);
  }

  /** Blocks of at most `largest` entries; regular ones first, in the order of appending. */
  number(appended: readonly (readonly TelemetryEntry[])[], largest: number): NumberedBlock[] {
    const groups: Group[] = [];
    let current: Group | undefined;
    let bootId: string | undefined;
    this.#boots?.refresh();
    for (const entries of appended) {
      for (const entry of entries) {
        if (entry.bootId !== bootId) this.spacing.begin(entry.bootId);
        bootId = entry.bootId;
        const ownTime = hasOwnTime(entry);
        const alarm = entry.class === 'alarm';
        if (current === undefined || !fits(current, entry, alarm, ownTime) || current.entries.keys.length >= largest) {
          current = groups.find((group) => fits(group, entry, alarm, ownTime) && group.entries.keys.length < largest);
          if (current === undefined) {
            current = emptyGroup(entry, alarm, ownTime);
            groups.push(current);
          }
        }
        this.#put(current, entry, ownTime);
      }
    }
    return groups.sort((a, b) => Number(a.alarm) - Number(b.alarm)).map((group) => this.#numbered(group));
  }

  /** Frames of at most `largest` entries; `blocks` are in the order of their numbers. */
  frame(blocks: readonly NumberedBlock[], largest: number): FramedBlock[] {
    const runs: NumberedBlock[][] = [];
    for (const block of blocks) {
      const run = runs.at(-1);
      if (run !== undefined && follows(run, block, largest)) run.push(block);
      else runs.push([block]);
    }
    return runs.map((run) => {
      const { alarm, bootId, firstSequence } = (run[0] as NumberedBlock).info;
      return frameBlock(this.#encoder, joined(run), { alarm, bootId, firstSequence });
    });
  }

  #put({ entries }: Group, entry: TelemetryEntry, ownTime: boolean): void {
    entries.devices.push(entry.device);
    entries.keys.push(entry.key);
    entries.values.push(entry.value);
    const name = nameOf(entry.device, entry.key);
    const monotonicMs = Math.floor(entry.monotonicMs);
    if (ownTime) {
      entries.monotonicMs.push(monotonicMs);
      const takenAtMs = Math.floor(entry.takenAtMs as number);
      entries.takenAtMs.push(entry.isAgain === true ? takenAtMs : this.spacing.placeOwn(name, takenAtMs));
    } else entries.monotonicMs.push(this.spacing.place(name, monotonicMs));
  }

  #numbered({ alarm, bootId, ownTime, entries: { takenAtMs, ...rest } }: Group): NumberedBlock {
    const firstSequence = this.#nextSequence;
    const count = rest.keys.length;
    this.#nextSequence += count;
    const [firstMs, lastMs] = boundsOf(ownTime ? takenAtMs : rest.monotonicMs);
    // By the times that it has now its entries were told apart.
    if (!ownTime) this.#boots?.hold(bootId, lastMs);
    return {
      info: {
        alarm,
        ownTime,
        count,
        firstSequence,
        lastSequence: firstSequence + count - 1,
        firstMs,
        lastMs,
        bootId,
      },
      entries: ownTime ? { ...rest, takenAtMs } : rest,
    };
  }
}

export function nameOf(device: string, key: string): string {
  return device === SELF ? key : `${device}\0${key}`;
}

/** True when the source itself told the time, and it is a date. */
export function hasOwnTime({ takenAtMs }: TelemetryEntry): boolean {
  return takenAtMs !== undefined && Math.abs(takenAtMs) <= LAST_DATE_MS;
}

function fits(group: Group, entry: TelemetryEntry, alarm: boolean, ownTime: boolean): boolean {
  return group.alarm === alarm && group.ownTime === ownTime && group.bootId === entry.bootId;
}

function emptyGroup({ bootId }: TelemetryEntry, alarm: boolean, ownTime: boolean): Group {
  return { alarm, bootId, ownTime, entries: { devices: [], keys: [], values: [], monotonicMs: [], takenAtMs: [] } };
}

/** True when the block goes on where a run ends, and both fit into one frame. */
function follows(run: readonly NumberedBlock[], { info }: NumberedBlock, largest: number): boolean {
  const last = (run.at(-1) as NumberedBlock).info;
  const entries = run.reduce((sum, block) => sum + block.info.count, info.count);
  return (
    info.firstSequence === last.lastSequence + 1 &&
    info.alarm === last.alarm &&
    info.ownTime === last.ownTime &&
    info.bootId === last.bootId &&
    entries <= largest
  );
}

function joined(run: readonly NumberedBlock[]): BlockEntries {
  const [only, ...others] = run.map(({ entries }) => entries);
  if (only !== undefined && others.length === 0) return only;
  const all = run.map(({ entries }) => entries);
  const ownTime = all[0]?.takenAtMs !== undefined;
  return {
    devices: all.flatMap(({ devices }) => devices),
    keys: all.flatMap(({ keys }) => keys),
    values: all.flatMap(({ values }) => values),
    monotonicMs: all.flatMap(({ monotonicMs }) => monotonicMs),
    ...(ownTime && { takenAtMs: all.flatMap(({ takenAtMs = [] }) => takenAtMs) }),
  };
}
