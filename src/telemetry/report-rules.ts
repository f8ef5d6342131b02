/**
 * Decides which samples are worth keeping, and turns them into telemetry entries.
 *
 *   sample → scale, offset, round → alarm thresholds ─ crossed ─→ entry (alarm)
 *                                  └ deadband, least and greatest interval ─→ entry (regular)
 *
 * Nothing is stored: after a restart the first sample of each key is always reported.
 */
import type { KeyRulesConfig } from '../config/agent-config.ts';
import type { Clock } from '../host/clock.ts';
import type { JsonValue } from '../host/json.ts';
import { jsonEqual } from '../host/json.ts';
import type { TelemetryEntry } from '../outbox/telemetry-entry.ts';
import type { Sample } from '../sensors/sensor.ts';
import { AlarmThresholds, type Threshold } from './alarm-thresholds.ts';

/** The rules of one key of one sensor, as configured; none means "report every sample as it is". */
export type KeyRules = Omit<Partial<KeyRulesConfig>, 'alarms'> & { readonly alarms?: readonly Threshold[] };

export interface ReportRulesDeps {
  readonly clock: Clock;
  /** The rules of a sensor's key; asked for each sample, so that live settings take effect at once. */
  readonly rulesFor: (sensor: string, key: string) => KeyRules | undefined;
  /** Sees every value after conversion, reported or not: local rules. */
  readonly observe?: (sensor: string, key: string, value: JsonValue) => void;
  /** Where entries go. */
  readonly report: (entries: readonly TelemetryEntry[]) => void;
}

interface KeyState {
  reported?: { readonly value: JsonValue; readonly atMs: number };
  /** The newest change that came too soon after the last report. */
  waiting?: { readonly sample: Sample; readonly value: JsonValue };
  cancelWaiting?: () => void;
  readonly thresholds: AlarmThresholds;
}

/** Differences below this share are rounding of binary fractions: 20.2 - 20.1 is a change of 0.1. */
const FLOAT_TOLERANCE = 1e-9;

export class ReportRules {
  readonly #deps: ReportRulesDeps;
  readonly #states = new Map<string, KeyState>();

  constructor(deps: ReportRulesDeps) {
    this.#deps = deps;
  }

  /** Takes samples of one instant; what is worth keeping is reported together. */
  take(samples: readonly Sample[]): void {
    const entries = samples.flatMap((sample) => this.#evaluate(sample));
    if (entries.length > 0) this.#deps.report(entries);
  }

  /** Reports changes that still wait for their interval, and ends the timers. */
  close(): void {
    for (const state of this.#states.values()) this.#reportWaiting(state);
  }

  #evaluate(sample: Sample): TelemetryEntry[] {
    const rules = this.#deps.rulesFor(sample.sensor, sample.key) ?? {};
    const state = this.#stateOf(sample);
    const value = convert(sample.value, rules);
    const key = rules.rename ?? sample.key;
    this.#deps.observe?.(sample.sensor, key, value);
    if (rules.report === false) return [];
    const alarm = typeof value === 'number' ? state.thresholds.evaluate(value, rules.alarms ?? []) : undefined;
    if (alarm !== undefined) {
      this.#note(state, sample, value);
      const entry = toEntry(sample, key, value, 'alarm');
      return [entry, { ...entry, key: `${key}_alarm`, value: alarm }];
    }
    if (!isWorthReporting(state, value, sample.monotonicMs, rules)) {
      // Back within the deadband: what waited is no longer the newest state.
      dropWaiting(state);
      return [];
    }
    const tooSoonMs = state.reported === undefined ? 0 : state.reported.atMs + (rules.minIntervalMs ?? 0) - sample.monotonicMs;
    if (tooSoonMs > 0) {
      state.waiting = { sample, value };
      state.cancelWaiting ??= this.#deps.clock.after(tooSoonMs, () => this.#reportWaiting(state));
      return [];
    }
    this.#note(state, sample, value);
    return [toEntry(sample, key, value, 'regular')];
  }

  #reportWaiting(state: KeyState): void {
    const { waiting } = state;
    if (waiting === undefined) return;
    const { sample, value } = waiting;
    this.#note(state, sample, value);
    // The interval counts from the report, not from the sample that waited for it.
    state.reported = { value, atMs: Math.max(sample.monotonicMs, this.#deps.clock.monotonicMs()) };
    const key = this.#deps.rulesFor(sample.sensor, sample.key)?.rename ?? sample.key;
    this.#deps.report([toEntry(sample, key, value, 'regular')]);
  }

  #note(state: KeyState, sample: Sample, value: JsonValue): void {
    state.reported = { value, atMs: sample.monotonicMs };
    dropWaiting(state);
  }

  #stateOf(sample: Sample): KeyState {
    const id = `${sample.sensor}\n${sample.key}`;
    let state = this.#states.get(id);
    if (state === undefined) {
      state = { thresholds: new AlarmThresholds() };
      this.#states.set(id, state);
    }
    return state;
  }
}

function dropWaiting(state: KeyState): void {
  state.cancelWaiting?.();
  delete state.cancelWaiting;
  delete state.waiting;
}

function isWorthReporting(state: KeyState, value: JsonValue, atMs: number, rules: KeyRules): boolean {
  const { reported } = state;
  if (reported === undefined) return true;
  if (rules.maxIntervalMs !== undefined && atMs - reported.atMs >= rules.maxIntervalMs) return true;
  if (rules.deadband === undefined && rules.deadbandPercent === undefined) return true;
  if (typeof value !== 'number' || typeof reported.value !== 'number') return !jsonEqual(value, reported.value);
  const band = Math.max(rules.deadband ?? 0, (Math.abs(reported.value) * (rules.deadbandPercent ?? 0)) / 100);
  const change = Math.abs(value - reported.value);
  return change > 0 && change >= band - FLOAT_TOLERANCE * Math.max(1, Math.abs(value));
}

/** Scale, offset and rounding, for numbers; a 64-bit long is left alone unless it is asked for. */
function convert(value: JsonValue, rules: KeyRules): JsonValue {
  const { scale, offset, round } = rules;
  if (typeof value === 'bigint' && (scale !== undefined || offset !== undefined)) return convert(Number(value), rules);
  if (typeof value !== 'number') return value;
  const scaled = value * (scale ?? 1) + (offset ?? 0);
  return round === undefined ? scaled : roundTo(scaled, round);
}

/** Rounds half away from zero in decimal, as a person would: 1.005 to two places is 1.01. */
function roundTo(value: number, places: number): number {
  const shifted = Number(`${Math.abs(value)}e${places}`);
  // Very small and very large numbers are written with an exponent already.
  if (!Number.isFinite(shifted)) return Number(value.toFixed(places));
  return Math.sign(value) * Number(`${Math.round(shifted)}e-${places}`) + 0;
}

function toEntry(sample: Sample, key: string, value: JsonValue, entryClass: TelemetryEntry['class']): TelemetryEntry {
  return {
    device: 'self',
    key,
    value,
    bootId: sample.bootId,
    monotonicMs: sample.monotonicMs,
    ...(sample.takenAtMs === undefined ? {} : { takenAtMs: sample.takenAtMs }),
    class: entryClass,
  };
}
