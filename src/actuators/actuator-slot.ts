/**
 * Moves one pin: switching on one after the other, each within its deadline, each read back where the hardware can be asked. Switching off
 * and safe states do not queue: they end what is under way and go first.
 */
import { AgentError, hasCode, messageOf, retryable } from '../errors/agent-error.ts';
import type { Sentence } from '../errors/sentence.ts';
import { untilAborted, withinMs } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import type { Claim, Pulse } from './claim.ts';
import { givenUp, HardwareWrites } from './hardware-writes.ts';
import {
  type ActuatorDriver,
  type ActuatorSettings,
  type ActuatorValue,
  inWords,
  isActive,
  type Writer,
} from './kind/actuator.ts';
import { LateWrites, outcomeUnknown } from './late-writes.ts';
import type { PinRecord } from './pin-record.ts';

export interface ActuatorSlotDeps {
  readonly record: PinRecord;
  readonly driver: ActuatorDriver;
  readonly clock: Clock;
  readonly onChange: () => void;
  /** Called when the time of switching off may have changed, in the midst of a movement as well. */
  readonly onDue: () => void;
  /** Called when the hardware was unplugged and has lost what it had taken. */
  readonly onUnplug?: () => void;
  /** Called when the hardware is back after an outage, and does not show what is wanted, or cannot be asked. */
  readonly onReturn?: () => void;
  /** Value that an earlier process has written, without an answer. */
  readonly unanswered?: ActuatorValue | undefined;
}

export interface Movement {
  readonly value: ActuatorValue;
  readonly by: Writer;
  /** Overrides whatever is under way, and no caller can abort it. Switching off is always urgent. */
  readonly urgent?: boolean;
  /** True when the same writer retries what the hardware refused. */
  readonly repeats?: boolean;
  readonly pulse?: Pulse;
  /** Awaited when its turn has come, before anything is asked or moved. @throws AgentError when nothing may move. */
  readonly keep?: () => Promise<void>;
  /**
   * Asked as the last thing before the hardware gets it, however long its turn took to come; makes the mark that must be there by then.
   * @throws AgentError when a gate has closed, or the mark cannot be made: nothing is moved then.
   */
  readonly permit?: () => void;
}

interface Turn {
  readonly claim: Claim;
  readonly signal: AbortSignal;
  /** Aborts when another movement overrides this one. No caller aborts it. */
  readonly overridden: AbortSignal;
}

/** How soon hardware whose state is not known is asked again. */
const LOOK_AGAIN_AFTER_MS = 10_000;
/** Shortens the look after a failed write: such hardware often does not answer, and a caller that switches off waits for it. */
const LOOK_AFTER_FAILURE_MS = 500;

export class ActuatorSlot {
  readonly settings: ActuatorSettings;
  readonly record: PinRecord;
  readonly #deps: ActuatorSlotDeps;
  readonly #writes: HardwareWrites;
  readonly #late: LateWrites;
  readonly #closing = new AbortController();
  #last: Promise<void> = Promise.resolve();
  /** Ends whatever is to move in turn. */
  #inTurn = new AbortController();
  #urgent: { readonly value: ActuatorValue; readonly moving: Promise<void>; readonly end: AbortController } | undefined;
  #turns = 0;
  #cancelLook = (): void => {};

  constructor(deps: ActuatorSlotDeps) {
    this.#deps = deps;
    this.record = deps.record;
    this.settings = deps.record.settings;
    this.#late = new LateWrites({
      settings: this.settings,
      driver: deps.driver,
      clock: deps.clock,
      left: deps.unanswered,
      onMoved: () => deps.onChange(),
      onKnown: (value, refusal) => this.#knownAtLast(value, refusal),
    });
    this.#writes = new HardwareWrites({ ...deps, late: this.#late, onLate: (taken) => this.#endedLate(taken) });
    if (this.#late.fault !== undefined) this.record.lose(this.#late.fault);
    deps.driver.onUnplug?.((why) => this.#unplugged(why));
    deps.driver.onReturn?.(() => void this.#returned());
    deps.driver.onLateAnswer?.((value, refusal) => this.#late.answered(value, refusal));
  }

  /** True while a movement has begun its turn and not ended it. */
  get isMoving(): boolean {
    return this.#turns > 0;
  }

  /** Reason why nobody can know what it shows: a write had no answer, and may still arrive. */
  get unknownBecause(): Sentence | undefined {
    return this.#late.told;
  }

  /** Value of the last write without an answer, while it may still arrive. */
  get unanswered(): ActuatorValue | undefined {
    return this.#late.outstanding;
  }

  /** Resolves when no write without an answer can arrive any more. @throws AgentError `actuators/unsettled` (retry). */
  known(signal: AbortSignal): Promise<void> {
    return this.#late.known(signal);
  }

  /** True while off was taken, and would be written again for nothing: an older write may still arrive, and has not yet. */
  get hasTakenOff(): boolean {
    const { desired } = this.record.state;
    return desired !== undefined && !isActive(desired) && this.#late.hasTaken(desired);
  }

  get readable(): boolean {
    return this.#deps.driver.read !== undefined;
  }

  /** Asks the hardware; `told`: what it has taken just now. Undefined when it cannot be asked or does not answer. */
  async refresh(signal: AbortSignal, told?: ActuatorValue): Promise<ActuatorValue | undefined> {
    const { record } = this;
    if (!this.readable) return record.value;
    const { value, fault, desired } = record.state;
    const { begun } = this.#writes;
    // During a write the answer may be from before or after it.
    const counts = (): boolean =>
      this.#turns === 0 && this.#writes.begun === begun && this.#late.fault === undefined && !signal.aborted;
    try {
      const shown = await this.#writes.read(signal);
      // Hardware that is asked every so often, and still stands where it should not, is no better for being asked.
      const isStill = this.settings.readEveryMs !== undefined && shown === value && shown !== desired;
      if (counts()) record.learn(shown, isStill ? fault : undefined);
      if (counts() && told !== undefined && told !== shown) this.#standsStill(shown, told);
      return shown;
    } catch (error) {
      if (counts()) record.lose(messageOf(error));
      return undefined;
    } finally {
      this.#lookAgain();
      if (record.state.value !== value || record.state.fault !== fault) this.#deps.onChange();
    }
  }

  /**
   * Claims the value at once, then moves. The signal ends the waiting for its turn: what the hardware has begun is not left in the middle.
   * @throws AgentError `actuators/…` or the driver's own (retry).
   */
  move(movement: Movement, signal: AbortSignal): Promise<void> {
    return movement.urgent === true || !isActive(movement.value)
      ? this.#moveAtOnce(movement)
      : this.#moveInTurn(movement, signal);
  }

  /** Leaves the hardware as it is. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#cancelLook();
    this.#writes.close();
    this.#late.close();
    await this.#deps.driver.close();
  }

  #moveAtOnce(movement: Movement): Promise<void> {
    const { value } = movement;
    const why = `${this.settings.name}: a safe state or switching off went first`;
    const overridden = new AgentError('actuators/overridden', why, { recovery: 'drop' });
    this.#inTurn.abort(overridden);
    this.#inTurn = new AbortController();
    if (!isActive(value)) this.record.want(value, movement.by, movement);
    // A second off would only delay the one that is under way.
    if (this.#urgent !== undefined && this.#urgent.value === value) return this.#urgent.moving;
    this.#urgent?.end.abort(overridden);
    const end = new AbortController();
    const moving = this.#move(movement, {
      claim: this.record.claim(value, movement.pulse),
      signal: end.signal,
      overridden: end.signal,
    });
    const urgent = { value, moving, end };
    this.#urgent = urgent;
    this.#last = moving
      .catch(() => {})
      .finally(() => {
        if (this.#urgent === urgent) this.#urgent = undefined;
      });
    return moving;
  }

  #moveInTurn(movement: Movement, asked: AbortSignal): Promise<void> {
    const overridden = this.#inTurn.signal;
    const signal = AbortSignal.any([asked, overridden]);
    const claim = this.record.claim(movement.value, movement.pulse);
    const turn = this.#last;
    const moving = turn.then(() => this.#move(movement, { claim, signal, overridden }));
    this.#last = moving.catch(() => {});
    // The caller may give up before the turn comes.
    return untilAborted(turn, signal, () => this.#ended(signal)).then(() => moving);
  }

  async #move(movement: Movement, turn: Turn): Promise<void> {
    const { record } = this;
    const { value, keep, permit } = movement;
    const { claim, signal } = turn;
    this.#turns += 1;
    try {
      await this.#writes.letGo(signal);
      if (signal.aborted) throw this.#ended(signal);
      if (movement.urgent !== true && isActive(value)) await this.#waitUntilKnown(signal);
      await keep?.();
      if (signal.aborted) throw this.#ended(signal);
      permit?.();
      if (isActive(value)) record.want(value, movement.by, movement);
      await this.#write({ ...turn, signal: AbortSignal.any([turn.overridden, this.#closing.signal]) });
    } finally {
      record.giveBack(claim);
      this.#turns -= 1;
      this.#lookAgain();
      this.#deps.onChange();
    }
  }

  async #write(turn: Turn): Promise<void> {
    const { record, settings } = this;
    const { claim, signal } = turn;
    try {
      const writing = this.#writes.write(claim, signal);
      this.#deps.onDue();
      await writing;
      this.#deps.onDue();
    } catch (error) {
      const ended = signal.aborted ? this.#ended(signal) : error;
      record.lose(messageOf(ended));
      // The overriding movement knows what the output shows.
      if (hasCode(ended, 'actuators/overridden')) throw ended;
      // A driver that was told to stop says first whether a gateway may have it.
      if (hasCode(ended, 'actuators/deadline-passed') && this.#deps.driver.readLate !== undefined)
        await this.#writes.letGo(signal);
      this.#failWhileUnknown(claim.value, ended);
      await this.#readBack(turn, messageOf(ended));
      throw ended;
    }
    this.#failWhileUnknown(claim.value, 'an earlier write had no answer and may still arrive');
    const shown = await this.#readBack(turn, undefined);
    if (shown === claim.value || (shown === undefined && !this.#writes.doubts(claim.value))) return;
    // The overriding movement knows what the output shows.
    if (shown === undefined && signal.aborted) throw this.#ended(signal);
    const what = shown === undefined ? 'does not answer' : `shows ${inWords(shown)}`;
    if (shown !== undefined) this.#standsStill(shown, claim.value);
    throw retryable('actuators/not-moved', `${settings.name} ${what} after it was set to ${inWords(claim.value)}`);
  }

  async #waitUntilKnown(signal: AbortSignal): Promise<void> {
    try {
      await this.#late.known(signal);
    } catch (error) {
      throw hasCode(signal.reason, 'actuators/overridden') ? signal.reason : error;
    }
  }

  /** @throws AgentError `actuators/outcome-unknown` (retry) while a write without an answer may still arrive. */
  #failWhileUnknown(value: ActuatorValue, why: unknown): void {
    if (this.#late.fault === undefined) return;
    this.record.lose(this.#late.fault);
    throw outcomeUnknown(this.settings, value, why);
  }

  #standsStill(shown: ActuatorValue, told: ActuatorValue): void {
    this.record.blame(`shows ${inWords(shown)}, was set to ${inWords(told)}`);
    this.#writes.stuckAt = shown;
  }

  /** Returns what the hardware shows after a write; undefined when it cannot be asked, or another movement goes first. */
  async #readBack({ claim, overridden }: Turn, fault: string | undefined): Promise<ActuatorValue | undefined> {
    if (!this.readable) return undefined;
    const { clock, record } = this.#deps;
    const ending = [this.#closing.signal, overridden];
    const reading =
      fault === undefined
        ? this.#writes.read(AbortSignal.any(ending))
        : withinMs(clock, LOOK_AFTER_FAILURE_MS, (within) => this.#writes.read(within), AbortSignal.any(ending));
    const shown = await reading.catch(() => undefined);
    if (shown === undefined) return undefined;
    // A value that is as it should be has no fault, however it was told.
    record.learn(shown, shown === claim.value ? undefined : fault);
    return shown;
  }

  #unplugged(why: string): void {
    // Hardware that was told nothing has lost nothing.
    if (this.record.lastBegun === undefined || this.#closing.signal.aborted) return;
    this.record.lose(why);
    this.record.dropOut();
    this.#deps.onUnplug?.();
    this.#deps.onChange();
  }

  /**
   * The hardware was away, and holds what it started with, or what somebody has set there meanwhile: what can be asked shows it. Where people
   * change it (`readEvery`) that stands.
   */
  async #returned(): Promise<void> {
    const { record, settings } = this;
    const { signal } = this.#closing;
    // A movement that is under way writes by itself; a write without an answer is looked after already.
    const isBusy = (): boolean => signal.aborted || this.#turns > 0 || this.#late.fault !== undefined;
    if (record.lastBegun === undefined || isBusy()) return;
    const { desired } = record.state;
    if (this.readable) {
      const shown = await this.refresh(signal);
      if (isBusy() || shown === undefined || shown === desired || settings.readEveryMs !== undefined) return;
      record.blame(`shows ${inWords(shown)} after it was away, was set to ${inWords(desired ?? shown)}`);
    } else record.forget('nothing proves what it holds since it was away');
    record.dropOut();
    this.#deps.onReturn?.();
    this.#deps.onChange();
  }

  /** A write that nobody waited for has ended after all. */
  #endedLate(taken: ActuatorValue | undefined): void {
    this.#deps.onChange();
    if (this.readable && !this.#closing.signal.aborted) void this.refresh(this.#closing.signal, taken);
  }

  /** No write without an answer arrives any more. */
  #knownAtLast(
    value: ActuatorValue | undefined,
    refusal = 'a write had no answer, and reading it back is refused',
  ): void {
    const { record } = this;
    const { desired } = record.state;
    const isOther = desired !== undefined && value !== desired;
    if (value === undefined) record.lose(refusal);
    else
      record.learn(
        value,
        isOther ? `shows ${inWords(value)}, was set to ${inWords(desired)} without an answer` : undefined,
      );
    this.#lookAgain();
    this.#deps.onChange();
  }

  #lookAgain(): void {
    this.#cancelLook();
    if (
      this.#turns > 0 ||
      this.record.value !== undefined ||
      this.#late.fault !== undefined ||
      !this.readable ||
      this.#closing.signal.aborted
    )
      return;
    this.#cancelLook = this.#deps.clock.after(LOOK_AGAIN_AFTER_MS, () => void this.refresh(this.#closing.signal));
  }

  #ended(signal: AbortSignal): AgentError {
    return hasCode(signal.reason, 'actuators/overridden') ? signal.reason : givenUp(this.settings);
  }
}
