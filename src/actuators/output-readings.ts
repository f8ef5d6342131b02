/**
 * Readings of outputs: a point for each change of a state, and for what is on or off its operating hours and starts.
 *
 *   state changes ─► <name>State at once
 *                └─► totals ─► operating-times.json, synced ─► <name>Hours, <name>Starts
 *
 * Totals are reported once they are durable, so that no kill lets them step back; a kill loses what was counted since the last save.
 */
import { totalKeys } from '../config/keys/actuator-keys.ts';
import type { Clock } from '../host/clock.ts';
import type { TelemetryEntry } from '../outbox/outbox.ts';
import type { StateFile } from '../store/state-file.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../values/json.ts';
import { SELF } from '../values/self.ts';
import { type ActuatorState, type ActuatorValue, isActive } from './kind/actuator.ts';

export const OPERATING_TIMES_FORMAT = { format: 'turnstone/operating-times', version: 1 } as const;

export interface ReportedOutput {
  readonly name: string;
  readonly stateKey: string;
  /** The slot of an attached device. */
  readonly device?: string | undefined;
  /** True for one that is on or off: a number and a mode have no operating time. */
  readonly hasTotals: boolean;
}

export interface OutputReadingsDeps {
  readonly outputs: readonly ReportedOutput[];
  readonly file: StateFile;
  readonly clock: Clock;
  readonly report: (entries: readonly TelemetryEntry[]) => void;
  /** The id under which entries of a slot are kept, asked each time: it may become known later. Default the gateway's own. */
  readonly idOf?: ((slot: string) => string) | undefined;
}

type Report = readonly [output: ReportedOutput, key: string, value: JsonValue];

interface Totals {
  onMs: number;
  starts: number;
  /** Start of the time that is not in `onMs` yet. */
  onSinceMs: number | undefined;
  isReported: boolean;
}

/** A quick output costs the card one write in this time. */
const SAVE_EVERY_MS = 60_000;
/** While something is on its hours are saved, and reported, this often. */
const SAVE_WHILE_ON_MS = 30 * 60_000;
const HOUR_MS = 3_600_000;

export class OutputReadings {
  readonly #deps: OutputReadingsDeps;
  readonly #outputs: ReadonlyMap<string, ReportedOutput>;
  readonly #totals: Map<string, Totals>;
  readonly #shown = new Map<string, ActuatorValue>();
  #savedAtMs = Number.NEGATIVE_INFINITY;
  #saveAtMs = Number.POSITIVE_INFINITY;
  #cancelSave = (): void => {};

  private constructor(deps: OutputReadingsDeps, totals: Map<string, Totals>) {
    this.#deps = deps;
    this.#outputs = new Map(deps.outputs.map((output) => [output.name, output]));
    this.#totals = totals;
  }

  /** Goes on from the totals of earlier runs. */
  static async open(deps: OutputReadingsDeps): Promise<OutputReadings> {
    const kept = (await deps.file.read())?.outputs;
    const totals = isJsonObject(kept)
      ? Object.entries(kept).map(([name, one]): [string, Totals] => [name, totalsOf(one)])
      : [];
    return new OutputReadings(deps, new Map(totals));
  }

  /** Takes a state that may have changed. A value that is not known is no reading, and no operating time. */
  take({ name, value }: ActuatorState): void {
    const output = this.#outputs.get(name);
    if (output === undefined) return;
    const nowMs = this.#deps.clock.monotonicMs();
    const before = this.#shown.get(name);
    if (value !== undefined) {
      if (before !== value) this.#report([[output, output.stateKey, value]]);
      this.#shown.set(name, value);
    }
    if (!output.hasTotals) return;
    if (value !== undefined && isActive(value)) this.#beginTime(name, nowMs, before);
    else this.#endTime(name, nowMs);
  }

  /** Keeps what was counted. Idempotent. */
  async close(): Promise<void> {
    this.#cancelSave();
    const nowMs = this.#deps.clock.monotonicMs();
    for (const name of this.#totals.keys()) this.#endTime(name, nowMs);
    this.#cancelSave();
    if (this.#totals.size > 0) this.#deps.file.save(this.#asJson(nowMs));
    await this.#deps.file.close();
  }

  /** A state that is on as the agent begins is no start. */
  #beginTime(name: string, nowMs: number, before: ActuatorValue | undefined): void {
    const totals = this.#totals.get(name) ?? { onMs: 0, starts: 0, onSinceMs: undefined, isReported: false };
    if (totals.onSinceMs !== undefined) return;
    totals.onSinceMs = nowMs;
    if (before !== undefined && !isActive(before)) totals.starts += 1;
    this.#totals.set(name, totals);
    this.#changed(totals);
  }

  #endTime(name: string, nowMs: number): void {
    const totals = this.#totals.get(name);
    if (totals?.onSinceMs === undefined) return;
    totals.onMs += nowMs - totals.onSinceMs;
    totals.onSinceMs = undefined;
    this.#changed(totals);
  }

  #changed(totals: Totals): void {
    totals.isReported = false;
    this.#saveNoLaterThan(Math.max(this.#deps.clock.monotonicMs(), this.#savedAtMs + SAVE_EVERY_MS));
  }

  #saveNoLaterThan(atMs: number): void {
    if (atMs >= this.#saveAtMs) return;
    const { clock } = this.#deps;
    this.#cancelSave();
    this.#saveAtMs = atMs;
    this.#cancelSave = clock.after(Math.max(0, atMs - clock.monotonicMs()), () => void this.#save());
  }

  async #save(): Promise<void> {
    const { clock, file } = this.#deps;
    const nowMs = clock.monotonicMs();
    [this.#savedAtMs, this.#saveAtMs] = [nowMs, Number.POSITIVE_INFINITY];
    file.save(this.#asJson(nowMs));
    const isAnyOn = [...this.#totals.values()].some(({ onSinceMs }) => onSinceMs !== undefined);
    if (isAnyOn) this.#saveNoLaterThan(nowMs + SAVE_WHILE_ON_MS);
    const counted = [...this.#totals].filter(([, totals]) => !totals.isReported || totals.onSinceMs !== undefined);
    const entries = counted.flatMap(([name, totals]): Report[] => {
      const output = this.#outputs.get(name);
      if (output?.hasTotals !== true) return [];
      const [hours, starts] = totalKeys(name);
      totals.isReported = true;
      return [
        [output, hours, hoursOf(totals, nowMs)],
        [output, starts, totals.starts],
      ];
    });
    await file.flush();
    // A total that the disk does not keep would step back after a kill.
    if (file.isSaved) this.#report(entries);
  }

  #asJson(nowMs: number): JsonObject {
    const outputs = [...this.#totals].map(([name, totals]): [string, JsonObject] => [
      name,
      { onMs: Math.round(onMsAt(totals, nowMs)), starts: totals.starts },
    ]);
    return { outputs: Object.fromEntries(outputs) };
  }

  #report(readings: readonly Report[]): void {
    const { clock, report, idOf } = this.#deps;
    const at = { bootId: clock.bootId, monotonicMs: clock.monotonicMs(), class: 'regular' } as const;
    const deviceOf = ({ device }: ReportedOutput): string =>
      (device === undefined ? undefined : idOf?.(device)) ?? SELF;
    if (readings.length > 0)
      report(readings.map(([output, key, value]) => ({ ...at, device: deviceOf(output), key, value })));
  }
}

function onMsAt({ onMs, onSinceMs }: Totals, nowMs: number): number {
  return onMs + (onSinceMs === undefined ? 0 : nowMs - onSinceMs);
}

/** Hours, to the thousandth, never above what is saved. */
function hoursOf(totals: Totals, nowMs: number): number {
  return Math.floor((Math.round(onMsAt(totals, nowMs)) * 1_000) / HOUR_MS) / 1_000;
}

function totalsOf(json: JsonValue | undefined): Totals {
  const { onMs, starts } = isJsonObject(json) ? json : {};
  const count = (value: JsonValue | undefined): number => (typeof value === 'number' && value >= 0 ? value : 0);
  return { onMs: count(onMs), starts: count(starts), onSinceMs: undefined, isReported: false };
}
