/**
 * Knowledge of one pin: what is wanted, what was written last, what it shows or that nobody knows, and until when it may be on. Whoever
 * decides reads this one record: interlocks, limits, pulses, safe states, the mark that outlives the process.
 *
 *   claim ─ begin (given to the hardware) ─ took ─────────────→ known
 *     │                 └ failed, or nobody waits any longer → unknown: counts as on until it is read or written again
 *     └ given back: nothing has happened
 */
import type { Clock } from '../host/clock.ts';
import { neededHistory, type SwitchHistory, switchedOn, switchSince } from './actuator-limits.ts';
import type { Claim, Pulse } from './claim.ts';
import {
  type ActuatorSettings,
  type ActuatorState,
  type ActuatorValue,
  isActive,
  isSettled,
  type Writer,
} from './kind/actuator.ts';
import type { OnMark } from './pulse-marks.ts';

export interface PinRecordDeps extends Pick<PinRecord, 'settings' | 'history' | 'lostAtMs'> {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Mark of an earlier process; a former release may have had a clock ahead of this one. */
  readonly left?: OnMark | undefined;
  /** Value that an earlier process has written, without an answer. */
  readonly unanswered?: ActuatorValue | undefined;
}

export class PinRecord {
  readonly settings: ActuatorSettings;
  /** Until when it may have been switched without anybody knowing, ms since boot. */
  readonly lostAtMs?: number | undefined;
  readonly #clock: PinRecordDeps['clock'];
  /** Value of the last writer, also where the hardware did not follow. */
  #wanted: { readonly value: ActuatorValue; readonly by: Writer } | undefined;
  #value: ActuatorValue | undefined;
  #fault: string | undefined;
  /** True once the hardware has had what is wanted. */
  #hasHad = false;
  #writes = 0;
  #history: SwitchHistory;
  /** When it first may have been on; undefined while it is known to be off. */
  #onSinceMs: number | undefined;
  #offSinceMs: number | undefined;
  #pulse: Pulse | undefined;
  #wasAway = false;
  /** By an earlier process: nobody has ended it, or taken it over, since. */
  #isLeftInPulse: boolean;
  #pulseEndsAtMs: number | undefined;
  /** Those that somebody waits for, and those that are with the hardware. */
  readonly #claims = new Set<Claim>();
  readonly #begun = new Set<Claim>();
  #lastBegun: Claim | undefined;
  #lastBegunAtMs = 0;

  constructor({ settings, clock, history, lostAtMs, left, unanswered }: PinRecordDeps) {
    this.settings = settings;
    this.lostAtMs = lostAtMs;
    this.#clock = clock;
    this.#history = neededHistory(settings, history, history);
    this.#onSinceMs = Math.min(left?.sinceMs ?? Number.POSITIVE_INFINITY, clock.monotonicMs());
    this.#isLeftInPulse = left?.pulse ?? false;
    if (unanswered === undefined) return;
    this.#lastBegun = { value: unanswered, pulse: undefined };
    this.#lastBegunAtMs = clock.monotonicMs();
  }

  get state(): ActuatorState {
    const { value: desired, by } = this.#wanted ?? {};
    return {
      name: this.settings.name,
      value: this.#value,
      desired,
      by,
      pulsing: this.#pulse !== undefined,
      fault: this.#fault,
      ...(this.isChangedAtDevice && { isChangedAtDevice: true }),
      ...(this.isUnproven && { isUnproven: true }),
    };
  }

  get value(): ActuatorValue | undefined {
    return this.#value;
  }

  /** Value that was asked for last, while somebody waits for one. */
  get claimed(): ActuatorValue | undefined {
    return [...this.#claims].at(-1)?.value;
  }

  /** Value that it will have when everything under way has succeeded. */
  get expected(): ActuatorValue | undefined {
    return this.claimed ?? this.#value;
  }

  /** Number of writes so far. */
  get writes(): number {
    return this.#writes;
  }

  get history(): SwitchHistory {
    return this.#history;
  }

  /** For the limits: nobody knows what a failed write has done, and it may have switched just then. */
  get changedAtMs(): number | undefined {
    const { changedAtMs = this.lostAtMs } = this.#history;
    if (this.#value !== undefined || this.#lastBegun === undefined) return changedAtMs;
    return Math.max(this.#lastBegunAtMs, changedAtMs ?? this.#lastBegunAtMs);
  }

  get lastBegun(): Claim | undefined {
    return this.#lastBegun;
  }

  get pulse(): Pulse | undefined {
    return this.#pulse;
  }

  /** True while a pulse, also of an earlier process, is not known to be over. */
  get isInPulse(): boolean {
    return this.#pulse !== undefined || this.#isLeftInPulse;
  }

  /** True while it is on, or is not known to be off. */
  get mayBeOn(): boolean {
    return this.#value === undefined || isActive(this.#value) || [...this.#begun].some(({ value }) => isActive(value));
  }

  /** Since when it is known to be off; undefined while it may be on. */
  get offSinceMs(): number | undefined {
    return this.#offSinceMs;
  }

  /** True while it may be on, or is about to be switched on. */
  get mayBeActive(): boolean {
    return this.mayBeOn || [...this.#claims].some(({ value }) => isActive(value));
  }

  /** Off is wanted, and it is not known to be off. What was off, and is asked every so often or written again, is the device's own affair. */
  get refusesOff(): boolean {
    if (this.#wanted === undefined || isActive(this.#wanted.value) || this.#value === this.#wanted.value) return false;
    const { readEveryMs, repeatEveryMs } = this.settings;
    return !this.#hasHad || (readEveryMs === undefined && repeatEveryMs === undefined);
  }

  /** Value that is wanted and that the hardware has had, where it is asked for what somebody changes there; undefined before it has. */
  get had(): ActuatorValue | undefined {
    return this.#hasHad && this.settings.readEveryMs !== undefined ? this.#wanted?.value : undefined;
  }

  /** True while the hardware shows something else than it has had by the agent: somebody has changed it there, or it has forgotten. */
  get isChangedAtDevice(): boolean {
    return this.had !== undefined && this.#value !== undefined && this.#value !== this.had;
  }

  /** True while the value is what was taken, and nobody proves that it moved. */
  get isUnproven(): boolean {
    return this.settings.unproven === true && this.#value !== undefined && this.#lastBegun !== undefined;
  }

  /** True while nothing was written or read since it was away. */
  get wasAway(): boolean {
    return this.#wasAway;
  }

  /** Time of the last write, ms since boot. */
  get lastBegunAtMs(): number {
    return this.#lastBegunAtMs;
  }

  /** When it has to be switched off at the latest, ms since boot: the end of its pulse or of its longest time on. */
  get offDueMs(): number | undefined {
    const { maxOnMs } = this.settings.limits;
    const longestEndsMs =
      this.#onSinceMs === undefined || maxOnMs === undefined ? undefined : this.#onSinceMs + maxOnMs;
    const due = [this.#pulseEndsAtMs, longestEndsMs].filter((atMs) => atMs !== undefined);
    return due.length === 0 ? undefined : Math.min(...due);
  }

  /** Mark that lies in the run folder before it goes on, and for as long as it may be on. */
  get mark(): OnMark | undefined {
    const pulse = this.#pulse !== undefined || [...this.#claims].some((claim) => claim.pulse !== undefined);
    const owesOff = this.#isLeftInPulse || (this.refusesOff && this.settings.valueType !== 'string');
    if (!this.mayBeActive || (!pulse && !owesOff && this.settings.limits.maxOnMs === undefined)) return undefined;
    return { sinceMs: this.#onSinceMs ?? this.#clock.monotonicMs(), pulse: pulse || owesOff };
  }

  /** From here on it counts as active, when the value is. */
  claim(value: ActuatorValue, pulse?: Pulse): Claim {
    const claim = { value, pulse };
    this.#claims.add(claim);
    return claim;
  }

  /** The hardware has had this by an earlier process: what it shows instead was changed there. */
  resume(value: ActuatorValue, by: Writer): void {
    this.#wanted = { value, by };
    this.#hasHad = true;
    this.#lastBegun = { value, pulse: undefined };
    this.#lastBegunAtMs = this.#clock.monotonicMs();
    this.#judge();
  }

  /** Somebody wants it so; what was wanted before is wanted no longer. */
  want(value: ActuatorValue, by: Writer, { repeats = false }: { readonly repeats?: boolean } = {}): void {
    // A second try takes no other writer's value over.
    if (repeats && this.#wanted?.value === value) return;
    this.#wanted = { value, by };
    this.#hasHad = false;
    if (!repeats) this.#writes += 1;
  }

  /** It is as somebody wants it: a pulse that it is in has no end any more. */
  keep(value: ActuatorValue, by: Writer, options: { readonly repeats?: boolean } = {}): void {
    this.want(value, by, options);
    this.#hasHad = this.#value === value && this.#begun.size === 0;
    this.#isLeftInPulse = false;
    this.#setPulse(undefined);
    this.#judge();
  }

  /** The hardware gets it now: from here on the value may be this one. */
  begin(claim: Claim): void {
    const nowMs = this.#clock.monotonicMs();
    const isRepeat =
      this.#value === undefined &&
      this.#lastBegun !== undefined &&
      isActive(this.#lastBegun.value) === isActive(claim.value);
    if (this.#switches(claim.value) && !isRepeat)
      this.#remember(isActive(claim.value) ? switchedOn(this.#history, nowMs) : switchSince(this.#history, nowMs));
    this.#begun.add(claim);
    this.#lastBegun = claim;
    this.#lastBegunAtMs = nowMs;
    this.#wasAway = false;
    if (claim.pulse !== undefined) this.#setPulse(claim.pulse);
    this.#judge();
  }

  /** The hardware has taken it: also late, when nothing else was written since. */
  took(claim: Claim): void {
    if (this.#switches(claim.value)) this.#remember(switchSince(this.#history, this.#clock.monotonicMs()));
    this.#forget(claim);
    if (isActive(claim.value)) {
      if (claim.pulse === undefined) this.#setPulse(undefined);
      else if (claim.pulse === this.#pulse) this.#pulseEndsAtMs = this.#clock.monotonicMs() + claim.pulse.durationMs;
    }
    this.learn(claim.value);
  }

  /** Nobody waits for it any longer: it is done with, or left to the hardware. */
  giveBack(claim: Claim): void {
    this.#claims.delete(claim);
    this.#judge();
  }

  /** The hardware no longer has it. */
  release(claim: Claim): void {
    this.#forget(claim);
    this.#judge();
  }

  /** The hardware shows it, or has taken it. */
  learn(value: ActuatorValue, fault?: string): void {
    this.#value = value;
    this.#fault = fault;
    this.#wasAway = false;
    // An older write that is with the hardware yet may come after it.
    if (value === this.#wanted?.value) this.#hasHad = this.#begun.size === 0;
    else if (fault !== undefined) this.#hasHad = false;
    if (isSettled(this.state)) this.#isLeftInPulse = false;
    this.#judge();
  }

  /** Nobody knows what it shows any more. With a claim: it has failed, and may have moved at any time since it was begun. */
  lose(fault: string, failed?: Claim): void {
    if (failed !== undefined) this.#forget(failed);
    this.#value = undefined;
    this.#fault = fault;
    this.#judge();
  }

  /** It was away, and may hold what it started with. */
  forget(fault: string): void {
    this.#wasAway = true;
    this.lose(fault);
  }

  /** It has lost its power, or may have: what was on has gone off now, at the latest, and rests for its least time. */
  dropOut(): void {
    if (this.#lastBegun === undefined || !isActive(this.#lastBegun.value)) return;
    this.#remember(switchSince(this.#history, this.#clock.monotonicMs()));
  }

  /** It has taken what is wanted, and may show something else all the same. */
  doubt(fault: string): void {
    this.#hasHad = false;
    this.lose(fault);
  }

  /** It has taken what is wanted, and has not done it. */
  blame(fault: string): void {
    this.#fault = fault;
    this.#hasHad = false;
  }

  #remember(history: SwitchHistory): void {
    this.#history = neededHistory(this.settings, history, this.#history);
  }

  #forget(claim: Claim): void {
    this.#claims.delete(claim);
    this.#begun.delete(claim);
  }

  #switches(value: ActuatorValue): boolean {
    return this.#value === undefined || isActive(this.#value) !== isActive(value);
  }

  #setPulse(pulse: Pulse | undefined): void {
    const before = this.#pulse;
    this.#pulse = pulse;
    this.#pulseEndsAtMs = undefined;
    before?.onEnd();
  }

  #judge(): void {
    const nowMs = this.#clock.monotonicMs();
    this.#onSinceMs = this.mayBeOn ? (this.#onSinceMs ?? nowMs) : undefined;
    this.#offSinceMs = this.mayBeOn ? undefined : (this.#offSinceMs ?? nowMs);
    if (this.#pulse !== undefined && (!this.mayBeOn || this.#isPulseOvertaken)) this.#setPulse(undefined);
  }

  /** One that never began and cannot begin any more, where somebody else has switched on since: nobody would end it. */
  get #isPulseOvertaken(): boolean {
    const overtaker =
      this.#lastBegun !== undefined && this.#lastBegun.pulse !== this.#pulse && isActive(this.#lastBegun.value);
    return (
      overtaker && this.#pulseEndsAtMs === undefined && ![...this.#begun].some(({ pulse }) => pulse === this.#pulse)
    );
  }
}
