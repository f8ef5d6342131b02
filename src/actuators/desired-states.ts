/**
 * What each actuator was last told, and when it switched: kept across restarts for restoring and for the limits on times. What no longer counts
 * is taken out of the file an hour after the last switching on: after a reboot nobody could tell how long ago it was.
 */
import type { Clock } from '../host/clock.ts';
import { given } from '../host/given.ts';
import { isJsonObject, type JsonObject } from '../host/json.ts';
import type { StateFile } from '../host/state-file.ts';
import type { ActuatorValue } from './actuator.ts';
import { recentSwitches, SWITCHES_COUNT_MS, type SwitchHistory } from './actuator-limits.ts';

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
  /** What was lost with the file may have happened until then. */
  readonly #lostAtMs: number | undefined;
  #cancelForgetting = (): void => {};

  private constructor(file: StateFile, clock: Clock, states: Map<string, DesiredState>, lostAtMs: number | undefined) {
    this.#file = file;
    this.#clock = clock;
    this.#states = states;
    this.#lostAtMs = lostAtMs;
  }

  static async open(file: StateFile, clock: Clock): Promise<DesiredStates> {
    const json = await file.read();
    const sameBoot = json?.bootId === clock.bootId;
    const states = new Map<string, DesiredState>();
    // What is not the last of it may be the opposite of what was wished last.
    if (!file.isLost && isJsonObject(json?.actuators))
      for (const [name, state] of Object.entries(json.actuators)) if (isJsonObject(state)) states.set(name, stateOf(state, sameBoot));
    const keptLostAtMs = typeof json?.lostAtMs === 'number' ? (sameBoot ? json.lostAtMs : 0) : undefined;
    const desired = new DesiredStates(file, clock, states, file.isLost ? clock.monotonicMs() : keptLostAtMs);
    // The next process would find nothing lost.
    if (file.isLost && !file.liesUnread) desired.#save();
    else desired.#forgetLater(desired.#told);
    return desired;
  }

  get(name: string): DesiredState | undefined {
    return this.#states.get(name);
  }

  /** Until when something may have been switched that nobody knows of, ms since boot. */
  get lostAtMs(): number | undefined {
    return this.#lostAtMs;
  }

  /** In memory at once, on disk soon; no movement waits for it. */
  set(name: string, state: DesiredState): void {
    this.#states.set(name, state);
    this.#save();
  }

  /** Resolves when what was set is durable, or could not be made so. Idempotent. */
  close(): Promise<void> {
    this.#cancelForgetting();
    return this.#file.close();
  }

  #save(): void {
    const nowMs = this.#clock.monotonicMs();
    const actuators = Object.fromEntries([...this.#states].map(([name, state]) => [name, stateAsJson(state, nowMs)]));
    const lost = this.#lostAtMs !== undefined && nowMs - this.#lostAtMs < SWITCHES_COUNT_MS ? { lostAtMs: this.#lostAtMs } : {};
    this.#file.save({ bootId: this.#clock.bootId, actuators, ...lost });
    this.#forgetLater(this.#told.filter((atMs) => nowMs - atMs < SWITCHES_COUNT_MS));
  }

  /** What the file tells and counts for an hour, ms since boot. */
  get #told(): number[] {
    const switchedOnAtMs = [...this.#states.values()].flatMap(({ history }) => history.switchedOnAtMs);
    return this.#lostAtMs === undefined ? switchedOnAtMs : [...switchedOnAtMs, this.#lostAtMs];
  }

  /** Once nothing of what the file tells counts any more. */
  #forgetLater(toldAtMs: readonly number[]): void {
    this.#cancelForgetting();
    const inMs = Math.max(...toldAtMs) + SWITCHES_COUNT_MS - this.#clock.monotonicMs();
    if (toldAtMs.length > 0) this.#cancelForgetting = this.#clock.after(Math.max(0, inMs), () => this.#save());
  }
}

function stateAsJson({ value, history, isSilenced = false }: DesiredState, nowMs: number): JsonObject {
  const { changedAtMs } = history;
  return given({ value, changedAtMs, switchedOnAtMs: recentSwitches(history, nowMs), isSilenced: isSilenced || undefined });
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
