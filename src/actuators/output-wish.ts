/**
 * The value that an output is to have, on its way through the gates. A wish that a gate or the hardware refuses waits, and is tried again for as long as its
 * slot wins. Off that the hardware refuses is retried by safe-states.ts beside it.
 */
import { AgentError, hasCode, messageOf } from '../errors/agent-error.ts';
import type { Sentence, Told } from '../errors/sentence.ts';
import { sentence } from '../names/sentences.ts';
import { toldBy } from '../names/told-error.ts';
import type { ActuatorSlot, Movement } from './actuator-slot.ts';
import type { Gates } from './gates.ts';
import { type ActuatorValue, isActive, type Writer } from './kind/actuator.ts';
import type { Winner } from './priority-slots.ts';

/** Reason for which a wish waits, by code and in words. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly told: Told;
}

export interface OutputWishDeps {
  readonly slot: ActuatorSlot;
  readonly gates: Gates;
  /** Through the gates that may close meanwhile, with the mark that must be there. */
  readonly move: (movement: Movement, signal: AbortSignal) => Promise<void>;
  readonly onAlarm: (message: Sentence | undefined) => void;
  /** Called when another writer wants the value that the output has: nothing moves. */
  readonly onChange: () => void;
  /** Called when a wish waits for a retry. @param opensInMs until its gate opens by time; infinite for other gates. */
  readonly onWaits: (opensInMs: number) => void;
  /** A wish that had to wait, and that no rule tells, moves. */
  readonly onPassed: () => void;
  /** A rule has its wish, or is kept from it. */
  readonly onRule: (rule: string, refusal?: Refusal) => void;
}

/** Refusals that may be over with time. */
const TIMED: ReadonlySet<string> = new Set(['actuators/interlocked', 'actuators/min-on', 'actuators/min-off']);

export class OutputWish {
  readonly #deps: OutputWishDeps;
  #wish: Winner | undefined;
  #trying: AbortController | undefined;
  /** Resolves with the try that is under way. */
  #moving: Promise<void> | undefined;
  /** Why it waits, by code and in words; undefined when it does not. */
  #refusal: Refusal | undefined;
  #isRestored = false;
  #isAlarmed = false;
  /** Rule whose condition has changed, until its output has moved. */
  #untold: string | undefined;

  constructor(deps: OutputWishDeps) {
    this.#deps = deps;
  }

  /** Returns what keeps this winner from being so; undefined while another one is wished still. */
  waitsFor(winner: Winner | undefined): Told | undefined {
    const isWished = winner?.slot === this.#wish?.slot && winner?.value === this.#wish?.value;
    return isWished ? this.#refusal?.told : undefined;
  }

  /** Follows what wins now; nothing is moved where that is what was wished before. */
  follow(winner: Winner | undefined): Promise<void> | undefined {
    const { isChangedAtDevice } = this.#deps.slot.record;
    const isPulse = this.#wish?.slot === 'pulse' || winner?.slot === 'pulse';
    const isOther = this.#refusal !== undefined || isPulse || isChangedAtDevice;
    if (winner !== undefined && winner.value === this.#wish?.value && !(isOther && winner.slot !== this.#wish.slot)) {
      this.#wish = winner;
      return this.#moving;
    }
    const isRestored = this.#wish === undefined && this.#isRestored;
    this.set(winner);
    this.#isRestored = isRestored;
    this.#moving = this.#try();
    return this.#moving;
  }

  /** Notes a wish that the caller moves itself. */
  set(winner: Winner | undefined): void {
    this.#trying?.abort();
    this.#trying = undefined;
    this.#moving = undefined;
    this.#wish = winner;
    this.#refusal = undefined;
    this.#isRestored = false;
    this.#alarm(undefined);
  }

  /** Lets the next wish count as a repetition, such as the one from before a command that failed. */
  restore(): void {
    this.set(undefined);
    this.#isRestored = true;
  }

  /** Tries what waits once more; with a code, what waits for that alone. */
  retry(code = this.#refusal?.code): void {
    if (this.#refusal !== undefined && this.#refusal.code === code && this.#trying === undefined) void this.#try();
  }

  /**
   * Writes what was taken once more, past the gates that are open. A pulse is never written again, nor what waits, is under way or may still
   * arrive. What fails is tried at the next time.
   */
  async repeat(): Promise<void> {
    const winner = this.#wish;
    const { gates, move, slot } = this.#deps;
    const { record } = slot;
    if (winner === undefined || winner.slot === 'pulse' || this.#refusal !== undefined || this.#trying !== undefined)
      return;
    // The last write may have been that of a command that was refused.
    if (record.lastBegun === undefined || record.state.desired !== winner.value) return;
    if (record.isInPulse || record.claimed !== undefined || slot.isMoving) return;
    if (slot.unknownBecause !== undefined) return;
    const { value } = winner;
    const trying = new AbortController();
    this.#trying = trying;
    try {
      const gated = gatedAs(winner);
      if (gated !== undefined) gates.check(record, value, gated);
      await move({ value, by: writerOf(winner), urgent: gated === undefined, repeats: true }, trying.signal);
    } catch {
      // The record tells what the hardware has refused; a gate that is closed is no news.
    } finally {
      if (this.#trying === trying) this.#trying = undefined;
    }
  }

  /** A condition has begun or ended: whether its rule is told with what it moves. */
  willTell(rule: string): boolean {
    if (this.#wish?.rule !== rule || this.#wish.slot === 'base') return false;
    if (this.#trying !== undefined) this.#untold = rule;
    return this.#trying !== undefined || this.#refusal !== undefined;
  }

  async #try(): Promise<void> {
    const winner = this.#wish;
    if (winner === undefined) return;
    const { gates, move, slot, onChange } = this.#deps;
    const { record } = slot;
    const { value } = winner;
    const by = writerOf(winner);
    const repeats = this.#refusal !== undefined || this.#isRestored;
    const trying = new AbortController();
    this.#trying = trying;
    try {
      // A value that the hardware shows by itself proves nothing: a line may not be driven yet.
      if (record.lastBegun !== undefined && record.value === value && record.expected === value) {
        record.keep(value, by, { repeats });
        onChange();
      } else {
        if (this.#refusal !== undefined && winner.rule === undefined) this.#deps.onPassed();
        const gated = gatedAs(winner);
        if (gated !== undefined) gates.check(record, value, gated);
        await move({ value, by, urgent: gated === undefined, repeats }, trying.signal);
      }
      if (this.#trying !== trying) return;
      this.#alarm(undefined);
      this.#tell(winner);
      this.#refusal = undefined;
    } catch (error) {
      if (this.#trying === trying) this.#refused(winner, error);
    } finally {
      if (this.#trying === trying) this.#trying = undefined;
    }
  }

  #refused(winner: Winner, error: unknown): void {
    const refusal = {
      code: error instanceof AgentError ? error.code : messageOf(error),
      message: messageOf(error),
      told: toldBy(error),
    };
    const isForNow =
      !(error instanceof AgentError) || error.recovery !== 'drop' || hasCode(error, 'actuators/overridden');
    if (this.#refusal?.code !== refusal.code) this.#tell(winner, refusal);
    this.#refusal = isForNow ? refusal : undefined;
    if (isForNow) this.#deps.onWaits(this.#opensInMs(winner.value, refusal.code));
    if (isActive(winner.value) && winner.rule === undefined)
      this.#alarm(sentence('noSafeState', { output: this.#deps.slot.settings.name, why: refusal.told }));
  }

  #opensInMs(value: ActuatorValue, code: string): number {
    const { gates, slot } = this.#deps;
    return TIMED.has(code) ? gates.opensInMs(slot.record, value) : Number.POSITIVE_INFINITY;
  }

  #alarm(message: Sentence | undefined): void {
    if ((message !== undefined) === this.#isAlarmed) return;
    this.#isAlarmed = message !== undefined;
    this.#deps.onAlarm(message);
  }

  #tell({ rule, slot }: Winner, refusal?: Refusal): void {
    if (
      rule === undefined ||
      slot === 'base' ||
      (refusal === undefined && this.#refusal === undefined && this.#untold !== rule)
    )
      return;
    this.#untold = undefined;
    this.#deps.onRule(rule, refusal);
  }
}

/** Returns the writer that moves an output for a slot. */
export function writerOf({ slot, by, rule }: Winner): Writer {
  if (slot !== 'base') return by ?? 'safe-state';
  return rule === undefined ? 'safe-state' : 'rule';
}

/** Whose gates a slot passes; undefined for a safe state, which passes all but the interlocks. */
function gatedAs({ slot, by, value }: Winner): Writer | undefined {
  if (slot === 'protect') return isActive(value) ? 'rule' : undefined;
  return slot === 'base' ? (isActive(value) ? 'restore' : undefined) : by;
}
