/**
 * One actuator: its movements one after the other, each within its deadline, each read back where the hardware can be asked.
 * A safe state does not queue: it ends the movement under way and goes first.
 */
import { AgentError, type ErrorCode, hasCode, messageOf } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import { type ActuatorDriver, type ActuatorSettings, type ActuatorState, type ActuatorValue, isActive, type Writer } from './actuator.ts';
import { historyAfter, type SwitchHistory } from './actuator-limits.ts';

export interface ActuatorSlotDeps {
  readonly settings: ActuatorSettings;
  readonly driver: ActuatorDriver;
  readonly clock: Clock;
  readonly history: SwitchHistory;
  readonly onChange: () => void;
}

export interface Movement {
  readonly value: ActuatorValue;
  readonly by: Writer;
  /** Goes before whatever is under way. */
  readonly urgent?: boolean;
}

/** How long an urgent movement waits for the one that it ended to let go of the hardware. */
const LETTING_GO_MS = 200;

export class ActuatorSlot {
  readonly settings: ActuatorSettings;
  readonly #deps: ActuatorSlotDeps;
  /** Counts finished movements: whoever remembers it knows whether someone else has moved since. */
  movements = 0;
  pulsing = false;
  history: SwitchHistory;
  #value: ActuatorValue | undefined;
  #planned: ActuatorValue[] = [];
  #desired: ActuatorValue | undefined;
  #by: Writer | undefined;
  #fault: string | undefined;
  #last: Promise<void> = Promise.resolve();
  #underWay = new AbortController();

  constructor(deps: ActuatorSlotDeps) {
    this.#deps = deps;
    this.settings = deps.settings;
    this.history = deps.history;
  }

  get state(): ActuatorState {
    const { name } = this.settings;
    return { name, value: this.#value, desired: this.#desired, by: this.#by, pulsing: this.pulsing, fault: this.#fault };
  }

  /** The value it will have when everything under way has succeeded. */
  get expected(): ActuatorValue | undefined {
    return this.#planned.at(-1) ?? this.#value;
  }

  /** Whether it is, may be, or is about to be active. */
  get maybeActive(): boolean {
    return this.#value === undefined || isActive(this.#value) || this.#planned.some(isActive);
  }

  get readable(): boolean {
    return this.#deps.driver.read !== undefined;
  }

  /** Asks the hardware. Undefined when it cannot be asked or does not answer. */
  async refresh(signal: AbortSignal): Promise<ActuatorValue | undefined> {
    const { read } = this.#deps.driver;
    if (read === undefined) return this.#value;
    try {
      const value = await this.#withinDeadline((readSignal) => read(readSignal), signal);
      if (this.#planned.length === 0) this.#learn(value, undefined);
      return value;
    } catch (error) {
      if (this.#planned.length === 0) this.#learn(undefined, messageOf(error));
      return undefined;
    }
  }

  /** Claims the value at once, then moves in turn. @throws AgentError `actuators/not-moved` or the driver's own (retry). */
  move(movement: Movement, signal: AbortSignal): Promise<void> {
    const before = this.#last;
    if (movement.urgent === true) {
      this.#underWay.abort();
      this.#underWay = new AbortController();
    }
    const preempted = this.#underWay.signal;
    this.#planned.push(movement.value);
    const moving = this.#moveAfter(before, movement, { signal: AbortSignal.any([signal, preempted]), preempted });
    this.#last = moving.catch(() => {});
    return moving;
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    await this.#last;
  }

  async close(): Promise<void> {
    await this.#deps.driver.close();
  }

  async #moveAfter(
    before: Promise<void>,
    movement: Movement,
    { signal, preempted }: { readonly signal: AbortSignal; readonly preempted: AbortSignal },
  ): Promise<void> {
    const { driver, clock } = this.#deps;
    const { value, by } = movement;
    const goOn = (): void => {
      if (preempted.aborted) throw this.#ended('actuators/overridden', 'a safe state went first');
      if (signal.aborted) throw this.#ended('actuators/given-up', 'whoever asked has given up');
    };
    try {
      if (movement.urgent === true) await Promise.race([before, clock.sleep(LETTING_GO_MS, signal)]);
      else await before;
      goOn();
      await this.#withinDeadline((moveSignal) => driver.write(value, moveSignal), signal);
      goOn();
      this.history = historyAfter(this.history, this.#value, value, clock.monotonicMs());
      this.movements += 1;
      this.#desired = value;
      this.#by = by;
      this.#learn(value, undefined);
      const shown = await this.#readBack(signal);
      if (shown !== undefined && shown !== value) {
        this.#learn(shown, `shows ${String(shown)}, was set to ${String(value)}`);
        throw new AgentError('actuators/not-moved', `${this.settings.name} shows ${String(shown)} after it was set to ${String(value)}`, {
          recovery: 'retry',
        });
      }
    } catch (error) {
      // An aborted movement knows nothing: the one that ended it does.
      if (!signal.aborted && !hasCode(error, 'actuators/not-moved')) this.#learn(await this.#readBack(signal), messageOf(error));
      throw error;
    } finally {
      this.#planned.splice(this.#planned.indexOf(value), 1);
      this.#deps.onChange();
    }
  }

  /** What the hardware shows after a movement; undefined when it cannot be asked. */
  async #readBack(signal: AbortSignal): Promise<ActuatorValue | undefined> {
    const { read } = this.#deps.driver;
    if (read === undefined || signal.aborted) return undefined;
    return await this.#withinDeadline((readSignal) => read(readSignal), signal).catch(() => undefined);
  }

  async #withinDeadline<T>(act: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    const { name, deadlineMs } = this.settings;
    const ended = new AbortController();
    let cancel = (): void => {};
    const deadline = new Promise<never>((_resolve, reject) => {
      const end = (): void => {
        reject(new AgentError('actuators/deadline-passed', `${name} did not answer within ${deadlineMs} ms`, { recovery: 'retry' }));
        ended.abort();
      };
      cancel = this.#deps.clock.after(deadlineMs, end);
    });
    try {
      return await Promise.race([act(AbortSignal.any([signal, ended.signal])), deadline]);
    } finally {
      cancel();
    }
  }

  #ended(code: ErrorCode, why: string): AgentError {
    return new AgentError(code, `${this.settings.name}: ${why}`, { recovery: 'drop' });
  }

  #learn(value: ActuatorValue | undefined, fault: string | undefined): void {
    this.#value = value;
    this.#fault = fault;
  }
}
