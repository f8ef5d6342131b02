/**
 * The one way to every output. Whoever wants to move something fills a slot of the output's priority array; what wins passes the gates:
 * lockout → value → times → interlocks → the hardware. What switches off passes lockout and interlocks and waits for nothing, no disk and no
 * queue; safe states pass all but the interlocks. Every gate reads the pin's record, and claims it in the same breath.
 *
 *   rpc, shared, local, rule, silence, limit → Output (slots) → gates → claim → (mark) → ActuatorSlot → driver → read back → record → onState
 */
import { messageOf } from '../errors/agent-error.ts';
import { endedWithin } from '../host/bounded-wait.ts';
import { checkPulse, checkPulseOver } from './actuator-limits.ts';
import { ActuatorSlot, type Movement } from './actuator-slot.ts';
import { ContactWatches } from './contact-watches.ts';
import type { ActuatorControlDeps } from './control-deps.ts';
import { disabledExcluder, Gates } from './gates.ts';
import { type ActuatorSettings, type ActuatorState, type ActuatorValue, isActive } from './kind/actuator.ts';
import { type CommandSource, Output, type PulseRequest } from './output.ts';
import { beginOutputs, leaveOperator } from './output-start.ts';
import { PinRecord } from './pin-record.ts';
import type { RuleWords } from './priority-slots.ts';
import { SafeStates, stopValue } from './safe-states.ts';
import { unknownActuator } from './unknown-actuator.ts';

/** For hardware that is still being opened, and for what is remembered on a disk that may hang. */
const CLOSE_WITHIN_MS = 2_000;
/** A longest time on does not wait longer for hardware that may say that it is off. */
const LOOK_WITHIN_MS = 5_000;
/** Longest interval at which an output that waits at a gate, or for its hardware, is tried again. */
const RETRY_AFTER_MS = 5_000;

export class ActuatorControl {
  /** To be told whenever the platform is heard. */
  readonly contact: ContactWatches;
  readonly #deps: ActuatorControlDeps;
  readonly #outputs: ReadonlyMap<string, Output>;
  readonly #gates: Gates;
  readonly #found = new Map<string, ActuatorValue | undefined>();
  readonly #listeners = new Set<(state: ActuatorState) => void>();
  readonly #safeStates: SafeStates;
  #retriesAtMs = Number.POSITIVE_INFINITY;
  #cancelRetry = (): void => {};
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;

  private constructor(deps: ActuatorControlDeps) {
    this.#deps = deps;
    const { clock, log, onAlarm = () => {} } = deps;
    const records = (deps.disabled ?? []).map(disabledExcluder);
    this.#gates = new Gates({ records, locked: deps.locked, closing: this.#closing.signal, clock });
    this.#outputs = new Map(deps.actuators.map((one) => [one.settings.name, this.#newOutput(one)]));
    records.push(...[...this.#outputs.values()].map(({ slot }) => slot.record));
    this.#safeStates = new SafeStates({
      clock,
      log,
      onAlarm,
      move: (slot, movement) => this.#move(slot, movement, this.#closing.signal),
    });
    this.contact = new ContactWatches({ outputs: [...this.#outputs.values()], clock });
  }

  /** Looks at what the hardware shows, then begins to follow the slots. What does not answer is waited for a few seconds at most. */
  static async open(deps: ActuatorControlDeps, signal: AbortSignal): Promise<ActuatorControl> {
    const control = new ActuatorControl(deps);
    const outputs = [...control.#outputs.values()];
    const looks = new Map(outputs.map((output) => [output, control.#look(output.slot, signal)]));
    void Promise.all(looks.values()).then(() => deps.memory.lookedAtAll());
    control.configure(deps.rules ?? new Map(), { isStart: true });
    await beginOutputs(outputs, {
      memory: deps.memory,
      clock: deps.clock,
      looked: async (output) => await looks.get(output),
    });
    return control;
  }

  /** Moves, and gives the state read back. @throws AgentError `actuators/…` that says which gate was closed, or what failed. */
  async set(name: string, value: unknown, { by, forMs }: CommandSource, signal: AbortSignal): Promise<ActuatorState> {
    const output = this.#output(name);
    const untilMs = forMs === undefined ? undefined : this.#deps.clock.monotonicMs() + forMs;
    await output.command({ value: output.check(value, by), by, untilMs }, signal);
    return output.state;
  }

  /**
   * Takes back what an operator has said of an output, and ends its pulse; gives the state once what applies then has moved, or waits.
   * @throws AgentError `actuators/unknown` (drop).
   */
  async release(name: string, by?: CommandSource['by']): Promise<ActuatorState> {
    const output = this.#output(name);
    await output.take({ kind: 'released', why: 'released', by });
    return output.state;
  }

  /** Returns the output whose slots are to be filled, or told of; undefined where there is none. */
  find(name: string): Output | undefined {
    return this.#outputs.get(name);
  }

  /** The rules of each output, in the order of the file. */
  configure(rules: ReadonlyMap<string, readonly RuleWords[]>, { isStart = false } = {}): void {
    for (const [name, output] of this.#outputs)
      void output.take({ kind: 'configured', rules: rules.get(name) ?? [], isStart });
  }

  /** Returns the value as `set` would take it now. @throws AgentError as `set` does. */
  check(name: string, value: unknown, by: CommandSource['by']): ActuatorValue {
    return this.#output(name).check(value, by);
  }

  /**
   * Switches on, and off again after `durationMs`. Resolves when it has ended, or for pulses over a second when it has begun.
   * The end comes whatever happens to the caller; after a kill the stop hook and the next start take its place.
   */
  async pulse(name: string, { durationMs, by }: PulseRequest, signal: AbortSignal): Promise<ActuatorState> {
    const output = this.#output(name);
    this.checkPulse(name, durationMs, by);
    await output.pulse({ durationMs, by }, { signal, closing: this.#closing.signal });
    return output.state;
  }

  /** Passes the gates of `pulse` without moving. @throws AgentError as `pulse` does. */
  checkPulse(name: string, durationMs: number, by: CommandSource['by']): void {
    checkPulse(this.#output(name).slot.record, durationMs);
    this.check(name, true, by);
  }

  /** @throws AgentError `actuators/unknown` (drop). */
  state(name: string): ActuatorState {
    return this.#output(name).state;
  }

  settings(name: string): ActuatorSettings {
    return this.#output(name).settings;
  }

  states(): readonly ActuatorState[] {
    return [...this.#outputs.values()].map(({ state }) => state);
  }

  /** Asks the hardware where it can be asked. */
  async read(name: string, signal: AbortSignal): Promise<ActuatorState> {
    await this.#output(name).slot.refresh(signal);
    return this.state(name);
  }

  /** Value that the hardware showed before this process set anything; undefined when it could not be asked. */
  foundAtStart(name: string): ActuatorValue | undefined {
    return this.#found.get(name);
  }

  /** Number of writes so far: a caller that remembers it notices another writer. */
  movements(name: string): number {
    return this.#output(name).slot.record.writes;
  }

  /** Calls back whenever a state may have changed, until the returned function is called. */
  onState(listener: (state: ActuatorState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Sets the safe states for stop, switches off what nobody would end after us, and gives the hardware back. Bounded in time, and idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    this.#cancelRetry();
    this.contact.close();
    this.#safeStates.close();
    const { clock, log, memory } = this.#deps;
    const outputs = [...this.#outputs.values()];
    const stops = outputs.flatMap((output) => {
      output.end();
      const value = stopValue(output.slot);
      if (value.length > 0) leaveOperator(output);
      return value;
    });
    await this.#safeStates.setAll(stops);
    const given = outputs.map(({ slot }) =>
      slot
        .close()
        .catch((error: unknown) =>
          log.warn({ actuator: slot.settings.name, error: messageOf(error) }, 'an actuator was not closed'),
        ),
    );
    await endedWithin(clock, CLOSE_WITHIN_MS, Promise.all([...given, memory.close()]));
  }

  #newOutput({ settings, driver }: ActuatorControlDeps['actuators'][number]): Output {
    const { clock, log, memory, onAlarm = () => {}, onRule = () => {} } = this.#deps;
    const { name } = settings;
    const past = {
      history: memory.historyOf(name),
      lostAtMs: memory.outputs.lostAtMs,
      left: memory.leftMark(settings),
    };
    const unanswered = memory.outputs.get(name)?.unanswered;
    const record = new PinRecord({ settings, clock, unanswered, ...past });
    const slot = new ActuatorSlot({
      record,
      driver,
      clock,
      onChange: () => this.#changed(name),
      onDue: () => output.update(),
      onUnplug: () => output.unplugged(),
      onReturn: () => output.returned(),
      unanswered,
    });
    const output = new Output({
      slot,
      slots: memory.outputs.get(name)?.slots,
      gates: this.#gates,
      clock,
      log,
      onRule,
      move: (movement, signal) => this.#move(slot, movement, signal),
      save: (slots) => memory.outputs.set(name, { slots }),
      onAlarm: (message) => onAlarm(name, message),
      onChange: () => this.#changed(name),
      onWaits: (opensInMs) => this.#retryLater(opensInMs),
    });
    return output;
  }

  async #look(slot: ActuatorSlot, signal: AbortSignal): Promise<void> {
    const { name } = slot.settings;
    const closing = this.#closing.signal;
    const cancel = this.#deps.clock.after(LOOK_WITHIN_MS, () => this.#output(name).looked());
    const shown = slot.readable ? await slot.refresh(AbortSignal.any([signal, closing])) : undefined;
    cancel();
    if (closing.aborted) return;
    // Not once something was set.
    this.#found.set(name, slot.record.writes === 0 ? shown : undefined);
    this.#output(name).looked();
    this.#changed(name);
  }

  async #move(slot: ActuatorSlot, movement: Movement, signal: AbortSignal): Promise<void> {
    const { record } = slot;
    const { value, by } = movement;
    const permit = (): void => {
      this.#gates.permit(record, value, by);
      if (movement.pulse !== undefined) checkPulseOver(record);
      if (isActive(value)) this.#deps.memory.mark(record);
    };
    const keep = (): Promise<void> => this.#deps.memory.keepPulse(record);
    const more = movement.pulse === undefined ? { permit } : { permit, keep };
    await slot.move({ ...movement, ...more }, AbortSignal.any([signal, this.#closing.signal]));
  }

  #changed(name: string): void {
    const output = this.#output(name);
    this.#deps.memory.update(output.slot.record);
    this.#deps.memory.keepUnanswered(name, output.slot.unanswered);
    this.#safeStates.update(output.slot);
    output.update();
    if (output.slot.record.offSinceMs !== undefined) this.#retry('actuators/interlocked');
    for (const listener of this.#listeners) {
      try {
        listener(output.state);
      } catch (error) {
        // It must not turn a movement into a failure.
        this.#deps.log.warn({ actuator: name, error: messageOf(error) }, 'an actuator was not reported');
      }
    }
  }

  #retryLater(opensInMs: number): void {
    const { clock } = this.#deps;
    const inMs = Math.min(RETRY_AFTER_MS, opensInMs);
    if (clock.monotonicMs() + inMs >= this.#retriesAtMs || this.#closing.signal.aborted) return;
    this.#cancelRetry();
    this.#retriesAtMs = clock.monotonicMs() + inMs;
    this.#cancelRetry = clock.after(inMs, () => {
      this.#retriesAtMs = Number.POSITIVE_INFINITY;
      this.#retry();
    });
  }

  /** Outputs whose wish waits at a gate pass one at a time, in the order of the file; with a code, what waits for that alone. */
  #retry(code?: string): void {
    for (const output of this.#outputs.values()) output.retry(code);
  }

  #output(name: string): Output {
    const output = this.#outputs.get(name);
    if (output === undefined) throw unknownActuator(name, this.#outputs.keys());
    return output;
  }
}
