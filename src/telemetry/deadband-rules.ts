/**
 * Decides which samples are worth keeping, and turns them into telemetry entries.
 *
 *   sample → round → alarm thresholds ─ crossed ─→ entry (alarm)
 *                                  └ deadband, least and greatest interval ─→ entry (regular)
 *
 * After a restart the first sample of each key is always reported, and with it whether its alarms are on: what the platform was told last
 * is not known for certain.
 */

import { leastChange } from '../config/fields/key-rules.ts';
import { acknowledgedKeyOf, alarmKey } from '../config/keys/added-keys.ts';
import { keptText, rounded } from '../config/keys/sent-reading.ts';
import type { KeyRulesConfig } from '../config/schema/agent-config.ts';
import { type AgentError, refusal } from '../errors/agent-error.ts';
import type { Clock } from '../host/clock.ts';
import type { LocalTime } from '../host/local-time.ts';
import type { TelemetryEntry } from '../outbox/outbox.ts';
import type { Sample } from '../sensors/kind/sensor.ts';
import type { JsonValue } from '../values/json.ts';
import { jsonEqual } from '../values/json.ts';
import { asKept, type Keeping, type Kept } from '../values/kept.ts';
import { SELF } from '../values/self.ts';
import {
  type Acknowledger,
  type AlarmChoice,
  acknowledgedOf,
  acknowledgedText,
  type ToldAcknowledgement,
} from './acknowledgement.ts';
import { alarmChange, type StandingAlarm, type ToldAlarm } from './alarm-change.ts';
import { ALARM_CLEAR, ALARM_REMOVED, AlarmThresholds, comparesAnything, type Threshold } from './alarm-thresholds.ts';
import { placeOf, placeText, type StandingStates, type StateOwner, type StatePlace } from './standing-states.ts';

/** The rules of one key of one sensor, as configured; none means "report every sample as it is". */
export type KeyRules = Omit<Partial<KeyRulesConfig>, 'alarms'> & { readonly alarms?: readonly Threshold[] };

export interface DeadbandRulesDeps {
  readonly clock: Clock;
  /** The rules of a sensor's key; asked for each sample, so that live settings take effect at once. */
  readonly rulesFor: (sensor: string, key: string) => KeyRules | undefined;
  /** Sees every sample as `observe` does, before any of its answer is evaluated: the device of all may depend on one. */
  readonly identify?: (sample: Sample) => void;
  /** Sees every sample under its name and rounded, reported or not: local rules. */
  readonly observe?: (sample: Sample) => void;
  /** Local time for alarms with hours; undefined while the clock is not known to be right. */
  readonly localTime?: () => LocalTime | undefined;
  /** Remembers alarms for those who are no longer there to clear them. */
  readonly standing?: StandingStates;
  /** Sees each change that begins to wait for its interval. */
  readonly onWaiting?: (sample: Sample) => void;
  /** Device of a sensor's entries; default the gateway. */
  readonly deviceOf?: (sensor: string) => string;
  /** Told of alarms that are new with a value, or over; of one that stood before a restart once it is over. */
  readonly onAlarm?: (alarm: ToldAlarm) => void;
  /** Told of alarms that somebody acknowledges now. */
  readonly onAlarmAcknowledged?: (told: ToldAcknowledgement) => void;
  /** Where entries go. */
  readonly report: Keeping<readonly TelemetryEntry[]>;
}

interface KeyState {
  /** Device and name under which it was told. */
  readonly place: StatePlace;
  reported?: { readonly value: JsonValue; readonly atMs: number };
  /** The newest change that came too soon after the last report. */
  waiting?: { readonly sample: Sample; readonly value: JsonValue };
  cancelWaiting?: () => void;
  thresholds: AlarmThresholds;
}

/** A gateway has some thousand at most; whoever makes keys up as they go must not fill the memory. */
const MAX_KEYS = 10_000;
/** Differences below this share are rounding of binary fractions: 20.2 - 20.1 is a change of 0.1. */
const FLOAT_TOLERANCE = 1e-9;
/** A read takes now more time, now less: one that is due with the greatest interval may be stamped before it, by this share or this. */
const [EARLY_SHARE, MAX_EARLY_MS] = [0.05, 1_000];

export class DeadbandRules {
  readonly #deps: DeadbandRulesDeps;
  readonly #states = new Map<string, KeyState>();

  constructor(deps: DeadbandRulesDeps) {
    this.#deps = deps;
  }

  /** Takes samples of one instant; what is worth keeping is reported together, and returned is how that is kept. What waits for its interval does not count. */
  take(samples: readonly Sample[]): Kept {
    for (const sample of samples) this.#identify(sample);
    const entries = samples.flatMap((sample) => this.#evaluate(sample));
    return entries.length > 0 ? asKept(this.#deps.report(entries)) : undefined;
  }

  /** Sensors and readings that are no longer configured are gone, with nothing unsaid: one of the same name that comes later begins anew. */
  keepOnly(isConfigured: (owner: StateOwner) => boolean): void {
    for (const [id, state] of this.#states) {
      const end = id.indexOf('\n');
      if (isConfigured({ sensor: id.slice(0, end), reading: id.slice(end + 1) })) continue;
      this.#reportWaiting(state);
      this.#states.delete(id);
    }
  }

  /** Alarms that are on, each with the sensor and the key, under the name that it has at the platform. */
  alarms(): readonly StandingAlarm[] {
    return [...this.#states].flatMap(([id, { place, thresholds }]) =>
      thresholds.raised.map((alarm) => {
        const end = id.indexOf('\n');
        return { ...alarm, sensor: id.slice(0, end), key: place.key, reading: id.slice(end + 1) };
      }),
    );
  }

  /**
   * Marks alarms as seen, reports that, and returns those of the choice that are on now. One that is acknowledged already stays as it is.
   * @throws AgentError `alarms/not-on` (drop) when none of the choice is on.
   */
  acknowledge({ sensor, key, name }: AlarmChoice, by: Acknowledger): readonly StandingAlarm[] {
    const isMeant = (alarm: StandingAlarm): boolean =>
      alarm.sensor === sensor && alarm.key === key && (name === undefined || alarm.name === name);
    const meant = this.alarms().filter(isMeant);
    if (meant.length === 0) throw this.#notOn({ sensor, key, name });
    const atMs = this.#deps.clock.wallMs();
    const names = meant.map((alarm) => alarm.name);
    for (const reading of new Set(meant.map((alarm) => alarm.reading))) {
      const state = this.#states.get(`${sensor}\n${reading}`);
      const marked = state?.thresholds.acknowledge(names, { by, atMs }) ?? [];
      if (state === undefined || marked.length === 0) continue;
      const { place, thresholds } = state;
      const alarms = thresholds.raised;
      const acknowledged = acknowledgedOf(alarms);
      this.#deps.standing?.note(
        placeText(alarmOf(place)),
        { sensor, reading, alarms: alarms.map((alarm) => alarm.name), acknowledged },
        true,
      );
      const { bootId } = this.#deps.clock;
      const monotonicMs = this.#deps.clock.monotonicMs();
      const value = acknowledgedText(acknowledged);
      this.#tell([{ ...acknowledgementOf(place), value, bootId, monotonicMs, class: 'alarm' }]);
      this.#deps.onAlarmAcknowledged?.({ ...place, sensor, reading, by, alarms: marked });
    }
    return this.alarms().filter(isMeant);
  }

  /** Reports changes that still wait for their interval, and ends the timers. */
  close(): void {
    for (const state of this.#states.values()) this.#reportWaiting(state);
  }

  /** Names the alarms that are on, as the one that was meant may have another key or name. */
  #notOn({ sensor, key, name }: AlarmChoice): AgentError {
    const others = this.alarms().filter((alarm) => alarm.sensor === sensor);
    const on = others.map((alarm) => `${alarm.key}: ${alarm.name}`).join('; ');
    const meant = name === undefined ? key : `${key} with the name ${name}`;
    return refusal(
      'alarms/not-on',
      `no alarm of ${meant} is on at sensor ${sensor}; ${on === '' ? 'it has none on' : `on are ${on}`}`,
    );
  }

  #identify(sample: Sample): void {
    const rules = this.#deps.rulesFor(sample.sensor, sample.key) ?? {};
    this.#deps.identify?.({ ...sample, key: rules.rename ?? sample.key, value: rounded(sample.value, rules.round) });
  }

  #evaluate(sample: Sample): TelemetryEntry[] {
    const rules = this.#deps.rulesFor(sample.sensor, sample.key) ?? {};
    const key = rules.rename ?? sample.key;
    const place = { device: this.#deps.deviceOf?.(sample.sensor) ?? SELF, key };
    const state = this.#stateOf(sample, place);
    const value = rounded(sample.value, rules.round);
    // Infinity is no value and says nothing about any limit.
    if (typeof value === 'number' && !Number.isFinite(value)) return [];
    this.#deps.observe?.({ ...sample, key, value });
    const over = this.#alarmsOver(sample, place, state, rules);
    if (rules.report === false) return over;
    const alarmPlace = placeText(alarmOf(place));
    const owner = { sensor: sample.sensor, reading: sample.key };
    const stood = this.#deps.standing?.alarmsOf(alarmPlace, owner) ?? [];
    const acknowledgedBefore = this.#deps.standing?.acknowledgedOf(alarmPlace, owner) ?? [];
    const wasRaised = state.thresholds.isRaised || this.#deps.standing?.has(alarmPlace) === true;
    const before = state.thresholds.raised;
    const alarm =
      sample.isPart !== true &&
      sample.isOld !== true &&
      (isNumber(value) || (rules.alarms ?? []).some(comparesAnything))
        ? state.thresholds.evaluate(value, rules.alarms ?? [], {
            atMs: sample.monotonicMs,
            stood,
            acknowledged: acknowledgedBefore,
            localTime: this.#deps.localTime,
          })
        : undefined;
    if (alarm !== undefined) {
      this.#note(state, sample, value);
      const change = alarmChange(before, state.thresholds.raised, stood);
      const { sensor, key: reading, unit } = sample;
      if (change !== undefined) this.#deps.onAlarm?.({ ...place, sensor, reading, unit, value, ...change });
      // That all is well, said for the first time, is no alarm.
      const entry = toEntry(sample, place, value, wasRaised || state.thresholds.isRaised ? 'alarm' : 'regular');
      const alarms = state.thresholds.raised.map(({ name }) => name);
      const acknowledged = acknowledgedOf(state.thresholds.raised);
      const isAcknowledged = acknowledged.length > 0;
      this.#deps.standing?.note(
        alarmPlace,
        { ...owner, alarms, acknowledged: isAcknowledged ? acknowledged : undefined },
        alarms.length > 0,
      );
      const hasAcknowledged = isAcknowledged || acknowledgedBefore.length > 0 || acknowledgedOf(before).length > 0;
      const seen = { ...entry, ...acknowledgementOf(place), value: acknowledgedText(acknowledged) };
      const tooMany = this.#deps.standing?.takeTooMany() ?? [];
      const forgotten = tooMany.map((gone) => toEntry(sample, placeOf(gone), ALARM_REMOVED, 'alarm'));
      const told = { ...entry, ...alarmOf(place), value: alarm };
      return [...over, entry, told, ...(hasAcknowledged ? [seen] : []), ...forgotten];
    }
    return [...over, ...this.#worthReporting(sample, keptText(value, rules.asText), state, rules)];
  }

  /** Alarms of this reading that stand at the platform under an earlier name of it, or that nothing watches any more. */
  #alarmsOver(sample: Sample, place: StatePlace, state: KeyState, rules: KeyRules): TelemetryEntry[] {
    const { standing } = this.#deps;
    if (standing === undefined) return [];
    const alarmPlace = placeText(alarmOf(place));
    standing.seen(alarmPlace);
    const others = standing.takeOthersOf(sample.sensor, sample.key, alarmPlace);
    const isWatched = rules.report !== false && (rules.alarms ?? []).length > 0;
    const isGone = !isWatched && standing.has(alarmPlace);
    const unwatched = isGone ? standing.toldWith(alarmPlace) : [];
    if (isGone) {
      standing.note(alarmPlace, { sensor: sample.sensor }, false);
      state.thresholds = new AlarmThresholds();
    }
    // A state that was told before its device was known is that device's, and goes on.
    const told = [...others, ...unwatched].map(placeOf).filter(({ device }) => !device.startsWith('?'));
    return told.map((gone) => toEntry(sample, gone, ALARM_CLEAR, 'alarm'));
  }

  #worthReporting(sample: Sample, value: JsonValue, state: KeyState, rules: KeyRules): TelemetryEntry[] {
    if (!isWorthReporting(state, value, sample.monotonicMs, rules)) {
      // Back within the deadband: what waited is no longer the newest state.
      dropWaiting(state);
      return [];
    }
    const { minIntervalMs = 0 } = rules;
    // A time ahead of this one's keeps nothing waiting for longer.
    const tooSoonMs =
      state.reported === undefined
        ? 0
        : Math.min(minIntervalMs, state.reported.atMs + minIntervalMs - sample.monotonicMs);
    if (tooSoonMs > 0) {
      state.waiting = { sample, value };
      this.#deps.onWaiting?.(sample);
      state.cancelWaiting ??= this.#deps.clock.after(tooSoonMs, () => this.#reportWaiting(state));
      return [];
    }
    this.#note(state, sample, value);
    return [toEntry(sample, state.place, value, 'regular')];
  }

  #reportWaiting(state: KeyState): void {
    const { place, waiting } = state;
    if (waiting === undefined) return;
    const { sample, value } = waiting;
    dropWaiting(state);
    if (this.#deps.rulesFor(sample.sensor, sample.key)?.report === false) return;
    // The interval counts from the report, not from the sample that waited for it.
    state.reported = { value, atMs: Math.max(sample.monotonicMs, this.#deps.clock.monotonicMs()) };
    this.#tell([toEntry(sample, place, value, 'regular')]);
  }

  /** Reports what nobody waits for; a loss is told where it happens. */
  #tell(entries: readonly TelemetryEntry[]): void {
    asKept(this.#deps.report(entries))?.catch(() => {});
  }

  #note(state: KeyState, sample: Sample, value: JsonValue): void {
    state.reported = { value, atMs: sample.monotonicMs };
    dropWaiting(state);
  }

  #stateOf(sample: Sample, place: StatePlace): KeyState {
    const id = `${sample.sensor}\n${sample.key}`;
    const known = this.#states.get(id);
    // Under another name, or of another device, nothing of it was told yet.
    const isRenamed = known !== undefined && placeText(known.place) !== placeText(place);
    if (isRenamed) this.#reportWaiting(known);
    const state = known === undefined || isRenamed ? { place, thresholds: new AlarmThresholds() } : known;
    // The one that was read longest ago comes first.
    this.#states.delete(id);
    this.#states.set(id, state);
    for (const [oldest, gone] of this.#states) {
      if (this.#states.size <= MAX_KEYS) break;
      this.#reportWaiting(gone);
      this.#states.delete(oldest);
    }
    return state;
  }
}

function alarmOf({ device, key }: StatePlace): StatePlace {
  return { device, key: alarmKey(key) };
}

function acknowledgementOf(place: StatePlace): StatePlace {
  const { device, key } = alarmOf(place);
  return { device, key: acknowledgedKeyOf(key) };
}

function isNumber(value: JsonValue): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

function dropWaiting(state: KeyState): void {
  state.cancelWaiting?.();
  delete state.cancelWaiting;
  delete state.waiting;
}

function isWorthReporting(state: KeyState, value: JsonValue, atMs: number, rules: KeyRules): boolean {
  const { reported } = state;
  if (reported === undefined) return true;
  const { maxIntervalMs = Number.POSITIVE_INFINITY } = rules;
  if (atMs - reported.atMs >= maxIntervalMs - Math.min(maxIntervalMs * EARLY_SHARE, MAX_EARLY_MS)) return true;
  if (rules.deadband === undefined) return true;
  const before = reported.value;
  if (!isNumber(value) || !isNumber(before)) return !jsonEqual(value, before);
  const band = leastChange(rules.deadband, Number(before));
  // The difference of two longs is exact, that of their nearest doubles is not.
  const change = Math.abs(
    Number(typeof value === 'bigint' && typeof before === 'bigint' ? value - before : Number(value) - Number(before)),
  );
  return (
    change > 0 && change >= band - (typeof value === 'bigint' ? 0 : FLOAT_TOLERANCE * Math.max(1, Math.abs(value)))
  );
}

function toEntry(
  sample: Sample,
  place: StatePlace,
  value: JsonValue,
  entryClass: TelemetryEntry['class'],
): TelemetryEntry {
  return {
    ...place,
    value,
    bootId: sample.bootId,
    monotonicMs: sample.monotonicMs,
    ...(sample.takenAtMs === undefined ? {} : { takenAtMs: sample.takenAtMs }),
    class: entryClass,
  };
}
