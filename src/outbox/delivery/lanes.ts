/**
 * Which blocks go next. Lanes are not stored: each is a way of looking at the one sequence, minus what was acknowledged.
 *
 *   sequence  ──acknowledged──┊─── backlog ───┊── live ──▶ now
 *   alarm         ·   ·     ·        ·   !  !       !        wherever they lie
 */
import type { BlockInfo } from '../format/block-frame.ts';
import type { PlacedBlock, Segment } from '../segments/segment-shelf.ts';
import type { DeliveryParts } from './delivery-parts.ts';
import type { Lane } from './outbox-batch.ts';
import { type SequenceRange, SequenceRanges } from './sequence-ranges.ts';

/** The present is what was committed within this, within two commits when those are rarer, or between two uploads that go together. */
const LIVE_AGE_MS = 30_000;
/** Blocks committed within this grow old together. */
const STRETCH_MS = 500;
/** How many segments from before this start one search for alarms reads: a few ms each. */
const SURVEYED_AT_ONCE = 4;

type LanesDeps = Pick<DeliveryParts, 'clock' | 'shelf' | 'quarantined' | 'boots' | 'settings' | 'presentMs'> & {
  readonly acknowledged: SequenceRanges;
};

/** Called with one due block after the other. When it returns false the visit ends, and returns false, too. */
type Visit = (placed: PlacedBlock) => boolean;

export class Lanes {
  readonly #deps: LanesDeps;
  readonly #liveAgeMs: number;
  /** Regular blocks of this process, ascending: candidates for `live`. */
  #recent: { readonly first: number; last: number; readonly atMs: number }[] = [];
  readonly #alarms = new SequenceRanges();
  /** Segments of before this start whose alarms are not known yet, ascending. */
  #unsurveyed: Segment[];

  constructor(deps: LanesDeps) {
    this.#deps = deps;
    this.#liveAgeMs = Math.max(LIVE_AGE_MS, 2 * deps.settings.commitAgeMs);
    this.#unsurveyed = [...deps.shelf.segments];
  }

  /** Takes note of blocks that have just become durable. */
  committed(blocks: readonly BlockInfo[]): void {
    const atMs = this.#deps.clock.monotonicMs();
    for (const { alarm, firstSequence: first, lastSequence: last } of blocks) {
      if (alarm) this.#alarms.add(first, last);
      else this.#remember(first, last, atMs);
    }
    this.#forgetOld();
  }

  /** Entries that wait in the two fast lanes. */
  counts(): { readonly alarm: number; readonly live: number } {
    this.#forgetOld();
    const waiting = (first: number, last: number): number =>
      last - first + 1 - this.#deps.acknowledged.countWithin(first, last);
    return {
      alarm: this.#alarms.list().reduce((sum, [first, last]) => sum + waiting(first, last), 0),
      live: this.#recent.reduce((sum, { first, last }) => sum + waiting(first, last), 0),
    };
  }

  /** Tells when a look into a lane could find something; costs nothing, unlike the look. */
  mayHold(lane: Lane): boolean {
    if (lane === 'alarm') return this.#alarms.list().length > 0 || this.#unsurveyed.length > 0;
    return lane === 'backlog' || this.#recent.length > 0;
  }

  /** True when nothing of the present goes before the last of the backlog. */
  get inOrder(): boolean {
    return this.#deps.settings.order !== 'newest-first';
  }

  /** True while something of before the present waits on the disk. */
  async hasBacklog(): Promise<boolean> {
    return !(await this.#visitBacklog(() => false)) || this.#recent.length > 0;
  }

  /** Blocks of a lane, up to a number of entries but at least one block, ascending; `beyond` are ranges on their way, which are passed over. */
  async select(lane: Lane, maxEntries: number, beyond: readonly SequenceRange[] = []): Promise<PlacedBlock[]> {
    const taken: PlacedBlock[] = [];
    const seen = new Set<number>();
    // Quarantined entries are not under way, and must not make their neighbours go twice.
    const notNow = new SequenceRanges([...beyond, ...this.#deps.quarantined.list()]);
    let entries = 0;
    await this.#visit(lane, (placed) => {
      const { firstSequence, lastSequence, count } = placed.info;
      // Thinning makes one block of several, which then is part of more than one stretch.
      if (seen.has(firstSequence)) return true;
      seen.add(firstSequence);
      if (notNow.coversWith(this.#deps.acknowledged, firstSequence, lastSequence)) return true;
      if (taken.length > 0 && entries + count > maxEntries) return false;
      taken.push(placed);
      entries += count;
      return entries < maxEntries;
    });
    return taken.sort((a, b) => a.info.firstSequence - b.info.firstSequence);
  }

  #visit(lane: Lane, visit: Visit): Promise<unknown> {
    if (lane === 'alarm') return this.#visitAlarms(visit);
    return lane === 'live' ? this.#visitLive(visit) : this.#visitBacklog(visit);
  }

  async #visitAlarms(visit: Visit): Promise<void> {
    await this.#survey();
    for (const [first, last] of this.#alarms.list()) {
      if (this.#isSettled(first, last)) continue;
      if (!(await this.#visitWithin(first, last, visit))) return;
    }
    const [oldest] = this.#deps.shelf.segments;
    if (oldest !== undefined) this.#alarms.forgetBelow(oldest.firstSequence);
  }

  async #visitLive(visit: Visit): Promise<void> {
    this.#forgetOld();
    if (this.#recent.length === 0) return;
    const newestFirst = this.#deps.settings.order === 'newest-first';
    // In the order of time, nothing live goes before the last of the backlog.
    if (!newestFirst && !(await this.#visitBacklog(() => false))) return;
    for (const { first, last } of newestFirst ? this.#recent.toReversed() : [...this.#recent])
      if (!(await this.#visitWithin(first, last, visit))) return;
  }

  async #visitBacklog(visit: Visit): Promise<boolean> {
    this.#forgetOld();
    const { shelf, acknowledged, settings } = this.#deps;
    const liveFrom = this.#recent[0]?.first ?? Number.POSITIVE_INFINITY;
    const newestFirst = settings.order === 'newest-first';
    for (const segment of newestFirst ? shelf.segments.toReversed() : [...shelf.segments]) {
      const { firstSequence, lastSequence } = segment;
      if (firstSequence >= liveFrom || this.#isSettled(firstSequence, lastSequence)) continue;
      const blocks = await this.#blocksOf(segment);
      const isDue = this.#dueAtOnce();
      for (let at = newestFirst ? blocks.length - 1 : 0; at >= 0 && at < blocks.length; ) {
        const info = blocks[at] as BlockInfo;
        const done = acknowledged.rangeOf(info.firstSequence, info.lastSequence);
        // Most of a segment may be delivered: one step takes the visit past all of it.
        if (done !== undefined)
          at = newestFirst
            ? Math.min(at - 1, firstEndingAtOrAfter(blocks, done[0]))
            : firstEndingAtOrAfter(blocks, done[1] + 1);
        else if (info.firstSequence < liveFrom && isDue(info) && !visit({ segment, info })) return false;
        else at += newestFirst ? -1 : 1;
      }
    }
    return true;
  }

  async #visitWithin(first: number, last: number, visit: Visit): Promise<boolean> {
    for (let sequence = first; sequence <= last; ) {
      // Its entries may be gone; those that follow need not be.
      const segment = this.#deps.shelf.segmentAtOrAfter(sequence);
      if (segment === undefined || segment.firstSequence > last) return true;
      const blocks = await this.#blocksOf(segment);
      const isDue = this.#dueAtOnce();
      for (let at = firstEndingAtOrAfter(blocks, sequence); at < blocks.length; at += 1) {
        const info = blocks[at] as BlockInfo;
        if (info.firstSequence > last) return true;
        if (isDue(info) && !visit({ segment, info })) return false;
      }
      sequence = segment.lastSequence + 1;
    }
    return true;
  }

  /** None of a segment that cannot be read now, and of one whose boots have no time yet: it would be read through at each look. */
  async #blocksOf(segment: Segment): Promise<readonly BlockInfo[]> {
    const { shelf, boots } = this.#deps;
    const { bootIds, ownTimes } = segment;
    if (!shelf.isReadable(segment)) return [];
    if (bootIds?.every((bootId) => !boots.canResolve(bootId)) === true && !ownTimes) return [];
    return await shelf.blocksOf(segment);
  }

  /** Tells which of some blocks are due, without a wait between them: the clock is looked at once for all blocks of a boot. */
  #dueAtOnce(): (info: BlockInfo) => boolean {
    let boot: string | undefined;
    let hasTime = false;
    return (info) => {
      if (this.#isSettled(info.firstSequence, info.lastSequence)) return false;
      if (info.ownTime) return true;
      if (info.bootId !== boot) hasTime = this.#deps.boots.canResolve(info.bootId);
      boot = info.bootId;
      return hasTime;
    };
  }

  /** True when nothing of a range is to be given out. */
  #isSettled(first: number, last: number): boolean {
    return this.#deps.acknowledged.coversWith(this.#deps.quarantined, first, last);
  }

  /** Looks for alarms in a few of the segments that an earlier process wrote, newest first; each call gets on with it. */
  async #survey(): Promise<void> {
    for (let read = 0; read < SURVEYED_AT_ONCE; ) {
      const at = this.#unsurveyed.findLastIndex((one) => this.#deps.shelf.isReadable(one));
      const [segment] = at === -1 ? [] : this.#unsurveyed.splice(at, 1);
      if (segment === undefined) return;
      if (!this.#deps.shelf.segments.includes(segment)) continue;
      if (this.#deps.acknowledged.covers(segment.firstSequence, segment.lastSequence)) continue;
      const blocks = await this.#deps.shelf.blocksOf(segment).catch((error: unknown) => {
        this.#unsurveyed.unshift(segment);
        throw error;
      });
      for (const { alarm, firstSequence, lastSequence } of blocks)
        if (alarm) this.#alarms.add(firstSequence, lastSequence);
      read += 1;
    }
  }

  /** Commits in quick succession are one stretch of the present. */
  #remember(first: number, last: number, atMs: number): void {
    const newest = this.#recent.at(-1);
    if (newest !== undefined && newest.last + 1 === first && atMs - newest.atMs < STRETCH_MS) newest.last = last;
    else this.#recent.push({ first, last, atMs });
  }

  #forgetOld(): void {
    const { clock, acknowledged, presentMs } = this.#deps;
    const untilMs = clock.monotonicMs() - Math.max(this.#liveAgeMs, presentMs?.() ?? 0);
    let old = 0;
    for (let block = this.#recent[0]; block !== undefined; block = this.#recent[old]) {
      if (block.atMs >= untilMs && !acknowledged.covers(block.first, block.last)) break;
      old += 1;
    }
    if (old > 0) this.#recent = this.#recent.slice(old);
  }
}

function firstEndingAtOrAfter(blocks: readonly BlockInfo[], sequence: number): number {
  let low = 0;
  let high = blocks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((blocks[middle] as BlockInfo).lastSequence < sequence) low = middle + 1;
    else high = middle;
  }
  return low;
}
