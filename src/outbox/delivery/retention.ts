/**
 * Decides which segments stay and which give way. Delivered segments stay for a while; entries past their age go. When there is no room for the next commit,
 * delivered segments go first, then the oldest are thinned, then dropped. Every entry that goes undelivered is counted.
 *
 * It survives a disk that others fill, which cannot be mended from here: while it is short of space the outbox stays as large as it was when that began. What is new
 * takes the place of the oldest, byte for byte, and what others write costs no entry of ours.
 */
import { systemCode } from '../../errors/agent-error.ts';
import { isOpenEnded } from '../format/segment-file.ts';
import { FreeSpace } from '../segments/free-space.ts';
import type { Segment } from '../segments/segment-shelf.ts';
import type { DeliveryParts } from './delivery-parts.ts';
import type { RecentDeliveries } from './resend.ts';
import { contentOf, heldIn } from './segment-count.ts';
import { type ThinningDeps, thinSegment } from './thinning.ts';

type RetentionDeps = Pick<DeliveryParts, 'clock' | 'log' | 'boots' | 'settings' | 'setAside' | keyof ThinningDeps> & {
  /** The segments of these stay until there is no room. */
  readonly recent: Pick<RecentDeliveries, 'lieIn'>;
};

/** A sixteenth is left for the ledger, the rejected, what is set aside and the small files. */
const SEGMENTS_SHARE = 15 / 16;
/** With `drop-newest` the remaining sixteenth is for alarms; when they fill it, too, the oldest entries give way to them. */
const REGULAR_SHARE = 15 / 16;
/** After so many halvings one sample in 32 is left; thinner than that is noise. */
const MAX_THINNINGS = 5;
/** So many are tried, because one that cannot be read must not make others be dropped that can be thinned. */
const TRIED_AT_ONCE = 3;
/** Share that thinning must save to be worth another rewrite. */
const WORTHWHILE_SAVING = 0.1;

export class Retention {
  readonly #deps: RetentionDeps;
  readonly #free: FreeSpace;
  /** While space is short: what the segments took when that began. */
  #ceilingBytes: number | undefined;
  /** Bytes of the segments after the oldest gave way to alarms. Regular entries do not grow beyond it until something is delivered. */
  #leftBytes = Number.POSITIVE_INFINITY;
  /** Why the disk refused the last commit: it is full, or the quota of this user is. */
  #refusedBy: 'ENOSPC' | 'EDQUOT' | undefined;

  /** Room kept for a thinner copy on a full disk: a dropped segment made it. Until something is delivered, or the disk has more than it again. */
  #copyRoom: { readonly bytes: number; readonly segmentsBytes: number; readonly isQuota: boolean } | undefined;
  /** Why the last segment could not be thinned, when it was for want of room. */
  #thinningRefusedBy: 'ENOSPC' | 'EDQUOT' | undefined;

  constructor(deps: RetentionDeps) {
    this.#deps = deps;
    this.#free = new FreeSpace(deps);
  }

  /** Free bytes of the disk when last asked. */
  get freeBytes(): number {
    return this.#free.bytes;
  }

  /** Bytes that regular entries may take in segments. */
  get budgetBytes(): number {
    const { maxBytes, whenFull } = this.#deps.settings;
    return Math.floor(maxBytes * SEGMENTS_SHARE * (whenFull === 'drop-newest' ? REGULAR_SHARE : 1));
  }

  /** By how much the disk has less free space than it is to have; 0 when all is well. */
  get missingBytes(): number {
    return Math.max(0, this.#deps.settings.minFreeBytes - this.freeBytes);
  }

  /** Removes delivered segments that were kept for long enough, and all that is too old. One that cannot be unlinked does not keep the others. */
  async expire(): Promise<void> {
    const { settings, recent } = this.#deps;
    const delivered = this.#delivered().filter((segment) => !recent.lieIn(segment));
    let retained = delivered.reduce((sum, segment) => sum + segment.bytes, 0);
    for (const segment of delivered) {
      const tooMuch = retained > settings.retain.bytes;
      if (!tooMuch && !this.#isOlder(segment, settings.retain.forMs)) continue;
      retained -= segment.bytes;
      await this.#remove(segment);
    }
    for (const segment of this.#sealed())
      if (this.#isOlder(segment, settings.maxAgeMs)) await this.#drop(segment, 'age');
  }

  /** Makes room for so much; false when the newest must give way, which no alarm does. No segment goes while it is read. */
  async makeRoom(growth: number, { alarms }: { readonly alarms: boolean }): Promise<boolean> {
    await this.#free.refresh();
    const { shelf, settings, reading } = this.#deps;
    const isFull = this.#refusedBy === 'EDQUOT' || (this.#refusedBy === 'ENOSPC' && this.freeBytes < growth);
    if (this.missingBytes === 0 && !isFull) this.#ceilingBytes = undefined;
    else this.#ceilingBytes ??= shelf.bytes;
    const { bytes = 0, isQuota = false } = this.#copyRoom ?? {};
    if (!isQuota && this.freeBytes > 2 * bytes) this.#copyRoom = undefined;
    if (this.missingBytes > 0) await reading.soon(() => this.#giveBack());
    const refusable = settings.whenFull === 'drop-newest' && !alarms;
    if (shelf.bytes + growth <= this.#maxBytes(refusable)) return true;
    return reading.soon(async () => {
      let gave = true;
      while (gave && shelf.bytes + growth > this.#maxBytes(refusable)) gave = await this.#giveWay(refusable);
      return gave || !refusable;
    });
  }

  /** The disk took no more: lets go of all that was delivered, and, while that does not help, of what the next commit needs. */
  async onRefused(code: 'ENOSPC' | 'EDQUOT'): Promise<void> {
    this.#refusedBy = code;
    this.#free.forget();
    await this.#deps.reading.soon(async () => {
      for (const segment of this.#delivered()) await this.#letGo(segment);
    });
  }

  /** The disk took a commit. */
  onTaken(): void {
    this.#refusedBy = undefined;
  }

  /** Bytes that the segments may take now. */
  #maxBytes(refusable: boolean): number {
    const most = refusable
      ? Math.min(this.budgetBytes, this.#leftBytes)
      : this.#deps.settings.maxBytes * SEGMENTS_SHARE;
    const { segmentsBytes = Number.POSITIVE_INFINITY } = this.#copyRoom ?? {};
    return Math.min(most, this.#ceilingBytes ?? Number.POSITIVE_INFINITY, segmentsBytes);
  }

  /** Delivered segments are a convenience: they go as far as others lack their space. */
  async #giveBack(): Promise<void> {
    let missing = this.missingBytes;
    for (const segment of this.#delivered()) {
      if (missing <= 0) break;
      const { bytes } = this.#deps.shelf;
      await this.#letGo(segment);
      missing -= bytes - this.#deps.shelf.bytes;
    }
  }

  /** Removes a delivered segment for others' sake: its space is not taken again. */
  async #letGo(segment: Segment): Promise<void> {
    if (!(await this.#remove(segment))) return;
    if (this.#ceilingBytes !== undefined) this.#ceilingBytes -= segment.bytes;
    this.#free.forget();
  }

  /** Frees some space; false when nothing may or can go. */
  async #giveWay(refusable: boolean): Promise<boolean> {
    if (await this.#removeDelivered()) return true;
    if (refusable) return false;
    const sealed = this.#sealed();
    if (this.#deps.settings.whenFull === 'thin' && (await this.#thin(sealed))) return true;
    const refusedBy = this.#thinningRefusedBy;
    const { bytes } = this.#deps.shelf;
    for (const segment of sealed) {
      if (!(await this.#drop(segment, 'full'))) continue;
      // Its space holds the copies of all others, one after the other, and no new entries.
      const others = sealed.filter((other) => other !== segment);
      if (refusedBy !== undefined && (await this.#thin(others))) {
        const room = segment.bytes;
        this.#copyRoom = { bytes: room, segmentsBytes: bytes - room, isQuota: refusedBy === 'EDQUOT' };
        this.#free.forget();
      }
      return true;
    }
    return false;
  }

  async #removeDelivered(): Promise<boolean> {
    for (const segment of this.#delivered()) {
      if (!(await this.#remove(segment))) continue;
      this.#copyRoom = undefined;
      return true;
    }
    return false;
  }

  /** Thins the least thinned of the older half, the oldest first; false when all of it is as thin as can be, or cannot be rewritten. */
  async #thin(sealed: readonly Segment[]): Promise<boolean> {
    this.#thinningRefusedBy = undefined;
    const older = sealed.slice(0, Math.ceil(sealed.length / 2)).filter(({ thinned }) => thinned < MAX_THINNINGS);
    for (const segment of older.sort((a, b) => a.thinned - b.thinned).slice(0, TRIED_AT_ONCE))
      if (await this.#thinOne(segment)) return true;
    return false;
  }

  async #thinOne(segment: Segment): Promise<boolean> {
    const { state, log } = this.#deps;
    try {
      const { removed, bytesBefore, bytesAfter } = await thinSegment(this.#deps, segment);
      state.count('thinned', removed);
      log.warn(
        { segment: segment.name, removed, bytesBefore, bytesAfter },
        'outbox has no room: oldest entries thinned',
      );
      // Entries that do not shrink (alarms, few samples) are not tried again.
      if (bytesBefore - bytesAfter < bytesBefore * WORTHWHILE_SAVING) segment.thinned = MAX_THINNINGS;
      return true;
    } catch (error) {
      log.warn({ segment: segment.name, err: error }, 'outbox segment cannot be thinned');
      const code = systemCode(error) ?? systemCode(error instanceof Error ? error.cause : undefined);
      if (code === 'ENOSPC' || code === 'EDQUOT') this.#thinningRefusedBy = code;
      return false;
    }
  }

  /** False when its file cannot be taken off the disk: then nothing changed. What arrives until then does not count. */
  async #drop(segment: Segment, reason: 'age' | 'full'): Promise<boolean> {
    const { shelf, state, log } = this.#deps;
    const { acknowledged } = state;
    const { blocks, sequences } = await contentOf(shelf, segment, acknowledged);
    // Entries that were delivered meanwhile go first.
    if (reason === 'full' && (await this.#removeDelivered())) return true;
    if (!(await this.#remove(segment))) return false;
    const entries = heldIn(segment, blocks, acknowledged, sequences);
    if (reason === 'full') this.#leftBytes = shelf.bytes;
    acknowledged.add(segment.firstSequence, segment.lastSequence);
    state.count('dropped', entries);
    const atLeast = blocks === undefined && isOpenEnded(segment) ? ', at least so many: its end was never read' : '';
    if (entries > 0)
      log.warn({ segment: segment.name, entries, reason }, `outbox entries dropped undelivered${atLeast}`);
    return true;
  }

  /** Takes a segment off the disk, or out of the way where damage in it was never read; false when that cannot be done now, or others did. */
  async #remove(segment: Segment): Promise<boolean> {
    const { shelf, state, setAside, log } = this.#deps;
    await state.settle();
    if (!shelf.segments.includes(segment)) return false;
    try {
      if (segment.damagedBytes > 0) await setAside(segment.name);
      if (!(await shelf.remove(segment))) return false;
      this.#leftBytes = Number.POSITIVE_INFINITY;
      return true;
    } catch (error) {
      log.warn({ segment: segment.name, err: error }, 'outbox segment cannot be removed');
      return false;
    }
  }

  #sealed(): Segment[] {
    const { active, segments } = this.#deps.shelf;
    return segments.filter((segment) => segment !== active);
  }

  #delivered(): Segment[] {
    const { state } = this.#deps;
    return this.#sealed().filter(({ firstSequence, lastSequence }) =>
      state.acknowledged.covers(firstSequence, lastSequence),
    );
  }

  /** True when all in it was certainly taken longer ago than that: by time that ran, never by what a clock says. */
  #isOlder(segment: Segment, ms: number): boolean {
    const { boots, shelf } = this.#deps;
    const later = shelf.segments.slice(shelf.segments.indexOf(segment) + 1);
    // The next boot that is not forgotten says how long ago a forgotten one was at least.
    const next = later.find(({ first }) => first !== undefined && boots.isKnown(first.bootId))?.first;
    return [segment.last, next].some(
      (moment) =>
        moment !== undefined &&
        boots.ranSince(moment.bootId, moment.ownTime ? Number.POSITIVE_INFINITY : moment.ms) > ms,
    );
  }
}
