/**
 * The durable file of all outputs: the slots of each, and when it switched. Within one boot an output finds its slots as they were. After a
 * reboot it finds what an operator left, the limit, and its switching, which counts as done when the boot began. What no longer counts is
 * taken out of the file an hour after the last switching on: after a reboot nobody could tell how long ago it was.
 */
import type { Clock } from '../host/clock.ts';
import type { StateFile } from '../store/state-file.ts';
import { isJsonObject, type JsonObject } from '../values/json.ts';
import { SWITCHES_COUNT_MS } from './actuator-limits.ts';
import { NO_HISTORY, type OutputState, stateAsJson, stateOf } from './output-json.ts';
import { EMPTY_SLOTS } from './priority-slots.ts';

export const OUTPUTS_FORMAT = { format: 'turnstone/outputs', version: 1 } as const;

export class OutputFile {
  /** True when the states are of this boot. */
  readonly isSameBoot: boolean;
  /** True when the process before has ended by itself: what it set for its stop is in the slots. */
  readonly wasClosed: boolean;
  /** Until when something may have been switched that nobody knows of, ms since boot. */
  readonly lostAtMs: number | undefined;
  readonly #file: StateFile;
  readonly #clock: Clock;
  readonly #states: Map<string, OutputState>;
  #isClosed = false;
  #cancelForgetting = (): void => {};

  private constructor(file: StateFile, clock: Clock, json: JsonObject | undefined) {
    this.#file = file;
    this.#clock = clock;
    this.isSameBoot = json?.bootId === clock.bootId;
    this.wasClosed = json?.isClosed === true;
    // A file that is not the last one may say the opposite of what was wished last.
    const outputs = !file.isLost && isJsonObject(json?.outputs) ? Object.entries(json.outputs) : [];
    const states = outputs.map(([name, one]) => [name, stateOf(one ?? null, this.isSameBoot, clock)] as const);
    this.#states = new Map(states.filter((one): one is [string, OutputState] => one[1] !== undefined));
    const lostAtMs = typeof json?.lostAtMs === 'number' ? (this.isSameBoot ? json.lostAtMs : 0) : undefined;
    this.lostAtMs = file.isLost ? clock.monotonicMs() : lostAtMs;
  }

  static async open(file: StateFile, clock: Clock): Promise<OutputFile> {
    const outputs = new OutputFile(file, clock, await file.read());
    // The next process would find nothing lost.
    if (file.isLost && !file.liesUnread) outputs.#save();
    else outputs.#forgetLater();
    return outputs;
  }

  get(name: string): OutputState | undefined {
    return this.#states.get(name);
  }

  /** In memory at once, on disk soon; no movement waits for it. */
  set(name: string, state: Partial<OutputState>): void {
    this.#states.set(name, { slots: EMPTY_SLOTS, history: NO_HISTORY, ...this.#states.get(name), ...state });
    this.#save();
  }

  /** Resolves when what was set is durable, or could not be made so. Idempotent. */
  close(): Promise<void> {
    this.#cancelForgetting();
    const isFirst = !this.#isClosed;
    this.#isClosed = true;
    if (isFirst && this.#states.size > 0) this.#save();
    return this.#file.close();
  }

  #save(): void {
    const outputs = Object.fromEntries(
      [...this.#states].map(([name, state]) => [name, stateAsJson(state, this.#clock)]),
    );
    const lostAtMs = this.#leftMs(this.lostAtMs) > 0 ? this.lostAtMs : undefined;
    this.#file.save({ bootId: this.#clock.bootId, outputs, lostAtMs, isClosed: this.#isClosed || undefined });
    this.#forgetLater();
  }

  /** Once nothing of what the file tells counts any more. */
  #forgetLater(): void {
    this.#cancelForgetting();
    const switchedOnAtMs = [...this.#states.values()].flatMap(({ history }) => history.switchedOnAtMs);
    const leftMs = Math.max(this.#leftMs(this.lostAtMs), ...switchedOnAtMs.map((atMs) => this.#leftMs(atMs)));
    if (leftMs > 0 && !this.#isClosed) this.#cancelForgetting = this.#clock.after(leftMs, () => this.#save());
  }

  #leftMs(atMs = Number.NEGATIVE_INFINITY): number {
    return atMs + SWITCHES_COUNT_MS - this.#clock.monotonicMs();
  }
}
