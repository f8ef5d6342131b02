/**
 * The boots of the table, in their order, oldest first. What waits from a boot has its times from here and nowhere else, so a boot stays for as
 * long as something does; of more than there is room for, the oldest go, and what they took then waits until it is too old.
 */
import { decideBetween } from './boot-order.ts';
import type { BootOffset, BootRecord } from './boot-table.ts';

/** So many stay whether anything waits for them or not: more than a boot a day for as long as entries are kept. */
const FEW_BOOTS = 256;
/** All the others may be needed: some 200 bytes each, in a file that is written anew whenever a time is given out for the first time. */
const MAX_BOOTS = 2_048;

export class KnownBoots {
  #list: readonly BootRecord[];
  /** By their ids, and what their neighbours say of them; made anew when something changed. */
  #byId: ReadonlyMap<string, BootRecord> | undefined;
  readonly #decided = new Map<BootRecord, BootOffset | undefined>();

  constructor(list: readonly BootRecord[]) {
    this.#list = list;
  }

  get list(): readonly BootRecord[] {
    return this.#list;
  }

  find(bootId: string): BootRecord | undefined {
    this.#byId ??= new Map(this.#list.map((boot) => [boot.bootId, boot]));
    return this.#byId.get(bootId);
  }

  /** Takes the place of the record of this boot. */
  replace(by: BootRecord): void {
    this.#become(this.#list.map((boot) => (boot.bootId === by.bootId ? by : boot)));
  }

  /** The newest. */
  push(boot: BootRecord): void {
    this.#become([...this.#list, boot]);
  }

  /** Right after another; older than all when that is not known either. */
  insert(boot: BootRecord, afterId?: string): void {
    const at = 1 + this.#list.findIndex(({ bootId }) => bootId === afterId);
    this.#become(this.#list.toSpliced(at, 0, boot));
  }

  /** What its neighbours leave for a boot of which nothing else is known. */
  decide(boot: BootRecord): BootOffset | undefined {
    if (!this.#decided.has(boot)) {
      const offsetMs = decideBetween(this.#list, boot);
      this.#decided.set(boot, offsetMs === undefined ? undefined : { fromMs: 0, offsetMs, certainty: 'bounded', frozen: false });
    }
    return this.#decided.get(boot);
  }

  /**
   * Lets go of the oldest that nothing waits for, beyond some; and of the oldest when there are too many: returns how many of those it were.
   * `neededId` is the oldest that something waits for; one that is not known is older than all.
   */
  forgetOld(neededId: string | undefined): number {
    const neededAt =
      neededId === undefined
        ? this.#list.length
        : Math.max(
            0,
            this.#list.findIndex(({ bootId }) => bootId === neededId),
          );
    // The one before it that is known says when it can have begun.
    const fromAt = neededId === undefined ? neededAt : this.#list.findLastIndex((boot, at) => at < neededAt && boot.offsets.length > 0);
    const idle = Math.max(0, Math.min(fromAt === -1 ? neededAt : fromAt, this.#list.length - FEW_BOOTS));
    const excess = Math.max(0, this.#list.length - idle - MAX_BOOTS);
    if (idle + excess > 0) this.#become(this.#list.slice(idle + excess));
    return excess;
  }

  #become(list: readonly BootRecord[]): void {
    this.#list = list;
    this.#byId = undefined;
    this.#decided.clear();
  }
}
