/**
 * The one door to every actuator. Whoever wants to move something passes: lockout → value → times → interlocks → the hardware.
 * The last writer owns. Safe states pass none of the gates and wait for nothing, no disk and no queue.
 *
 *   rpc ─┐
 *   shared ─┤→ set / pulse → gates → ActuatorSlot → driver → read back → onState
 *   rule ─┘                   safe state ↗
 */
import { AgentError, messageOf } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import { type ActuatorDriver, type ActuatorSettings, type ActuatorState, type ActuatorValue, isActive, type Writer } from './actuator.ts';
import { checkPulse, checkTimes, checkValue } from './actuator-limits.ts';
import type { ActuatorMemory } from './actuator-memory.ts';
import { ActuatorSlot } from './actuator-slot.ts';
import { checkInterlocks } from './interlocks.ts';
import { LongestOn } from './longest-on.ts';
import { watchContact } from './no-contact.ts';
import { type PulseRequest, pulse } from './pulse.ts';
import { SafeStateSetter } from './safe-states.ts';

export interface ActuatorControlDeps {
  readonly actuators: readonly { readonly settings: ActuatorSettings; readonly driver: ActuatorDriver }[];
  readonly memory: ActuatorMemory;
  /** Whether someone works on the machine. */
  readonly locked: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** How soon a refused restoring is tried again. */
const RESTORE_AGAIN_AFTER_MS = 10_000;
/** Who is stopped by lockout; a person on site holds the key. */
const REMOTE: ReadonlySet<Writer> = new Set(['rpc', 'shared', 'rule', 'restore']);

export class ActuatorControl {
  readonly #deps: ActuatorControlDeps;
  readonly #slots: ReadonlyMap<string, ActuatorSlot>;
  readonly #found = new Map<string, ActuatorValue | undefined>();
  readonly #listeners = new Set<(state: ActuatorState) => void>();
  readonly #longestOn: LongestOn;
  readonly #safeStates: SafeStateSetter;
  readonly #closing = new AbortController();
  readonly #contact: ReturnType<typeof watchContact>;
  #closed: Promise<void> | undefined;

  private constructor(deps: ActuatorControlDeps) {
    this.#deps = deps;
    const { clock } = deps;
    this.#slots = new Map(
      deps.actuators.map(({ settings, driver }) => {
        const history = deps.memory.historyOf(settings.name);
        return [settings.name, new ActuatorSlot({ settings, driver, clock, history, onChange: () => this.#changed(settings.name) })];
      }),
    );
    const settings = deps.actuators.map((actuator) => actuator.settings);
    this.#contact = watchContact({
      settings,
      clock,
      onLost: (name, value) => void this.#safeStates.set(this.#slot(name), value, 'no contact'),
    });
    this.#safeStates = new SafeStateSetter({ clock, log: deps.log, closing: this.#closing.signal });
    this.#longestOn = new LongestOn({ clock, switchOff: (slot, value) => void this.#safeStates.set(slot, value, 'longest time on') });
  }

  /** Looks at what the hardware shows, then restores or sets the safe states for start. An actuator that does not answer is reported, not fatal. */
  static async open(deps: ActuatorControlDeps, signal: AbortSignal): Promise<ActuatorControl> {
    const control = new ActuatorControl(deps);
    const slots = [...control.#slots.values()];
    await Promise.all(slots.map((slot) => control.#look(slot, signal)));
    await Promise.all(slots.filter((slot) => !control.#isRestored(slot)).map((slot) => control.#setStart(slot)));
    for (const slot of slots.filter((each) => control.#isRestored(each))) await control.#restore(slot, signal);
    return control;
  }

  /** Moves, and gives the state read back. @throws AgentError `actuators/…` that says which gate was closed, or what failed. */
  async set(name: string, value: unknown, options: { readonly by: Writer }, signal: AbortSignal): Promise<ActuatorState> {
    const slot = this.#slot(name);
    const checked = this.check(name, value, options.by);
    await slot.move({ value: checked, by: options.by }, AbortSignal.any([signal, this.#closing.signal]));
    this.#deps.memory.wished(slot, checked);
    if (slot.pulsing) {
      slot.pulsing = false;
      this.#changed(name);
    }
    return slot.state;
  }

  /** Whether `set` would pass the gates now. @throws AgentError as `set` does. */
  check(name: string, value: unknown, by: Writer): ActuatorValue {
    const slot = this.#slot(name);
    if (this.#closing.signal.aborted) throw new AgentError('actuators/closing', 'the agent is stopping', { recovery: 'drop' });
    if (REMOTE.has(by) && this.#deps.locked())
      throw new AgentError('actuators/locked-out', `${name} is not moved: the machine is locked out`, { recovery: 'hold' });
    const checked = checkValue(slot.settings, value);
    const { settings, history, expected } = slot;
    checkTimes({ settings, current: expected, history, nowMs: this.#deps.clock.monotonicMs() }, checked);
    if (isActive(checked)) checkInterlocks(slot, this.#slots.values());
    return checked;
  }

  /**
   * Switches on, and off again after `durationMs`. Resolves when it has ended, or for pulses over a second when it has begun.
   * The end comes whatever happens to the caller; after a kill the safe states for crash and start take its place.
   */
  async pulse(name: string, { durationMs, by }: PulseRequest, signal: AbortSignal): Promise<ActuatorState> {
    const slot = this.#slot(name);
    this.checkPulse(name, durationMs, by);
    this.#deps.memory.pulseBegins(name);
    await pulse(slot, { durationMs, by }, { clock: this.#deps.clock, log: this.#deps.log, closing: this.#closing.signal }, signal);
    return slot.state;
  }

  /** Whether `pulse` would pass the gates now. @throws AgentError as `pulse` does. */
  checkPulse(name: string, durationMs: number, by: Writer): void {
    const slot = this.#slot(name);
    checkPulse(slot.settings, slot.expected, durationMs);
    this.check(name, true, by);
  }

  /** @throws AgentError `actuators/unknown` (drop). */
  state(name: string): ActuatorState {
    return this.#slot(name).state;
  }

  states(): readonly ActuatorState[] {
    return [...this.#slots.values()].map((slot) => slot.state);
  }

  settings(name: string): ActuatorSettings {
    return this.#slot(name).settings;
  }

  /** Asks the hardware where it can be asked. */
  async read(name: string, signal: AbortSignal): Promise<ActuatorState> {
    const slot = this.#slot(name);
    const before = slot.state.value;
    await slot.refresh(signal);
    if (slot.state.value !== before) this.#changed(name);
    return slot.state;
  }

  /** What the hardware showed when this process began, before anything was set; undefined when it could not be asked. */
  foundAtStart(name: string): ActuatorValue | undefined {
    return this.#found.get(name);
  }

  /** How many movements there have been: whoever remembers it knows whether someone else has written since. */
  movements(name: string): number {
    return this.#slot(name).movements;
  }

  /** Calls back whenever a state may have changed, until the returned function is called. */
  onState(listener: (state: ActuatorState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The platform has just been heard. */
  contact(): void {
    this.#contact.heard();
  }

  /** Ends pulses, sets the safe states for stop and gives the hardware back. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    this.#contact.close();
    this.#longestOn.close();
    await Promise.all(
      [...this.#slots.values()].map(async (slot) => {
        const { stop } = slot.settings.safe;
        const value = stop ?? (slot.pulsing ? false : undefined);
        if (value !== undefined) await this.#safeStates.set(slot, value, 'stop');
        await slot.close().catch((error: unknown) => this.#warn(slot, 'was not closed', error));
      }),
    );
    await this.#deps.memory.flush();
  }

  async #look(slot: ActuatorSlot, signal: AbortSignal): Promise<void> {
    this.#found.set(slot.settings.name, slot.readable ? await slot.refresh(signal) : undefined);
  }

  async #setStart(slot: ActuatorSlot): Promise<void> {
    const { name, safe } = slot.settings;
    const start = safe.start ?? (this.#deps.memory.wasPulsing(name) ? false : undefined);
    if (start !== undefined) await this.#safeStates.set(slot, start, 'start');
  }

  /** Not under lockout: nothing begins to run because a gateway restarts while someone works on the machine. */
  #isRestored({ settings }: ActuatorSlot): boolean {
    return settings.restore && this.#deps.memory.wishOf(settings.name) !== undefined && !this.#deps.locked();
  }

  /** Through the same gates as everyone. What a gate forbids for now (a compressor's least time off) is tried again until someone else writes. */
  async #restore(slot: ActuatorSlot, signal: AbortSignal): Promise<void> {
    const { name } = slot.settings;
    try {
      await this.set(name, this.#deps.memory.wishOf(name), { by: 'restore' }, signal);
    } catch (error) {
      this.#warn(slot, 'was not restored', error);
      await this.#setStart(slot);
      if (!(error instanceof AgentError) || error.recovery !== 'retry') return;
      const { movements } = slot;
      void this.#deps.clock.sleep(RESTORE_AGAIN_AFTER_MS, this.#closing.signal).then(async () => {
        if (slot.movements === movements && !this.#closing.signal.aborted) await this.#restore(slot, this.#closing.signal);
      });
    }
  }

  #changed(name: string): void {
    const slot = this.#slot(name);
    this.#longestOn.update(slot);
    this.#deps.memory.update(slot);
    for (const listener of this.#listeners) this.#tell(listener, slot);
  }

  /** Whoever listens badly must not turn a movement into a failure. */
  #tell(listener: (state: ActuatorState) => void, slot: ActuatorSlot): void {
    try {
      listener(slot.state);
    } catch (error) {
      this.#warn(slot, 'was not reported', error);
    }
  }

  #slot(name: string): ActuatorSlot {
    const slot = this.#slots.get(name);
    if (slot === undefined) throw new AgentError('actuators/unknown', `there is no actuator ${name.slice(0, 64)}`, { recovery: 'drop' });
    return slot;
  }

  #warn(slot: ActuatorSlot, what: string, error: unknown): void {
    this.#deps.log.warn({ actuator: slot.settings.name, error: messageOf(error) }, `an actuator ${what}`);
  }
}
