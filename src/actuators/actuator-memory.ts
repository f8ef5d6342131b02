/**
 * Memory of each pin that outlives the process: its slots and its switching on the card, that it must be switched off in the run folder, and for
 * what does not fall with this board's power on the card as well.
 */
import { messageOf, retryable } from '../errors/agent-error.ts';
import type { SwitchHistory } from './actuator-limits.ts';
import type { KeptPulses } from './kept-pulses.ts';
import { type ActuatorSettings, type ActuatorValue, isSettled } from './kind/actuator.ts';
import type { OutputFile } from './output-file.ts';
import { NO_HISTORY } from './output-json.ts';
import type { PinRecord } from './pin-record.ts';
import { NOT_UNDERSTOOD, type OnMark, type PulseMarks } from './pulse-marks.ts';

export interface ActuatorMemoryDeps {
  readonly outputs: OutputFile;
  readonly pulseMarks: PulseMarks;
  /** Default: nothing has a supply of its own. */
  readonly keptPulses?: KeptPulses;
}

export class ActuatorMemory {
  readonly outputs: OutputFile;
  readonly #deps: ActuatorMemoryDeps;
  /** Whose mark is there, of this process or an earlier one, and what it says; undefined where it may be there and say anything. */
  readonly #marked: Map<string, OnMark | undefined>;

  constructor(deps: ActuatorMemoryDeps) {
    this.#deps = deps;
    this.outputs = deps.outputs;
    this.#marked = new Map(deps.pulseMarks.left);
  }

  /** When it switched, as far as that is kept. */
  historyOf(name: string): SwitchHistory {
    return this.outputs.get(name)?.history ?? NO_HISTORY;
  }

  /** Keeps the value of a write without an answer, and no longer once its outcome is known. */
  keepUnanswered(name: string, unanswered: ActuatorValue | undefined): void {
    if (unanswered !== this.outputs.get(name)?.unanswered) this.outputs.set(name, { unanswered });
  }

  /** Value that the hardware has had by an earlier process of this boot; undefined for an output that is configured otherwise now. */
  hadBy({ name, version }: ActuatorSettings): ActuatorValue | undefined {
    const had = this.outputs.get(name)?.had;
    return had?.version === version ? had?.value : undefined;
  }

  /** Mark of an output that an earlier process left for this one to switch off. */
  leftMark({
    name,
    ownSupply,
    limits: { maxOnMs },
  }: Pick<ActuatorSettings, 'name' | 'ownSupply' | 'limits'>): OnMark | undefined {
    const { pulseMarks, keptPulses } = this.#deps;
    const left = pulseMarks.left.get(name);
    if (left !== undefined || ownSupply !== true) return left;
    // Within a boot the run folder has marked what goes on.
    if (pulseMarks.isFirstOfBoot && keptPulses?.wasLeft(name) === true) return NOT_UNDERSTOOD;
    // Nobody knows through how many power cuts it has been on: for longer than it may.
    return maxOnMs !== undefined && pulseMarks.isFirstOfBoot ? { sinceMs: -maxOnMs, pulse: false } : undefined;
  }

  /** Ends the doubt about earlier processes: all that is on was found so, and is marked. */
  lookedAtAll(): void {
    this.#deps.pulseMarks.lookedAtAll();
  }

  /** Before a pulse goes on: for what outlives a power cut it is on the card when this resolves. @throws as `mark`. */
  async keepPulse({ settings: { name, ownSupply } }: PinRecord): Promise<void> {
    if (ownSupply === true) await this.#deps.keptPulses?.keep(name);
  }

  /** Before it goes on. @throws AgentError `actuators/not-marked` (retry): whoever comes after this process would not know of it. */
  mark({ mark, settings: { name } }: PinRecord): void {
    const known = this.#marked.get(name);
    if (mark === undefined || known?.pulse === mark.pulse) return;
    try {
      this.#deps.pulseMarks.set(name, mark);
      this.#marked.set(name, mark);
    } catch (cause) {
      // A full folder takes the name and not what belongs into it, and an empty mark says pulse to whoever reads it.
      this.#marked.set(name, undefined);
      const message = `${name} is not switched on, as nobody would know of it after a restart: ${messageOf(cause)}`;
      throw retryable('actuators/not-marked', message, cause);
    }
  }

  /** To be told of every change. */
  update(record: PinRecord): void {
    const { name } = record.settings;
    const isDone = isSettled(record.state);
    if (record.mark?.pulse !== true && isDone) this.#deps.keptPulses?.drop(name);
    if (record.mark === undefined) {
      if (isDone && this.#marked.has(name) && this.#deps.pulseMarks.remove(name)) this.#marked.delete(name);
    } else {
      try {
        this.mark(record);
      } catch {
        // Found on, or taken over from a pulse: there is nothing to hold back any more, and the next change tries again.
      }
    }
    const { version } = record.settings;
    const { had } = record;
    if (version !== undefined && record.state.desired !== undefined && had !== this.outputs.get(name)?.had?.value)
      this.outputs.set(name, { had: had === undefined ? undefined : { value: had, version } });
    const { history } = record;
    const before = this.historyOf(name);
    const isEmpty = history.changedAtMs === undefined && history.switchedOnAtMs.length === 0;
    if (history !== before && !(isEmpty && before === NO_HISTORY)) this.outputs.set(name, { history });
  }

  /** Idempotent. */
  async close(): Promise<void> {
    await Promise.all([this.outputs.close(), this.#deps.keptPulses?.close()]);
  }
}
