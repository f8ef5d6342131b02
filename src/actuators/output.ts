/**
 * One output that follows its slots: each event is reduced, kept, and what wins is wished. An operator's command that is refused fills nothing.
 *
 *   event ─► reduce ─► file
 *               └────► arbitrate ─► OutputWish ─► gates ─► ActuatorSlot
 */
import { hasCode } from '../errors/agent-error.ts';
import type { Sentence } from '../errors/sentence.ts';
import { endedWithin, untilAborted } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import { sentence } from '../names/sentences.ts';
import { toldError } from '../names/told-error.ts';
import { checkValue } from './actuator-limits.ts';
import type { Pulse } from './claim.ts';
import {
  type ActuatorSettings,
  type ActuatorState,
  type ActuatorValue,
  isActive,
  offValue,
  type Writer,
} from './kind/actuator.ts';
import { causeOf } from './output-cause.ts';
import { type OutputReason, outputReason, type SilentRule, winnerSentence } from './output-reason.ts';
import { OutputUpkeep } from './output-upkeep.ts';
import { OutputWish, type OutputWishDeps, type Refusal, writerOf } from './output-wish.ts';
import { arbitrate, reduce } from './priority-array.ts';
import {
  EMPTY_SLOTS,
  type Operator,
  type RuleSlot,
  type SlotEvent,
  type Slots,
  type Winner,
} from './priority-slots.ts';
import type { RuleEvent } from './rule-event.ts';

export interface OutputDeps extends Omit<OutputWishDeps, 'onRule' | 'onPassed'> {
  readonly slots: Slots | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly save: (slots: Slots) => void;
  /** @param instead what the output is, where the rule does not decide it. */
  readonly onRule: (event: RuleEvent, instead?: Sentence) => void;
}

export interface CommandSource {
  readonly by: Writer;
  /** Time that it holds against rules; default: as the output's `operatorUntil` says. */
  readonly forMs?: number | undefined;
}

type Command = Omit<Operator, 'sinceMs' | 'until'>;

/** A command that the hardware has not taken yet. */
interface Attempt {
  /** Slots as they would be now, had it not come. */
  without: Slots;
  operator?: Operator | undefined;
}

export type PulseRequest = Pick<CommandSource, 'by'> & { readonly durationMs: number };

export interface PulseSignals {
  readonly signal: AbortSignal;
  /** Aborts when the agent stops, which sets its own state. */
  readonly closing: AbortSignal;
}

/** Cause that makes an output follow another slot. */
export interface OutputCause {
  readonly sentence: Sentence;
}

/** Longer pulses are answered when they have begun. */
const AWAITED_PULSE_MS = 1_000;
/** A pulse that failed is answered no later than this after it. */
const OFF_WITHIN_MS = 3_000;

type WithoutTime<E> = E extends SlotEvent ? Omit<E, 'atMs'> : never;

export class Output {
  readonly slot: OutputDeps['slot'];
  readonly settings: ActuatorSettings;
  readonly #deps: OutputDeps;
  readonly #wish: OutputWish;
  readonly #upkeep: OutputUpkeep;
  #slots: Slots;
  readonly #attempts = new Set<Attempt>();
  /** `looked`: the hardware was read, and times run. `follows`: from the start on, what wins moves. `over`: the agent stops. */
  #phase: 'held' | 'looked' | 'follows' | 'over' = 'held';
  #cancelTime = (): void => {};
  readonly #ending = new AbortController();
  #cause: OutputCause | undefined;
  #silentRules: () => readonly SilentRule[] = () => [];
  /** Operator's command from before the start, while it is not known whether the hardware has taken it. */
  #unproven: Operator | undefined;
  /** Slots as they were before the start, and the rules that have had a reading since. */
  readonly #before: Slots;
  readonly #judged = new Set<string>();
  /** End of a pulse or of a longest time on that the slots know of. */
  #endedAtMs: number | undefined;

  constructor(deps: OutputDeps) {
    this.#deps = deps;
    this.slot = deps.slot;
    this.settings = deps.slot.settings;
    this.#slots = { ...(deps.slots ?? EMPTY_SLOTS), off: offValue(this.settings) };
    this.#before = this.#slots;
    const onRule = (rule: string, refusal?: Refusal): void => {
      const one = this.#slots.rules.find(({ name }) => name === rule);
      const isUnknown = refusal?.code === 'actuators/outcome-unknown' || undefined;
      const on = one !== undefined && one.phase === 'set' && !one.isLost;
      const isKept = (on && this.#holdsSinceBefore(one)) || undefined;
      deps.onRule({ rule, on, refusal: refusal?.message, told: refusal?.told, isUnknown, isKept });
    };
    const onPassed = (): void => {
      this.#cause = { sentence: sentence('causePassed') };
    };
    this.#wish = new OutputWish({ ...deps, onRule, onPassed });
    this.#upkeep = new OutputUpkeep({ slot: deps.slot, clock: deps.clock, repeat: () => this.#repeat() });
  }

  get slots(): Slots {
    return this.#slots;
  }

  get reason(): OutputReason {
    const reason = outputReason(this.#slots, {
      nowMs: this.#deps.clock.monotonicMs(),
      waitsFor: this.slot.unknownBecause ?? this.#wish.waitsFor(arbitrate(this.#slots)),
      isUnwritten: this.#isUnwritten,
      atDevice: this.slot.record.isChangedAtDevice ? this.slot.record.value : undefined,
      isUnproven: this.slot.record.isUnproven,
      wasAway: this.slot.record.wasAway,
    });
    const silent = this.#silentRules();
    return silent.length === 0 ? reason : { ...reason, silent };
  }

  /** Cause of the last change of its slot; undefined where somebody else tells it. Another object each time. */
  get cause(): OutputCause | undefined {
    return this.#cause;
  }

  /** Asks this, from now on, for the rules that have no say. */
  askSilentRules(ask: () => readonly SilentRule[]): void {
    this.#silentRules = ask;
  }

  get state(): ActuatorState {
    const { record } = this.slot;
    const winner = arbitrate(this.#slots);
    if (winner === undefined || record.state.by === undefined) return record.state;
    const isRestored = winner.slot === 'base' && winner.rule === undefined && this.settings.restore;
    return { ...record.state, by: isRestored ? 'restore' : writerOf(winner) };
  }

  /** Takes an event, and follows what wins then; resolves when that has moved, or has failed for now. */
  take(event: WithoutTime<SlotEvent>): Promise<void> | undefined {
    if (this.#phase === 'over') return undefined;
    const before = this.#slots;
    this.note(event);
    const following = this.#follow();
    if (this.#phase === 'follows') this.#tellEdge(event, before);
    return following;
  }

  /** Takes an event of a start or a stop: nothing moves by it. */
  note(event: WithoutTime<SlotEvent>): void {
    const before = this.#slots;
    if (event.kind === 'read' || event.kind === 'sensorLost') this.#judged.add(event.rule);
    const timed = { ...event, atMs: this.#deps.clock.monotonicMs() } as SlotEvent;
    this.#slots = reduce(before, timed);
    if (timed.kind !== 'commanded')
      for (const attempt of this.#attempts) attempt.without = reduce(attempt.without, timed);
    if (this.#slots === before) return;
    const [then, now] = [before, this.#slots].map(arbitrate);
    if (then?.slot !== now?.slot || then?.rule !== now?.rule || then?.value !== now?.value) {
      const cause = causeOf(timed, before, this.#slots);
      this.#cause = cause === undefined ? undefined : { sentence: cause };
    }
    if (then?.slot !== now?.slot || then?.rule !== now?.rule)
      this.#deps.log.info({ actuator: this.settings.name, why: this.reason.why }, 'an output follows another slot');
    this.#deps.save(this.#slots);
    this.update();
  }

  /** Takes up what the hardware has had by an earlier process: where that is in force still, nothing is written at the start. */
  resume(had: ActuatorValue | undefined): void {
    const winner = arbitrate(this.#slots);
    const { record } = this.slot;
    const isNew =
      winner === undefined || winner.slot === 'pulse' || (winner.slot === 'base' && winner.rule === undefined);
    if (isNew || winner.value !== had || record.lastBegun !== undefined) return;
    record.resume(had, writerOf(winner));
    this.#wish.set(winner);
  }

  /** The hardware was looked at, or does not answer: its times are counted from here on. */
  looked(): void {
    if (this.#phase === 'held') this.#phase = 'looked';
    this.update();
  }

  async begin(): Promise<void> {
    if (this.#phase !== 'held' && this.#phase !== 'looked') return;
    this.#phase = 'follows';
    const { operator } = this.#slots;
    if (operator !== undefined && isActive(operator.value) && operator.value === this.slot.unanswered) {
      this.#unproven = operator;
      void this.#endUnmoved(operator);
    }
    this.#upkeep.begin();
    await this.#follow();
    this.update();
  }

  end(): void {
    this.#phase = 'over';
    this.#upkeep.end();
    this.#ending.abort();
    this.#cancelTime();
    this.#wish.set(undefined);
  }

  /** Lets what is in force wait until the hardware, which has lost what it had taken, is there again. A pulse is over, and a text is not told twice. */
  unplugged(): void {
    if (this.#phase !== 'follows' || this.settings.valueType === 'string') return;
    if (arbitrate(this.#slots)?.slot === 'pulse') return void this.take({ kind: 'pulseEnded' });
    this.#wish.restore();
    void this.#follow();
  }

  /**
   * Writes once more what is in force to hardware that was away and may have lost it, once its gates are open: off, and what a rule, a state of
   * the configuration or a command with time left says. A command without a time stays as it is, unproven. A pulse is over.
   */
  returned(): void {
    const winner = arbitrate(this.#slots);
    if (this.#phase !== 'follows' || winner === undefined) return;
    // A text that is told twice may be done twice.
    if (this.settings.valueType === 'string' && !this.settings.idempotent) return;
    if (winner.slot === 'pulse') return void this.take({ kind: 'pulseEnded' });
    const isCommand = winner.slot === 'operator' || (winner.slot === 'base' && this.settings.restore);
    const isOver = isCommand && winner.rule === undefined && this.#slots.operator?.untilMs === undefined;
    if (isOver && isActive(winner.value)) return;
    this.#wish.restore();
    void this.#follow();
  }

  /** Tries what waits once more; with a code, what waits for that alone. */
  retry(code?: string): void {
    if (this.#phase === 'follows') this.#wish.retry(code);
  }

  /** @throws AgentError `actuators/protected` or `actuators/max-on` when a higher slot says otherwise, and as Gates.check. */
  check(value: unknown, by: Writer): ActuatorValue {
    const checked = checkValue(this.settings, value);
    const winner = arbitrate(this.#slots);
    if (winner?.slot === 'protect' && winner.value !== checked)
      throw toldError(
        'actuators/protected',
        sentence('heldByRule', { output: this.settings.name, rule: winner.rule ?? '' }),
        { recovery: 'hold' },
      );
    if (winner?.slot === 'limit' && isActive(checked))
      throw toldError('actuators/max-on', sentence('longestTimeOver', { output: this.settings.name }), {
        recovery: 'retry',
      });
    return this.#deps.gates.check(this.slot.record, checked, by);
  }

  /** An operator's word: moved at once, or refused. @throws AgentError as `check`, and the driver's own. */
  async command(command: Command, signal: AbortSignal): Promise<void> {
    const attempt: Attempt = { without: this.#slots };
    this.note({ kind: 'commanded', operator: { ...command, until: this.settings.operatorUntil } });
    const winner = arbitrate(this.#slots);
    // A command to switch on during a pulse stands after the pulse.
    const isMine = winner?.slot === 'operator' || (winner?.slot === 'pulse' && winner.value === command.value);
    if (winner === undefined || !isMine) return void this.#follow();
    this.#wish.set(winner);
    const mine = this.#slots.operator;
    attempt.operator = mine;
    this.#attempts.add(attempt);
    try {
      await this.#deps.move({ value: command.value, by: command.by }, signal);
    } catch (error) {
      // It may still move: the command stands until it is known that it has not. Where it is written again and again it stands on.
      if (hasCode(error, 'actuators/outcome-unknown')) {
        if (this.settings.repeatEveryMs === undefined) void this.#endUnmoved(mine);
      }
      // Off stays wanted, and is tried again.
      else if (isActive(command.value)) this.#failed(mine, attempt.without);
      throw error;
    } finally {
      this.#attempts.delete(attempt);
    }
  }

  /**
   * On, and off again whatever happens to the caller. Resolves when it has ended, or for pulses over a second when it has begun. After a kill
   * its mark is left, for the stop hook and the next start. @throws as `move` does: what had begun goes off where nothing else is filled.
   */
  async pulse({ durationMs, by }: PulseRequest, { signal, closing }: PulseSignals): Promise<void> {
    const { promise: ended, resolve: onEnd } = Promise.withResolvers<void>();
    const pulse: Pulse = { durationMs, onEnd };
    this.note({ kind: 'pulseBegan', by });
    const mine = this.#slots.pulse;
    const end = async (): Promise<void> => {
      if (this.#slots.pulse === mine) await this.take({ kind: 'pulseEnded' });
    };
    this.#wish.set(arbitrate(this.#slots));
    void ended.then(end);
    try {
      await this.#deps.move({ value: true, by, pulse }, signal);
    } catch (error) {
      // A pulse that nobody ends is worse than one switching-off too many.
      if (this.slot.record.lastBegun?.pulse === pulse) await endedWithin(this.#deps.clock, OFF_WITHIN_MS, end());
      else this.#change((slots) => (slots.pulse === mine ? { ...slots, pulse: undefined } : slots));
      throw error;
    }
    if (durationMs <= AWAITED_PULSE_MS) await untilAborted(ended, closing).catch(() => {});
  }

  /** To be told of every change of the output, in the midst of a movement as well: times begin to run, whoever switched on, and end. */
  update(): void {
    const { clock } = this.#deps;
    this.#upkeep.update();
    const { limit, operator } = this.#slots;
    const { record } = this.slot;
    const { offSinceMs, changedAtMs = 0 } = record;
    // Where off is wanted and refused, it is being tried again already.
    const dueMs = record.refusesOff || offValue(this.settings) === undefined ? undefined : record.offDueMs;
    if (dueMs === undefined) this.#endedAtMs = undefined;
    const endsMs = dueMs === this.#endedAtMs ? undefined : dueMs;
    const { minOffMs = 0 } = this.settings.limits;
    const limitEndsMs =
      limit === undefined || offSinceMs === undefined ? undefined : Math.max(limit, changedAtMs) + minOffMs;
    const times = [endsMs, limitEndsMs, operator?.untilMs].filter((atMs) => atMs !== undefined);
    this.#cancelTime();
    if (times.length === 0 || this.#phase === 'held' || this.#phase === 'over') return;
    this.#cancelTime = clock.after(Math.max(0, Math.min(...times) - clock.monotonicMs()), () => {
      // A timer may be shorter than what was asked for.
      const isOver = (atMs = Number.POSITIVE_INFINITY): boolean => atMs <= clock.monotonicMs();
      if (isOver(endsMs)) {
        this.#endedAtMs = endsMs;
        void this.take({ kind: record.state.pulsing ? 'pulseEnded' : 'maxOnEnded' });
      }
      if (isOver(limitEndsMs)) void this.take({ kind: 'minOffEnded' });
      void this.take({ kind: 'timePassed' });
      this.update();
    });
  }

  /** Ends a command without an answer, once the hardware is known to show something else. */
  async #endUnmoved(mine: Operator | undefined): Promise<void> {
    while (this.slot.unknownBecause !== undefined && this.#phase !== 'over')
      await this.slot.known(this.#ending.signal).catch(() => {});
    const { value } = this.slot.record;
    if (this.#phase === 'over' || mine === undefined || value === undefined || !isActive(mine.value)) return;
    if (value === mine.value) return this.#proven();
    if (this.#slots.operator === mine) this.#wish.set(undefined);
    void this.take({ kind: 'unmoved', operator: mine });
  }

  #proven(): void {
    this.#unproven = undefined;
    void this.#follow();
  }

  /** A command that was refused changes nothing: what stood before it stands on, also for later ones. A later command stands itself. */
  #failed(mine: Operator | undefined, without: Slots): void {
    const slots = this.#slots.operator === mine ? without : this.#slots;
    const winner = arbitrate(slots);
    const isUnderWay = [...this.#attempts].some(({ operator }) => operator === slots.operator);
    // Another command that has not ended moves what it says itself; any other slot has moved nothing yet, also where it says the same.
    if (winner?.slot === 'operator' && isUnderWay) this.#wish.set(winner);
    else if (winner?.slot !== 'operator') this.#wish.set(undefined);
    else if (slots === without) this.#wish.restore();
    this.#change((one) => (one.operator === mine ? without : one));
  }

  #change(change: (slots: Slots) => Slots): void {
    this.#slots = change(this.#slots);
    for (const attempt of this.#attempts) attempt.without = change(attempt.without);
    this.#deps.save(this.#slots);
    void this.#follow();
    this.update();
  }

  #follow(): Promise<void> | undefined {
    if (this.#phase !== 'follows') return undefined;
    const winner = arbitrate(this.#slots);
    const isUnproven = winner?.slot === 'operator' && this.#slots.operator === this.#unproven;
    return this.#wish.follow(this.#isUnwritten || isUnproven ? undefined : winner);
  }

  #repeat(): void {
    if (this.#phase === 'follows' && this.#mayRepeat) void this.#wish.repeat();
  }

  /** True where what wins may be repeated. From before the start that is a rule, or a command with time left. */
  get #mayRepeat(): boolean {
    const winner = arbitrate(this.#slots);
    if (winner === undefined || winner.slot === 'none' || this.#isUnwritten) return false;
    if (winner.slot === 'operator') return this.#slots.operator !== this.#before.operator || this.#goesOn(winner);
    const isRestored = winner.slot === 'base' && winner.rule === undefined && this.settings.restore;
    return !isRestored || this.#before.left === undefined;
  }

  /** True for a command or rule from before the start that is repeated all the same. */
  #goesOn({ slot, rule }: Winner): boolean {
    if (this.settings.repeatEveryMs === undefined) return false;
    return slot === 'operator' ? this.#slots.operator?.untilMs !== undefined : rule !== undefined;
  }

  /** True for a rule that has held from before the start on, without an edge since. */
  #holdsSinceBefore({ name, sinceMs }: RuleSlot): boolean {
    return this.#before.rules.some((one) => one.name === name && one.phase === 'set' && one.sinceMs === sinceMs);
  }

  /** True while an output that cannot be read back follows a word from before the start, which nobody has said since. */
  get #isUnwritten(): boolean {
    const { settings, record } = this.slot;
    const winner = arbitrate(this.#slots);
    // An off that was owed was never taken.
    if (settings.writtenOnce !== true || record.lastBegun !== undefined || record.isInPulse) return false;
    if (winner === undefined || this.#goesOn(winner)) return false;
    if (winner.slot === 'operator') return this.#slots.operator === this.#before.operator;
    return winner.rule !== undefined && !this.#judged.has(winner.rule);
  }

  /** A condition that begins or ends is told, with what it moves. */
  #tellEdge(event: WithoutTime<SlotEvent>, before: Slots): void {
    if (event.kind === 'configured') {
      const isGone = ({ name, phase }: RuleSlot): boolean =>
        phase === 'set' && !this.#slots.rules.some((rule) => rule.name === name);
      for (const { name } of before.rules.filter(isGone))
        this.#deps.onRule({ rule: name, on: false }, sentence('ruleRemoved'));
    }
    if (event.kind !== 'read') return;
    const [then, now] = [before, this.#slots].map(({ rules }) => rules.find(({ name }) => name === event.rule));
    if (now === undefined || then?.phase === now.phase || (then?.phase === 'unread' && !event.holds)) return;
    if (this.#wish.willTell(event.rule)) return;
    const winner = arbitrate(this.#slots);
    const decides = winner?.rule === event.rule && winner.slot !== 'base';
    const instead = sentence('outputIs', {
      output: this.settings.name,
      is: winnerSentence(this.#slots, this.#deps.clock.monotonicMs()),
    });
    this.#deps.onRule({ rule: event.rule, on: event.holds }, decides ? undefined : instead);
  }
}
