/**
 * What stays and what gives way. Delivered segments stay a while; entries past their age go; and when the bound or the disk's free
 * space leaves no room for the next commit, delivered segments go first, then the oldest are thinned, then dropped. Every entry that
 * goes undelivered is counted.
 */
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { BootTimes } from './boot-times.ts';
import type { DeliveryState } from './delivery-state.ts';
import type { FileLayer } from './file-layer.ts';
import type { OutboxSettings } from './outbox-settings.ts';
import { heldIn } from './segment-count.ts';
import type { Segment, SegmentShelf } from './segment-shelf.ts';
import { thinSegment } from './thinning.ts';

export interface RetentionDeps {
  readonly files: FileLayer;
  readonly folder: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly shelf: SegmentShelf;
  readonly boots: BootTimes;
  readonly state: DeliveryState;
  readonly settings: OutboxSettings;
  /** Keeps a damaged file for a person to look at. */
  readonly setAside: (name: string) => Promise<void>;
}

/** Asking the file system costs a call; the space of others does not vanish faster than this. */
const FREE_SPACE_AGE_MS = 10_000;
/** A sixteenth is left for the ledger, the rejected, what is set aside and the small files. */
const SEGMENTS_SHARE = 15 / 16;
/** After so many halvings one sample in 32 is left; thinner than that is noise. */
const MOST_THINNINGS = 5;
/** What thinning must save to be worth another rewrite. */
const WORTHWHILE_SAVING = 0.1;

export class Retention {
  readonly #deps: RetentionDeps;
  #freeBytes = Number.POSITIVE_INFINITY;
  #freeReadMs = Number.NEGATIVE_INFINITY;

  constructor(deps: RetentionDeps) {
    this.#deps = deps;
  }

  /** What the disk had left when last asked. */
  get freeBytes(): number {
    return this.#freeBytes;
  }

  /** What the segments may take. */
  get budgetBytes(): number {
    return Math.floor(this.#deps.settings.maxBytes * SEGMENTS_SHARE);
  }

  /** Lets go of delivered segments past their time, and of all that is past its age. */
  async expire(): Promise<void> {
    const { settings } = this.#deps;
    const delivered = this.#sealed().filter((segment) => this.#isDelivered(segment));
    let retained = delivered.reduce((sum, segment) => sum + segment.bytes, 0);
    for (const segment of delivered) {
      const tooMuch = retained > settings.retainBytes;
      if (!tooMuch && !(this.#ageMs(segment) > settings.retainForMs)) continue;
      retained -= segment.bytes;
      await this.#remove(segment);
    }
    for (const segment of this.#sealed()) {
      if (!(this.#ageMs(segment) > settings.maxAgeMs)) break;
      await this.#drop(segment, 'age');
    }
  }

  /** Makes room for a commit; false when it is the newest that must give way. `whileUnread` keeps readers off segments that go. */
  async makeRoom(bytes: number, whileUnread: <T>(work: () => Promise<T>) => Promise<T>): Promise<boolean> {
    await this.#readFreeSpace();
    const isFull = this.#deps.shelf.bytes + bytes > this.budgetBytes;
    const isShort = this.#freeBytes < this.#deps.settings.minFreeBytes;
    if (!isFull && !isShort) return true;
    return whileUnread(() => this.#makeRoom(bytes, isShort));
  }

  /** On a disk that is full: lets go of all that was delivered. */
  async freeDelivered(): Promise<void> {
    for (const segment of this.#sealed()) if (this.#isDelivered(segment)) await this.#deps.shelf.remove(segment);
  }

  async #makeRoom(bytes: number, isShort: boolean): Promise<boolean> {
    const { shelf, settings } = this.#deps;
    const before = shelf.bytes;
    // Space that others took is not won back from our entries; we only stop growing.
    const least = isShort ? Math.min(this.budgetBytes, before) : this.budgetBytes;
    while (shelf.bytes + bytes > least) if (!(await this.#giveWay())) return settings.whenFull !== 'drop-newest';
    if (isShort) this.#freeReadMs = Number.NEGATIVE_INFINITY;
    return true;
  }

  /** Frees some space; false when nothing may go. */
  async #giveWay(): Promise<boolean> {
    const { settings } = this.#deps;
    const sealed = this.#sealed();
    const delivered = sealed.find((segment) => this.#isDelivered(segment));
    if (delivered !== undefined) {
      await this.#remove(delivered);
      return true;
    }
    const [oldest] = sealed;
    if (oldest === undefined || settings.whenFull === 'drop-newest') return false;
    if (settings.whenFull === 'thin' && (await this.#thin(sealed))) return true;
    await this.#drop(oldest, 'full');
    return true;
  }

  /** Thins the least thinned of the older half, the oldest first; false when all of it is as thin as can be. */
  async #thin(sealed: readonly Segment[]): Promise<boolean> {
    const { state, log } = this.#deps;
    const older = sealed.slice(0, Math.ceil(sealed.length / 2));
    const fewest = Math.min(...older.map((segment) => segment.thinned));
    const segment = older.find((candidate) => candidate.thinned === fewest);
    if (segment === undefined || fewest >= MOST_THINNINGS) return false;
    const result = await thinSegment({ ...this.#deps, acknowledged: state.acknowledged }, segment).catch((error: unknown) => {
      log.warn({ segment: segment.name, err: error }, 'outbox segment cannot be thinned');
      return undefined;
    });
    if (result === undefined) return false;
    const { removed, bytesBefore, bytesAfter } = result;
    state.count('thinned', removed);
    log.warn({ segment: segment.name, removed, bytesBefore, bytesAfter }, 'outbox is full: oldest entries thinned');
    // What does not shrink (alarms, few samples) is not tried again.
    if (bytesBefore - bytesAfter < bytesBefore * WORTHWHILE_SAVING) segment.thinned = MOST_THINNINGS;
    return true;
  }

  async #drop(segment: Segment, reason: 'age' | 'full'): Promise<void> {
    const { shelf, state, log } = this.#deps;
    const blocks = await shelf.blocksOf(segment).catch(() => undefined);
    const entries = heldIn(segment, blocks, state.acknowledged);
    await this.#remove(segment);
    state.acknowledged.add(segment.firstSequence, segment.lastSequence);
    state.count('dropped', entries);
    if (entries > 0) log.warn({ segment: segment.name, entries, reason }, 'outbox entries dropped undelivered');
  }

  /** What is damaged in it was never read: the file is kept, out of the way. */
  async #remove(segment: Segment): Promise<void> {
    const { shelf, setAside } = this.#deps;
    if (segment.damagedBytes === 0) return shelf.remove(segment);
    await shelf.forget(segment);
    await setAside(segment.name);
  }

  #sealed(): Segment[] {
    return this.#deps.shelf.segments.filter((segment) => segment !== this.#deps.shelf.active);
  }

  #isDelivered(segment: Segment): boolean {
    return this.#deps.state.acknowledged.covers(segment.firstSequence, segment.lastSequence);
  }

  /** Since a segment's last entry was taken, which is when the next one begins; NaN where that cannot be known, and then nothing goes for its age. */
  #ageMs(segment: Segment): number {
    const { clock, boots, shelf } = this.#deps;
    const first = shelf.segments[shelf.segments.indexOf(segment) + 1]?.first ?? segment.first;
    if (first === undefined) return Number.NaN;
    if (!first.ownTime && first.bootId === clock.bootId) return clock.monotonicMs() - first.ms;
    if (!boots.isDecided(clock.bootId)) return Number.NaN;
    const now = boots.look(clock.bootId, clock.monotonicMs()) ?? Number.NaN;
    if (first.ownTime) return now - first.ms;
    const stretch = boots.stretchAt(first.bootId, first.ms);
    return stretch === undefined || stretch.uncertain ? Number.NaN : now - (first.ms + stretch.offsetMs);
  }

  async #readFreeSpace(): Promise<void> {
    const { clock, files, folder } = this.#deps;
    if (clock.monotonicMs() - this.#freeReadMs < FREE_SPACE_AGE_MS) return;
    this.#freeReadMs = clock.monotonicMs();
    this.#freeBytes = await files.freeBytes(folder);
  }
}
