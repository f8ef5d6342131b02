/**
 * The durable file of all outputs: the slots of each, and when it switched. Within one boot an output finds its slots as they were. After a
 * reboot it finds what an operator left, the limit, and its switching, which counts as done when the boot began. What no longer counts is
 * taken out of the file an hour after the last switching on: after a reboot nobody could tell how long ago it was.
 */
import type { Clock } from '../host/clock.ts';
import { given } from '../host/given.ts';
import { isJsonObject, type JsonObject } from '../host/json.ts';
import type { StateFile } from '../host/state-file.ts';
import { SWITCHES_COUNT_MS } from './actuator-limits.ts';
import { type FormerFiles, takenOver } from './former-files.ts';
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
    // What is not the last of it may be the opposite of what was wished last.
    const outputs = !file.isLost && isJsonObject(json?.outputs) ? Object.entries(json.outputs) : [];
    this.#states = new Map(outputs.flatMap(([name, one]) => (isJsonObject(one) ? [[name, stateOf(one, this.isSameBoot, clock)]] : [])));
    const keptLostAtMs = typeof json?.lostAtMs === 'number' ? (this.isSameBoot ? json.lostAtMs : 0) : undefined;
    this.lostAtMs = file.isLost ? clock.monotonicMs() : keptLostAtMs;
  }

  /** Takes over the files of the release before, where this one has none yet. */
  static async open(file: StateFile, clock: Clock, former?: FormerFiles): Promise<OutputFile> {
    const own = await file.read();
    const json = own ?? (file.isLost || former === undefined ? undefined : await takenOver(former));
    const outputs = new OutputFile(file, clock, json);
    // The next process would find nothing lost, nor anything to take over.
    if ((file.isLost && !file.liesUnread) || (own === undefined && json !== undefined)) outputs.#save();
    else outputs.#forgetLater(outputs.#told);
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
    if (!this.#isClosed && this.#states.size > 0) {
      this.#isClosed = true;
      this.#save();
      this.#cancelForgetting();
    }
    return this.#file.close();
  }

  #save(): void {
    const nowMs = this.#clock.monotonicMs();
    const outputs = Object.fromEntries([...this.#states].map(([name, state]) => [name, stateAsJson(state, this.#clock)]));
    const lostAtMs = this.lostAtMs !== undefined && nowMs - this.lostAtMs < SWITCHES_COUNT_MS ? this.lostAtMs : undefined;
    this.#file.save(given({ bootId: this.#clock.bootId, outputs, lostAtMs, isClosed: this.#isClosed || undefined }));
    this.#forgetLater(this.#told.filter((atMs) => nowMs - atMs < SWITCHES_COUNT_MS));
  }

  /** Times that the file tells and that count for an hour, ms since boot. */
  get #told(): number[] {
    const switchedOnAtMs = [...this.#states.values()].flatMap(({ history }) => history.switchedOnAtMs);
    return this.lostAtMs === undefined ? switchedOnAtMs : [...switchedOnAtMs, this.lostAtMs];
  }

  /** Once nothing of what the file tells counts any more. */
  #forgetLater(toldAtMs: readonly number[]): void {
    this.#cancelForgetting();
    const inMs = Math.max(...toldAtMs) + SWITCHES_COUNT_MS - this.#clock.monotonicMs();
    if (toldAtMs.length > 0) this.#cancelForgetting = this.#clock.after(Math.max(0, inMs), () => this.#save());
  }
}
