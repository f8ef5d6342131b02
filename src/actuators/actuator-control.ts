/**
 * The one way to every actuator. Whoever wants to move something passes: lockout → value → times → interlocks → the hardware.
 * The last writer owns. What switches off passes lockout and interlocks and waits for nothing, no disk and no queue; safe states pass all but
 * the interlocks. Every gate reads the pin's record, and claims it in the same breath.
 *
 *   rpc ─┐
 *   shared ─┤→ set / pulse → gates → claim → (mark) → ActuatorSlot → driver → read back → record → onState
 *   rule ─┘        safe states, off times ↗
 */
import { AgentError, messageOf } from '../errors.ts';
import { endedWithin } from '../host/bounded-wait.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import { type ActuatorDriver, type ActuatorSettings, type ActuatorState, type ActuatorValue, isActive, type Writer } from './actuator.ts';
import { checkPulse, checkPulseOver } from './actuator-limits.ts';
import type { ActuatorMemory } from './actuator-memory.ts';
import { ActuatorSlot, type Movement } from './actuator-slot.ts';
import { disabledExcluder, excluderOf, Gates } from './gates.ts';
import { ContactWatch } from './no-contact.ts';
import { OffTimes } from './off-times.ts';
import { PinRecord } from './pin-record.ts';
import { type PulseRequest, pulse } from './pulse.ts';
import { SafeStates } from './safe-states.ts';
import { setStartStates, stopValue } from './start-and-stop.ts';

export interface ActuatorControlDeps {
  readonly actuators: readonly { readonly settings: ActuatorSettings; readonly driver: ActuatorDriver }[];
  /** Those that the configuration has disabled: they exclude, and are never moved. */
  readonly disabled?: readonly ActuatorSettings[];
  readonly memory: ActuatorMemory;
  /** Whether someone works on the machine. */
  readonly locked: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
  /** An actuator that is not as it has to be, for a person to know; undefined takes it back. */
  readonly onAlarm?: (actuator: string, message: string | undefined) => void;
}

/** For hardware that is still being opened, and for what is remembered on a disk that may hang. */
const CLOSE_WITHIN_MS = 2_000;
/** A longest time on does not wait longer for hardware that may say that it is off. */
const LOOK_WITHIN_MS = 5_000;

export class ActuatorControl {
  /** To be told whenever the platform is heard. */
  readonly contact: ContactWatch;
  readonly #deps: ActuatorControlDeps;
  readonly #slots: ReadonlyMap<string, ActuatorSlot>;
  readonly #records: readonly PinRecord[];
  readonly #gates: Gates;
  readonly #found = new Map<string, ActuatorValue | undefined>();
  readonly #listeners = new Set<(state: ActuatorState) => void>();
  readonly #offTimes: OffTimes;
  readonly #safeStates: SafeStates;
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;

  private constructor(deps: ActuatorControlDeps) {
    this.#deps = deps;
    const { clock, log, memory, onAlarm = () => {} } = deps;
    this.#slots = new Map(deps.actuators.map(({ settings, driver }) => [settings.name, this.#newSlot(settings, driver)]));
    this.#records = [...this.#slots.values()].map(({ record }) => record);
    const excluders = [...this.#records, ...(deps.disabled ?? []).map(disabledExcluder)];
    this.#gates = new Gates({ records: excluders, locked: deps.locked, closing: this.#closing.signal, clock });
    this.#safeStates = new SafeStates({
      ...{ clock, log, onAlarm },
      move: async (slot, movement) => {
        this.#gates.permit(slot.record, movement.value, 'safe-state');
        await this.#move(slot, movement, this.#closing.signal);
      },
      excluderOf: (pin) => excluderOf(pin, excluders),
    });
    this.#offTimes = new OffTimes({ clock, memory, safeStates: this.#safeStates });
    this.contact = new ContactWatch({ slots: [...this.#slots.values()], clock, memory, safeStates: this.#safeStates });
  }

  /** Looks at what the hardware shows, then restores or sets the states for start. What does not answer is waited for a few seconds at most. */
  static async open(deps: ActuatorControlDeps, signal: AbortSignal): Promise<ActuatorControl> {
    const control = new ActuatorControl(deps);
    const slots = [...control.#slots.values()];
    const looks = new Map(slots.map((slot) => [slot, control.#look(slot, signal)]));
    const looked = async (slot: ActuatorSlot): Promise<void> => await looks.get(slot);
    void Promise.all(looks.values()).then(() => deps.memory.lookedAtAll());
    const { memory, locked, clock, log } = deps;
    const restore = async (slot: ActuatorSlot, value: ActuatorValue): Promise<void> =>
      void (await control.set(slot.settings.name, value, { by: 'restore' }, signal));
    await setStartStates(slots, {
      ...{ memory, locked, clock, log, restore, looked },
      ...{ safeStates: control.#safeStates, closing: control.#closing.signal },
    });
    return control;
  }

  /** Moves, and gives the state read back. @throws AgentError `actuators/…` that says which gate was closed, or what failed. */
  async set(name: string, value: unknown, options: { readonly by: Writer }, signal: AbortSignal): Promise<ActuatorState> {
    const slot = this.#slot(name);
    const checked = this.check(name, value, options.by);
    // Off is wanted from here on, whether or not the hardware takes it at once.
    if (!isActive(checked)) this.#deps.memory.wished(slot.record, checked);
    await this.#move(slot, { value: checked, by: options.by }, signal);
    if (isActive(checked)) this.#deps.memory.wished(slot.record, checked);
    return slot.record.state;
  }

  /** Whether `set` would pass the gates now. @throws AgentError as `set` does. */
  check(name: string, value: unknown, by: Writer): ActuatorValue {
    return this.#gates.check(this.#slot(name).record, value, by);
  }

  /**
   * Switches on, and off again after `durationMs`. Resolves when it has ended, or for pulses over a second when it has begun.
   * The end comes whatever happens to the caller; after a kill the stop hook and the next start take its place.
   */
  async pulse(name: string, { durationMs, by }: PulseRequest, signal: AbortSignal): Promise<ActuatorState> {
    const slot = this.#slot(name);
    this.checkPulse(name, durationMs, by);
    const move = (movement: Movement): Promise<void> => this.#move(slot, movement, signal);
    const switchOff = (): Promise<void> => this.#safeStates.set(slot, false, 'end of a pulse', by);
    await pulse(slot, { durationMs, by }, { move, switchOff, closing: this.#closing.signal });
    return slot.record.state;
  }

  /** Whether `pulse` would pass the gates now. @throws AgentError as `pulse` does. */
  checkPulse(name: string, durationMs: number, by: Writer): void {
    const slot = this.#slot(name);
    checkPulse(slot.record, durationMs);
    this.check(name, true, by);
  }

  /** @throws AgentError `actuators/unknown` (drop). */
  state(name: string): ActuatorState {
    return this.#slot(name).record.state;
  }

  states(): readonly ActuatorState[] {
    return this.#records.map(({ state }) => state);
  }

  settings(name: string): ActuatorSettings {
    return this.#slot(name).settings;
  }

  /** Asks the hardware where it can be asked. */
  async read(name: string, signal: AbortSignal): Promise<ActuatorState> {
    const slot = this.#slot(name);
    await slot.refresh(signal);
    return slot.record.state;
  }

  /** What the hardware showed when this process began, before anything was set; undefined when it could not be asked. */
  foundAtStart(name: string): ActuatorValue | undefined {
    return this.#found.get(name);
  }

  /** How many writes there have been: whoever remembers it knows whether someone else has written since. */
  movements(name: string): number {
    return this.#slot(name).record.writes;
  }

  /** How often a rule's word was overruled; 0 for what there is not. */
  overrulings(name: string): number {
    return this.#slots.get(name)?.record.overrulings ?? 0;
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
    this.contact.close();
    this.#offTimes.close();
    this.#safeStates.close();
    const slots = [...this.#slots.values()];
    await this.#safeStates.setAll(slots.flatMap(stopValue), 'stop');
    const given = slots.map((slot) => slot.close().catch((error: unknown) => this.#warn(slot.settings.name, 'was not closed', error)));
    await endedWithin(this.#deps.clock, CLOSE_WITHIN_MS, Promise.all([...given, this.#deps.memory.close()]));
  }

  #newSlot(settings: ActuatorSettings, driver: ActuatorDriver): ActuatorSlot {
    const { clock, memory } = this.#deps;
    const { name } = settings;
    const past = { history: memory.lastOf(name).history, lostAtMs: memory.lostAtMs, left: memory.leftMark(settings) };
    const record = new PinRecord({ settings, clock, ...past });
    const onDue = (): void => this.#offTimes.update(this.#slot(name));
    return new ActuatorSlot({ record, driver, clock, onChange: () => this.#changed(name), onDue });
  }

  async #look(slot: ActuatorSlot, signal: AbortSignal): Promise<void> {
    const { name } = slot.settings;
    const closing = this.#closing.signal;
    const cancel = this.#deps.clock.after(LOOK_WITHIN_MS, () => this.#offTimes.update(slot));
    const shown = slot.readable ? await slot.refresh(AbortSignal.any([signal, closing])) : undefined;
    cancel();
    if (closing.aborted) return;
    // Not once something was set.
    this.#found.set(name, slot.record.writes === 0 ? shown : undefined);
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
    const kept = movement.pulse === undefined ? movement : { ...movement, keep };
    await slot.move({ ...kept, permit }, AbortSignal.any([signal, this.#closing.signal]));
  }

  #changed(name: string): void {
    const slot = this.#slot(name);
    this.#deps.memory.update(slot.record);
    this.#offTimes.update(slot);
    this.#safeStates.update(slot);
    this.contact.update(slot);
    for (const listener of this.#listeners) this.#tell(listener, slot);
  }

  /** Whoever listens badly must not turn a movement into a failure. */
  #tell(listener: (state: ActuatorState) => void, slot: ActuatorSlot): void {
    try {
      listener(slot.record.state);
    } catch (error) {
      this.#warn(slot.settings.name, 'was not reported', error);
    }
  }

  #slot(name: string): ActuatorSlot {
    const slot = this.#slots.get(name);
    if (slot === undefined) throw new AgentError('actuators/unknown', `there is no actuator ${name.slice(0, 64)}`, { recovery: 'drop' });
    return slot;
  }

  #warn(actuator: string, what: string, error: unknown): void {
    this.#deps.log.warn({ actuator, error: messageOf(error) }, `an actuator ${what}`);
  }
}
