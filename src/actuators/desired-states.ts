/** What each actuator was last told, and when it switched: kept across restarts for restoring and for the limits on times. */
import type { Clock } from '../host/clock.ts';
import { isJsonObject, type JsonObject } from '../host/json.ts';
import type { StateFile } from '../host/state-file.ts';
import type { ActuatorValue } from './actuator.ts';
import type { SwitchHistory } from './actuator-limits.ts';

export interface DesiredState {
  readonly value: ActuatorValue | undefined;
  readonly history: SwitchHistory;
  /** A silence of the platform has set another state since, and is not known to have ended. */
  readonly isSilenced?: boolean;
}

export const DESIRED_STATES_FORMAT = { format: 'turnstone/actuators', version: 1 } as const;

export class DesiredStates {
  readonly #file: StateFile;
  readonly #clock: Clock;
  readonly #states: Map<string, DesiredState>;
  /** Of those that are not in `#states`. */
  readonly #otherwise: DesiredState | undefined;

  private constructor(file: StateFile, clock: Clock, states: Map<string, DesiredState>) {
    this.#file = file;
    this.#clock = clock;
    this.#states = states;
    // What was lost may have happened just now.
    if (file.isLost) this.#otherwise = { value: undefined, history: { changedAtMs: clock.monotonicMs(), switchedOnAtMs: [] } };
  }

  static async open(file: StateFile, clock: Clock): Promise<DesiredStates> {
    const json = await file.read();
    const states = new Map<string, DesiredState>();
    // What is not the last of it may be the opposite of what was wished last.
    if (!file.isLost && json !== undefined && isJsonObject(json.actuators)) {
      const sameBoot = json.bootId === clock.bootId;
      for (const [name, state] of Object.entries(json.actuators)) if (isJsonObject(state)) states.set(name, stateOf(state, sameBoot));
    }
    return new DesiredStates(file, clock, states);
  }

  get(name: string): DesiredState | undefined {
    return this.#states.get(name) ?? this.#otherwise;
  }

  /** In memory at once, on disk soon; no movement waits for it. */
  set(name: string, state: DesiredState): void {
    this.#states.set(name, state);
    const actuators = Object.fromEntries([...this.#states].map(([key, state]) => [key, stateAsJson(state)]));
    this.#file.save({ bootId: this.#clock.bootId, actuators });
  }

  /** Resolves when what was set is durable, or could not be made so. Idempotent. */
  close(): Promise<void> {
    return this.#file.close();
  }
}

function stateAsJson({ value, history, isSilenced = false }: DesiredState): JsonObject {
  return {
    ...(value === undefined ? {} : { value }),
    ...(history.changedAtMs === undefined ? {} : { changedAtMs: history.changedAtMs }),
    switchedOnAtMs: history.switchedOnAtMs,
    ...(isSilenced ? { isSilenced } : {}),
  };
}

function stateOf(json: JsonObject, sameBoot: boolean): DesiredState {
  const { value, changedAtMs, switchedOnAtMs } = json;
  const known = typeof value === 'boolean' || typeof value === 'number' || typeof value === 'string' ? value : undefined;
  const switchedOn = Array.isArray(switchedOnAtMs) ? switchedOnAtMs.filter((atMs) => typeof atMs === 'number') : [];
  // How long before this boot it was nobody knows: everything counts as switched at its start, as often as it was.
  const silenced = json.isSilenced === true ? { isSilenced: true } : {};
  if (!sameBoot) return { value: known, history: { changedAtMs: 0, switchedOnAtMs: switchedOn.map(() => 0) }, ...silenced };
  const history = { changedAtMs: typeof changedAtMs === 'number' ? changedAtMs : undefined, switchedOnAtMs: switchedOn };
  return { value: known, history, ...silenced };
}
