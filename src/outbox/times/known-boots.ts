/**
 * The boots of the table, in their order, oldest first. What waits from a boot has its times from here and nowhere else, so a boot stays for as
 * long as something does; of more than there is room for, the oldest go, and what they took then waits until it is too old.
 */
import type { TakenMoment } from '../segments/segment-shelf.ts';
import type { BootOffset, BootRecord } from './boot-table.ts';

/** So many stay whether anything waits for them or not: more than a boot a day for as long as entries are kept. */
const FEW_BOOTS = 256;
/** All the others may be needed: some 200 bytes each, in a file that is rewritten whenever a time is given out for the first time. */
const MAX_BOOTS = 2_048;
/** A reboot takes seconds; after a real power cut the time off is unknown, and no guess is better than another. */
const DECIDABLE_SLACK_MS = 120_000;

export class KnownBoots {
  list: readonly BootRecord[];
  /** By their ids, and what their neighbours say of them; made again when something changed. */
  #byId: ReadonlyMap<string, BootRecord> | undefined;
  readonly #decided = new Map<BootRecord, BootOffset | undefined>();

  constructor(list: readonly BootRecord[]) {
    this.list = list;
  }

  find(bootId: string): BootRecord | undefined {
    this.#byId ??= new Map(this.list.map((boot) => [boot.bootId, boot]));
    return this.#byId.get(bootId);
  }

  /** Takes the place of the record of this boot. */
  replace(by: BootRecord): void {
    this.#become(this.list.map((boot) => (boot.bootId === by.bootId ? by : boot)));
  }

  /** The newest. */
  push(boot: BootRecord): void {
    this.#become([...this.list, boot]);
  }

  /** Right after another; older than all when that is not known either. */
  insert(boot: BootRecord, afterId?: string): void {
    const at = 1 + this.list.findIndex(({ bootId }) => bootId === afterId);
    this.#become(this.list.toSpliced(at, 0, boot));
  }

  /** Returns the offset that its neighbours leave for a boot of which nothing else is known. */
  decide(boot: BootRecord): BootOffset | undefined {
    if (!this.#decided.has(boot)) {
      const offsetMs = decideBetween(this.list, boot);
      this.#decided.set(
        boot,
        offsetMs === undefined ? undefined : { fromMs: 0, offsetMs, certainty: 'bounded', frozen: false },
      );
    }
    return this.#decided.get(boot);
  }

  /**
   * Forgets the oldest that nothing waits for, beyond some; and the oldest of all when there are too many: returns how many those were. `neededId`
   * is the oldest that something waits for; one that is not known is older than all.
   */
  forgetOld(neededId: string | undefined): number {
    const foundAt = this.list.findIndex(({ bootId }) => bootId === neededId);
    const neededAt = neededId === undefined ? this.list.length : Math.max(0, foundAt);
    // The one before it that is known says when it can have begun.
    const fromAt =
      neededId === undefined
        ? neededAt
        : this.list.findLastIndex((boot, at) => at < neededAt && boot.offsets.length > 0);
    const idle = Math.max(0, Math.min(fromAt === -1 ? neededAt : fromAt, this.list.length - FEW_BOOTS));
    const excess = Math.max(0, this.list.length - idle - MAX_BOOTS);
    if (idle + excess > 0) this.#become(this.list.slice(idle + excess));
    return excess;
  }

  #become(list: readonly BootRecord[]): void {
    this.list = list;
    this.#byId = undefined;
    this.#decided.clear();
  }
}

/**
 * When did a boot begin whose clock was never right? After the last known moment of the boot before it, and early enough for it, and the others
 * like it, to have ended when the next known boot began. When that leaves little room, the middle is good enough; else it stays undecided.
 */
function decideBetween(boots: readonly BootRecord[], boot: BootRecord): number | undefined {
  const at = boots.indexOf(boot);
  const beforeAt = boots.findLastIndex((other, index) => index < at && knownOffsetMs(other) !== undefined);
  const afterAt = boots.findIndex((other, index) => index > at && knownOffsetMs(other) !== undefined);
  const before = boots[beforeAt];
  const after = boots[afterAt];
  if (before === undefined || after === undefined) return undefined;
  const unknown = boots.slice(beforeAt + 1, afterAt);
  const fromMs = (knownOffsetMs(before) as number) + before.lastMs;
  const ranMs = unknown.reduce((sum, other) => sum + other.lastMs, 0);
  const slackMs = (knownOffsetMs(after) as number) - fromMs - ranMs;
  if (slackMs < 0 || slackMs > DECIDABLE_SLACK_MS) return undefined;
  const gapMs = slackMs / (unknown.length + 1);
  const earlier = unknown.slice(0, at - beforeAt - 1).reduce((sum, other) => sum + other.lastMs + gapMs, 0);
  return Math.round(fromMs + gapMs + earlier);
}

/** Boot of a `TakenMoment` and ms since it began; infinite for "some time in it". */
type Moment = Pick<TakenMoment, 'bootId' | 'ms'>;

/** Returns the least time between `then` and now: that which this boot and those between have run, as far as they were observed. */
export function ranSince(boots: readonly BootRecord[], then: Moment, now: Moment): number {
  if (then.bootId === now.bootId) return now.ms - then.ms;
  const thenAt = boots.findIndex(({ bootId }) => bootId === then.bootId);
  const nowAt = boots.findIndex(({ bootId }) => bootId === now.bootId);
  if (thenAt === -1) return now.ms;
  const between = boots.slice(thenAt + 1, nowAt).reduce((sum, { lastMs }) => sum + lastMs, 0);
  return Math.max(0, (boots[thenAt] as BootRecord).lastMs - then.ms) + between + now.ms;
}

/** The offset at a boot's end, when it was ever known. */
function knownOffsetMs(boot: BootRecord): number | undefined {
  return boot.offsets.findLast((offset) => offset.certainty !== 'guessed')?.offsetMs;
}
