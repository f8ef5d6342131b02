/**
 * Requests to a Modbus unit, read by read. The plan outlives the connection: knowledge of a unit is kept when its line is opened again.
 *
 *   sound     asked in each read, those first whose turn is longest ago
 *   in doubt  silent or refused when it was last asked for: asked after what is sound. Where that leaves no time, it is once the first of a read, but
 *             never in two reads running: a dead one may take all of its time
 *   split     silent in the next read too, while others answer: its halves take its place, until a register that is dead stands alone
 *   joined    what answers is soon asked for together again; later each time that it was silent as a whole all the same
 *
 * A unit of which nothing answers is looked for by one request a read, or the two halves of one: by all in turn, then by their halves. The first
 * that answers is asked for alone from then on, as the whole of it was silent.
 */
import type { AgentError } from '../../errors/agent-error.ts';
import { halvesOf, isAlone, type PollingGroup, pollingGroups, type Registers, registerOf } from './polling-groups.ts';

/** Reads after which a silent register has a turn of its own, and what cannot be asked for as a whole is tried once more. */
const SELDOM_READS = 100;
/** Reads until a doubtful group is the first of a read, when there was no time for it after the sound ones. */
const SOON_READS = 2;
/** Reads after which a split group that answers in parts is joined. */
const JOIN_AFTER_READS = 4;
/** Silences in a row that are no noise any more. */
const DEAD_AFTER = 3;

interface Doubt {
  readonly fault: AgentError;
  /** In how many reads in a row it was silent. */
  readonly times: number;
  readonly lastAt: number;
  /** The read from which on it is asked first. */
  readonly dueAt: number;
}

export class PollingPlan {
  readonly #registers: Registers;
  readonly #maxGap: number;
  #groups: readonly PollingGroup[];
  /** As few requests as there can be. */
  readonly #fewest: number;
  readonly #doubts = new Map<string, Doubt>();
  /** Keys that were not given although they were asked for alone. */
  readonly #apart = new Set<string>();
  /** Number of the last request, by key. */
  readonly #askedAs = new Map<string, number>();
  /** How often in a row each key was refused alone. */
  readonly #refusals = new Map<string, number>();
  #requests = 0;
  #reads = 0;
  #turnAt = 0;
  #joinAt = 0;
  #joinAfter = JOIN_AFTER_READS;
  /** True when the group that was joined last was split again already. */
  #isSplitAgain = false;
  /** Joined, or a part of that, and not answered as a whole since. */
  #unproven = new WeakSet<PollingGroup>();
  /** Groups to ask next for a sign of life; undefined while the unit answers. */
  #signs: (readonly PollingGroup[])[] | undefined;

  constructor(registers: Registers, maxGap: number) {
    this.#registers = registers;
    this.#maxGap = maxGap;
    this.#groups = pollingGroups(registers, maxGap);
    this.#fewest = this.#groups.length;
  }

  /** Begins a read. @returns what is to be asked first: for a sign of life, or because it has its turn. */
  begin(): { readonly signs?: readonly PollingGroup[]; readonly turn?: PollingGroup } {
    this.#reads += 1;
    if (this.#signs !== undefined) {
      if (this.#signs.length === 0) this.#signs = this.order().map((group) => [group]);
      return { signs: this.#signs.shift() ?? [] };
    }
    if (this.#turnAt === this.#reads - 1) return {};
    const due = this.#groups.filter((group) => this.#dueAt(group) <= this.#reads);
    const [turn] = due.toSorted((one, other) => this.#dueAt(one) - this.#dueAt(other));
    if (turn === undefined) return {};
    this.#turnAt = this.#reads;
    return { turn };
  }

  /** All, those in doubt last, and of the same kind by how long ago they were asked for. */
  order(): readonly PollingGroup[] {
    const lastOf = ({ keys }: PollingGroup): number => Math.max(...keys.map((key) => this.#askedAs.get(key) ?? 0));
    return this.#groups.toSorted(
      (one, other) => this.#rankOf(one) - this.#rankOf(other) || lastOf(one) - lastOf(other),
    );
  }

  /** Why it is in doubt. */
  doubtOf({ keys }: PollingGroup): AgentError | undefined {
    for (const key of keys) if (this.#doubts.has(key)) return this.#doubts.get(key)?.fault;
    return undefined;
  }

  /** Alone, and silent so often that it is taken for dead. */
  isDead(group: PollingGroup): boolean {
    return isAlone(group) && this.#timesOf(group) === DEAD_AFTER;
  }

  /** True when a group of several was joined by this plan, and has not yet answered as it is. */
  isUnproven(group: PollingGroup): boolean {
    return !isAlone(group) && this.#unproven.has(group);
  }

  /** It had its time, whatever came of it. */
  asked({ keys }: PollingGroup): void {
    this.#requests += 1;
    for (const key of keys) this.#askedAs.set(key, this.#requests);
  }

  answered(group: PollingGroup): void {
    this.#signs = undefined;
    this.#unproven.delete(group);
    const mayPass = (doubt: Doubt | undefined): boolean => doubt?.times === 0;
    // It has passed, and so it may have for others.
    if (group.keys.some((key) => mayPass(this.#doubts.get(key))))
      for (const [key, doubt] of this.#doubts) if (mayPass(doubt)) this.#doubts.delete(key);
    for (const key of group.keys) {
      this.#doubts.delete(key);
      this.#apart.delete(key);
      this.#refusals.delete(key);
    }
  }

  /** The unit answered that it does not give this. */
  refused(group: PollingGroup, fault: AgentError): void {
    this.#signs = undefined;
    for (const key of group.keys) this.#doubts.delete(key);
    if (!isAlone(group)) return;
    for (const key of group.keys) {
      this.#apart.add(key);
      const refusals = (this.#refusals.get(key) ?? 0) + 1;
      this.#refusals.set(key, refusals);
      // A fault that may pass is none yet.
      if (fault.recovery !== 'drop' && refusals < DEAD_AFTER) continue;
      this.#doubts.set(key, { fault, dueAt: this.#reads + SELDOM_READS, times: 0, lastAt: this.#reads });
    }
  }

  silent(group: PollingGroup, fault: AgentError): void {
    if (isAlone(group)) for (const key of group.keys) this.#apart.add(key);
    this.#doubt(group.keys, fault);
    // Before that it may be noise, or the unit as a whole.
    if (this.isDead(group))
      for (const key of group.keys)
        this.#doubts.set(key, { ...(this.#doubts.get(key) as Doubt), dueAt: this.#reads + SELDOM_READS });
  }

  /** Nothing answers any more. @param group that was silent. */
  lost(group: PollingGroup, fault: AgentError): void {
    this.#doubt(group.keys, fault);
    this.#signs = [...this.order().filter((other) => other !== group), group].map((one) => [one]);
  }

  /** Nor does this. */
  stillLost(sign: PollingGroup): void {
    if (!isAlone(sign)) this.#signs?.push(this.halvesOf(sign));
  }

  /** There was no time for these. */
  lookNext(signs: readonly PollingGroup[]): void {
    if (signs.length > 0) this.#signs?.unshift(signs);
  }

  /** This part answers of a group that was silent as a whole: it stands for itself. */
  found(part: PollingGroup): void {
    const whole = this.#groups.find(({ keys }) => keys.includes(part.keys[0] ?? ''));
    if (whole === undefined || whole.keys.length === part.keys.length) return;
    const rest = whole.keys.filter((key) => !part.keys.includes(key));
    const registers = Object.fromEntries(rest.map((key) => [key, registerOf(this.#registers, key)]));
    this.replace(whole, [part, ...pollingGroups(registers, this.#maxGap)]);
  }

  replace(group: PollingGroup, parts: readonly PollingGroup[]): void {
    if (parts.length === 1) return;
    this.#groups = this.#groups.flatMap((one) => (one === group ? parts : [one]));
    if (!this.#unproven.has(group)) this.#joinAfter = JOIN_AFTER_READS;
    else if (!this.#isSplitAgain) {
      this.#joinAfter = Math.min(SELDOM_READS, 2 * this.#joinAfter);
      this.#isSplitAgain = true;
    }
    if (this.#unproven.has(group)) for (const part of parts) this.#unproven.add(part);
    if (this.#joinAt <= this.#reads) this.#joinAt = this.#reads + this.#joinAfter;
  }

  halvesOf(group: PollingGroup): readonly PollingGroup[] {
    return halvesOf(group, this.#registers, this.#maxGap);
  }

  /** Ends a read: what answers is joined; what does not stands between. */
  end(): void {
    if (this.#reads < this.#joinAt || this.#groups.length <= this.#fewest) return;
    const doubtful = this.#groups.filter((group) => this.doubtOf(group) !== undefined);
    const doubtfulKeys = new Set(doubtful.flatMap(({ keys }) => keys));
    const joined = pollingGroups(this.#registers, this.#maxGap, new Set([...this.#apart, ...doubtfulKeys]));
    const sound = joined.filter(({ keys }) => !doubtfulKeys.has(keys[0] ?? ''));
    if (sound.length + doubtful.length >= this.#groups.length) return;
    const before = new Map(this.#groups.map((group) => [group.keys.join(), group]));
    this.#groups = [...sound.map((group) => before.get(group.keys.join()) ?? group), ...doubtful];
    this.#unproven = new WeakSet(sound.filter((group) => !before.has(group.keys.join())));
    this.#isSplitAgain = false;
  }

  #doubt(keys: readonly string[], fault: AgentError): void {
    for (const key of keys) {
      const { times = 0, lastAt = 0 } = this.#doubts.get(key) ?? {};
      this.#doubts.set(key, {
        fault,
        dueAt: this.#reads + SOON_READS,
        times: times + Number(lastAt < this.#reads),
        lastAt: this.#reads,
      });
    }
  }

  /** Returns the rank of a group: those that answer, are refused, are silent. */
  #rankOf(group: PollingGroup): number {
    return this.doubtOf(group) === undefined ? 0 : 1 + this.#timesOf(group);
  }

  #timesOf({ keys }: PollingGroup): number {
    return Math.min(DEAD_AFTER, Math.max(...keys.map((key) => this.#doubts.get(key)?.times ?? 0)));
  }

  #dueAt({ keys }: PollingGroup): number {
    return Math.min(...keys.map((key) => this.#doubts.get(key)?.dueAt ?? Number.POSITIVE_INFINITY));
  }
}
