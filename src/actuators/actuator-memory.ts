/** What of each actuator outlives the process: its last wish and its switching on the card, a pulse under way in the run folder. */
import { type ActuatorValue, hasMemory } from './actuator.ts';
import type { SwitchHistory } from './actuator-limits.ts';
import type { ActuatorSlot } from './actuator-slot.ts';
import type { DesiredStates } from './desired-states.ts';
import type { PulseMarks } from './pulse-marks.ts';

export interface ActuatorMemoryDeps {
  readonly desired: DesiredStates;
  readonly pulseMarks: PulseMarks;
}

const NO_HISTORY: SwitchHistory = { changedAtMs: undefined, switchedOnAtMs: [] };

export class ActuatorMemory {
  readonly #deps: ActuatorMemoryDeps;
  /** Whose mark is to be removed at the end of a pulse, of this process or an earlier one. */
  readonly #marked: Set<string>;

  constructor(deps: ActuatorMemoryDeps) {
    this.#deps = deps;
    this.#marked = new Set(deps.pulseMarks.left);
  }

  historyOf(name: string): SwitchHistory {
    return this.#deps.desired.get(name)?.history ?? NO_HISTORY;
  }

  /** What was wished last; undefined when nothing was, or nothing is kept. */
  wishOf(name: string): ActuatorValue | undefined {
    return this.#deps.desired.get(name)?.value;
  }

  /** Whether an earlier process ended in the middle of a pulse. */
  wasPulsing(name: string): boolean {
    return this.#deps.pulseMarks.left.has(name);
  }

  /** Before the movement; nothing is waited for. */
  pulseBegins(name: string): void {
    this.#marked.add(name);
    this.#deps.pulseMarks.set(name);
  }

  /** Somebody wanted this. A pulse and a safe state are no wish: what was wished before stays. */
  wished(slot: ActuatorSlot, value: ActuatorValue | undefined): void {
    if (hasMemory(slot.settings)) this.#deps.desired.set(slot.settings.name, { value, history: slot.history });
  }

  /** To be told of every change. */
  update(slot: ActuatorSlot): void {
    const { name } = slot.settings;
    if (!slot.pulsing && this.#marked.delete(name)) this.#deps.pulseMarks.remove(name);
    if (slot.history !== this.historyOf(name)) this.wished(slot, this.wishOf(name));
  }

  async flush(): Promise<void> {
    await Promise.all([this.#deps.desired.flush(), this.#deps.pulseMarks.flush()]);
  }
}
