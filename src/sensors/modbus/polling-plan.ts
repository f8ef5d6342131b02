/**
 * Order of the requests to a Modbus unit, read by read, and what was learnt of its registers; it outlives the connection.
 *
 *   sound     those first that were asked for longest ago: where a read has no time for all, each has its turn
 *   in doubt  silent or refused when last asked for, or never asked for as it is: after what is sound, but for every fifth read
 *   given up  refused for good, or not given alone in three reads in a row: last
 *   joined    what answers, every twenty reads, and when one that was not given answers again
 */
import type { AgentError } from '../../errors/agent-error.ts';
import { halvesOf, isAlone, type PollingGroup, pollingGroups, type Registers, registerOf } from './polling-groups.ts';

/** Reads after which what is in doubt, and what is given up, is asked in turn for once; after the latter parts are joined, too. */
const DOUBT_READS = 5;
const AFRESH_READS = 20;
const GIVEN_UP_AFTER = 3;

export class PollingPlan {
  /** True when nothing answered in the last read: one register is asked for until one answers. */
  isLost = false;
  readonly #registers: Registers;
  readonly #maxGap: number;
  #groups: readonly PollingGroup[];
  /** In how many reads in a row a register was not given although it was asked for alone. */
  readonly #misses = new Map<string, { readonly times: number; readonly fault: AgentError }>();
  /** Number of the last request, by key. */
  readonly #askedAs = new Map<string, number>();
  /** Silent, refused, a part of such, or joined, and not answered since. */
  #unproven = new WeakSet<PollingGroup>();
  #joined = new WeakSet<PollingGroup>();
  #requests = 0;
  #reads = 0;
  #hasHealed = false;
  #wasFound = false;

  constructor(registers: Registers, maxGap: number) {
    this.#registers = registers;
    this.#maxGap = maxGap;
    this.#groups = pollingGroups(registers, maxGap);
  }

  /** Returns what is first in this read although it is in doubt: in every fifth, where others are sound. */
  turn(): PollingGroup | undefined {
    if (this.isLost || (this.#reads + 1) % DOUBT_READS !== 0 || !this.#groups.some((group) => this.isTrusted(group))) return undefined;
    const due = this.#groups.filter((group) => !this.isTrusted(group) && (this.#isAfresh || !this.isGivenUp(group)));
    return due.toSorted((one, other) => this.#lastOf(one) - this.#lastOf(other))[0];
  }

  order(): readonly PollingGroup[] {
    const rankOf = (group: PollingGroup): number => Number(!this.isTrusted(group)) + Number(this.isGivenUp(group));
    return this.#groups.toSorted((one, other) => rankOf(one) - rankOf(other) || this.#lastOf(one) - this.#lastOf(other));
  }

  /** Returns the register that was asked for longest ago: any answer is a sign of life. */
  sign(): PollingGroup {
    const keys = Object.keys(this.#registers).toSorted((one, other) => (this.#askedAs.get(one) ?? 0) - (this.#askedAs.get(other) ?? 0));
    return this.#groupsOf(keys.slice(0, 1))[0] as PollingGroup;
  }

  /** A register answers of a unit that was silent. */
  found(): void {
    this.isLost = false;
    this.#wasFound = true;
  }

  /** Nothing answered. What was silent is halved where a register alone has answered, and nothing else since: it is silent because of one of them. */
  lost(silent: readonly PollingGroup[]): void {
    this.isLost = true;
    if (this.#wasFound) for (const group of silent) this.replace(group, this.halvesOf(group));
    this.#wasFound = false;
  }

  isGivenUp({ keys }: PollingGroup): boolean {
    return (this.#misses.get(keys[0] ?? '')?.times ?? 0) >= GIVEN_UP_AFTER;
  }

  /** Why it was not given when it was last asked for alone. */
  faultOf({ keys }: PollingGroup): AgentError | undefined {
    return this.#misses.get(keys[0] ?? '')?.fault;
  }

  /** True when a silence is most likely noise, as it has answered as it is. */
  isTrusted(group: PollingGroup): boolean {
    return !this.#unproven.has(group);
  }

  /** Joined, and neither answered nor silent since. */
  isJoined(group: PollingGroup): boolean {
    return this.#joined.has(group);
  }

  asked({ keys }: PollingGroup): void {
    this.#requests += 1;
    for (const key of keys) this.#askedAs.set(key, this.#requests);
  }

  /** Silent or refused: the next silence is none that noise made. */
  doubt(group: PollingGroup): void {
    this.#unproven.add(group);
    this.#joined.delete(group);
  }

  answered(group: PollingGroup): void {
    this.#unproven.delete(group);
    this.#joined.delete(group);
    // A fault that has passed for one may have for others.
    if (this.isGivenUp(group) || this.faultOf(group)?.code === 'hardware/modbus-exception') this.#forget();
    if (!isAlone(group)) this.#wasFound = false;
    for (const key of group.keys) this.#hasHealed = this.#misses.delete(key) || this.#hasHealed;
  }

  /** A register that was asked for alone was not given in this read, in which others answered. */
  missed({ keys }: PollingGroup, fault: AgentError): void {
    for (const key of keys) {
      const times = (this.#misses.get(key)?.times ?? 0) + (fault.recovery === 'drop' ? GIVEN_UP_AFTER : 1);
      this.#misses.set(key, { times, fault });
    }
  }

  halvesOf(group: PollingGroup): readonly PollingGroup[] {
    const halves = halvesOf(group, this.#registers, this.#maxGap);
    for (const half of halves) this.#unproven.add(half);
    return halves;
  }

  replace(group: PollingGroup, parts: readonly PollingGroup[]): void {
    this.#groups = this.#groups.flatMap((one) => (one === group ? parts : [one]));
  }

  /** Ends a read in which something answered. */
  end(): void {
    if (this.#hasHealed || this.#isAfresh) {
      const doubtful = this.#groups.filter((group) => !this.isTrusted(group));
      const keys = new Set(doubtful.flatMap((group) => group.keys));
      const sound = pollingGroups(this.#registers, this.#maxGap, keys).filter((group) => !keys.has(group.keys[0] ?? ''));
      const before = new Map(this.#groups.map((group) => [group.keys.join(), group]));
      for (const group of sound) if (!before.has(group.keys.join())) this.#unproven.add(group) && this.#joined.add(group);
      this.#groups = [...sound.map((group) => before.get(group.keys.join()) ?? group), ...doubtful];
    }
    this.#hasHealed = false;
    this.#reads += 1;
  }

  #forget(): void {
    this.#hasHealed = true;
    this.#misses.clear();
    this.#unproven = new WeakSet();
  }

  get #isAfresh(): boolean {
    return (this.#reads + 1) % AFRESH_READS === 0;
  }

  #lastOf({ keys }: PollingGroup): number {
    return Math.max(...keys.map((key) => this.#askedAs.get(key) ?? 0));
  }

  #groupsOf(keys: readonly string[]): readonly PollingGroup[] {
    return pollingGroups(Object.fromEntries(keys.map((key) => [key, registerOf(this.#registers, key)])), this.#maxGap);
  }
}
