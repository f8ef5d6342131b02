/** Counts for people and dashboards: how much is held, from when to when, how long it can go on, and what was lost. */
import type { Clock } from '../host/clock.ts';
import type { Delivery } from './delivery/delivery.ts';
import type { DeliveryParts } from './delivery/delivery-parts.ts';
import type { DeliveryState, LastLost, OutboxCounters } from './delivery/delivery-state.ts';
import { heldIn, heldInBlock } from './delivery/segment-count.ts';
import type { GroupCommit } from './segments/group-commit.ts';
import type { Segment, SegmentShelf } from './segments/segment-shelf.ts';
import type { BootTimes } from './times/boot-times.ts';

export interface OutboxStatus extends OutboxCounters {
  /** Entries that wait for delivery, on disk and in memory. An upper bound after thinning, a lower one while the end of a segment is unread. */
  readonly heldEntries: number;
  /** Held entries that are not yet durable. */
  readonly inMemoryEntries: number;
  /** Held entries of boots whose wall time cannot be known, or not yet: held back, or sent as uncertain, by policy. */
  readonly undecidedEntries: number;
  /** Present while so many entries wait in the dead-letter queue; they are held nowhere else. */
  readonly deadLetters?: number;
  /** Present while so many of these are held although the clock is right now: of earlier boots, whose time nobody may ever know. */
  readonly untimedEntries?: number;
  /** While the outbox has not been opened it is not known. */
  readonly lastLost?: LastLost;
  /** Size of all segments, and of those that hold something undelivered. */
  readonly bytes: number;
  readonly heldBytes: number;
  readonly segments: number;
  /** UTC epoch ms of the oldest and newest waiting entry; absent when none waits or its time is not known. */
  readonly oldestMs?: number;
  readonly newestMs?: number;
  readonly lanes: { readonly alarm: number; readonly live: number; readonly backlog: number };
  /** Entries per second appended of late. */
  readonly ratePerS: number;
  /** How long an outage may last, at the present rate, before the first entry is thinned or dropped; absent while there is no rate. */
  readonly hoursThatFit?: number;
  /** The same, as far as only the free space of the disk bounds it, which other outboxes share. */
  readonly hoursOnDisk?: number;
  /** Present while the disk does not take entries: the system's code. */
  readonly fault?: string;
  /** Present while the disk does not give so many segments of what waits, which are tried again. */
  readonly unreadSegments?: number;
  /** Present while a read has hung for a minute or more: for how long. Nothing that is stored is sent meanwhile. */
  readonly hangingReadMs?: number;
  /** Present while the disk has less free space than it is to have: by so many bytes. The outbox then does not grow. */
  readonly missingBytes?: number;
  readonly timeSynchronised: boolean;
}

interface Mark {
  readonly atMs: number;
  readonly entries: number;
}

/** "Of late": between one and two of these. */
const RATE_WINDOW_MS = 600_000;
/** Before anything was stored: what a block of ten keys takes per entry. */
const USUAL_ENTRY_BYTES = 8;
const SAMPLE_BYTES = 4096;
/** One read of a slow card takes a second or two, of a failing one half of this. */
const HANGS_AFTER_MS = 60_000;

/** Measures how many entries come in, over the last minutes. */
export class AppendRate {
  readonly #clock: Clock;
  #entries = 0;
  #older: Mark;
  #newer: Mark;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#older = this.#newer = { atMs: clock.monotonicMs(), entries: 0 };
  }

  add(entries: number): void {
    this.#entries += entries;
    const atMs = this.#clock.monotonicMs();
    if (atMs - this.#newer.atMs < RATE_WINDOW_MS) return;
    this.#older = this.#newer;
    this.#newer = { atMs, entries: this.#entries };
  }

  perSecond(): number {
    const elapsedMs = this.#clock.monotonicMs() - this.#older.atMs;
    return elapsedMs < 1 ? 0 : ((this.#entries - this.#older.entries) * 1000) / elapsedMs;
  }
}

interface StatusDeps extends Omit<DeliveryParts, 'quarantined'>, Pick<Delivery, 'retention' | 'lanes'> {
  readonly commit: GroupCommit;
  readonly rate: AppendRate;
}

export function readStatus(deps: StatusDeps): OutboxStatus {
  const { clock, shelf, state, letters, boots, retention, commit, rate, reading } = deps;
  const held = shelf.segments
    .map((segment) => ({ segment, entries: heldIn(segment, shelf.knownBlocksOf(segment), state.acknowledged) }))
    .filter(({ entries }) => entries > 0);
  const onDisk = held.reduce((sum, { entries }) => sum + entries, 0);
  const heldBytes = held.reduce((sum, { segment }) => sum + segment.bytes, 0);
  const unread = held.filter(({ segment }) => segment.unreadable !== undefined).length;
  const oldestMs = held[0] === undefined ? undefined : startOf(held[0].segment, deps);
  const newestHeld = held.at(-1);
  const newestMs =
    commit.waitingEntries > 0
      ? boots.look(clock.bootId, clock.monotonicMs())
      : newestHeld && endOf(newestHeld.segment, deps);
  const { alarm, live } = deps.lanes.counts();
  const ratePerS = rate.perSecond();
  const onDiskRoom = retention.freeBytes - deps.settings.minFreeBytes + shelf.bytes - heldBytes;
  const hoursIn = (room: number): number => Math.max(0, room) / (ratePerS * entryBytes(shelf) * 3600);
  const undecidedEntries = held.reduce((sum, { segment }) => sum + undecidedIn(segment, shelf, state, boots), 0);
  const timeSynchronised = boots.isDecided(clock.bootId);
  const isUntimed = timeSynchronised && undecidedEntries > 0 && deps.settings.timeUncertain === 'hold';
  return {
    ...state.counters,
    lastLost: state.lastLost,
    heldEntries: onDisk + commit.waitingEntries,
    inMemoryEntries: commit.waitingEntries,
    deadLetters: letters.size === 0 ? undefined : letters.size,
    undecidedEntries,
    untimedEntries: isUntimed ? undecidedEntries : undefined,
    bytes: shelf.bytes,
    heldBytes,
    segments: shelf.segments.length,
    oldestMs: wholeMs(oldestMs),
    newestMs: wholeMs(newestMs),
    lanes: { alarm, live, backlog: Math.max(0, onDisk - alarm - live) },
    ratePerS,
    hoursThatFit: ratePerS > 0 ? hoursIn(Math.min(retention.budgetBytes - heldBytes, onDiskRoom)) : undefined,
    hoursOnDisk: ratePerS > 0 && Number.isFinite(onDiskRoom) ? hoursIn(onDiskRoom) : undefined,
    fault: commit.fault,
    unreadSegments: unread === 0 ? undefined : unread,
    hangingReadMs: reading.stillForMs < HANGS_AFTER_MS ? undefined : reading.stillForMs,
    missingBytes: retention.missingBytes === 0 ? undefined : retention.missingBytes,
    timeSynchronised,
  };
}

/** While the folder has not been opened: what it holds nobody knows. */
export function statusBeforeOpening(
  known: Pick<OutboxStatus, 'heldEntries' | 'dropped' | 'fault' | 'timeSynchronised'>,
): OutboxStatus {
  return {
    rejected: 0,
    resent: 0,
    thinned: 0,
    damaged: 0,
    setAside: 0,
    diskBytes: 0,
    inMemoryEntries: known.heldEntries,
    undecidedEntries: 0,
    bytes: 0,
    heldBytes: 0,
    segments: 0,
    lanes: { alarm: 0, live: 0, backlog: 0 },
    ratePerS: 0,
    ...known,
  };
}

/** By blocks where they are known, and else by the boot that the segment begins with. */
function undecidedIn(segment: Segment, shelf: SegmentShelf, { acknowledged }: DeliveryState, boots: BootTimes): number {
  const blocks = shelf.knownBlocksOf(segment);
  const isUndecided = (part: { readonly bootId: string; readonly ownTime: boolean }): boolean =>
    !part.ownTime && !boots.isDecided(part.bootId);
  if (blocks !== undefined) return heldIn(segment, blocks.filter(isUndecided), acknowledged);
  return segment.first !== undefined && isUndecided(segment.first) ? heldIn(segment, undefined, acknowledged) : 0;
}

/** Time of the first block that waits, where the blocks are known; else of the segment's first. */
function startOf(segment: Segment, { shelf, state, boots }: StatusDeps): number | undefined {
  const waiting = shelf.knownBlocksOf(segment)?.find((block) => heldInBlock(block, state.acknowledged) > 0);
  return timeOf(waiting === undefined ? segment.first : { ...waiting, ms: waiting.firstMs }, boots);
}

/** Time of the last block that waits, where the blocks are known; else of the segment's last. */
function endOf(segment: Segment, { shelf, state, boots }: StatusDeps): number | undefined {
  const waiting = shelf.knownBlocksOf(segment)?.findLast((block) => heldInBlock(block, state.acknowledged) > 0);
  if (waiting === undefined) return timeOf(segment.last ?? segment.first, boots);
  return timeOf({ ...waiting, ms: Number.isFinite(waiting.lastMs) ? waiting.lastMs : waiting.firstMs }, boots);
}

function timeOf(edge: Segment['first'], boots: BootTimes): number | undefined {
  if (edge === undefined) return undefined;
  return edge.ownTime ? edge.ms : boots.look(edge.bootId, edge.ms);
}

function wholeMs(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms);
}

/** Bytes of an entry on the disk, by the newest segment that has some. */
function entryBytes(shelf: SegmentShelf): number {
  const segment = shelf.segments.findLast((one) => one.count > 0 && shelf.usedBytes(one) > SAMPLE_BYTES);
  return segment === undefined ? USUAL_ENTRY_BYTES : shelf.usedBytes(segment) / segment.count;
}
