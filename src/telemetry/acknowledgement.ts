/** Acknowledgement of an alarm: a person has seen it. It says nothing of the value, and ends with the alarm. */
import type { EpochMs } from '../host/clock.ts';
import { isJsonObject, type JsonValue } from '../values/json.ts';
import { ALARM_CLEAR, type RaisedAlarm } from './alarm-thresholds.ts';

/** Door at which it was acknowledged: an RPC of the platform, the control socket of the machine, the status page. */
export const ACKNOWLEDGERS = ['platform', 'local', 'page'] as const;
export type Acknowledger = (typeof ACKNOWLEDGERS)[number];

export interface Acknowledgement {
  readonly by: Acknowledger;
  /** UTC epoch ms, by the agent's clock. */
  readonly atMs: EpochMs;
}

/** Acknowledgement of one of the alarms of a key. */
export interface AcknowledgedAlarm extends Acknowledgement {
  readonly name: string;
}

/** Alarms that a person acknowledges. */
export interface AlarmChoice {
  readonly sensor: string;
  /** Key at the platform. */
  readonly key: string;
  /** Absent for all alarms of the key. */
  readonly name?: string | undefined;
}

/** An alarm that is on, and that somebody has acknowledged now or before. */
export interface SeenAlarm extends Pick<AlarmChoice, 'sensor' | 'key'> {
  readonly name: string;
  readonly acknowledged: Acknowledgement;
}

/** Alarms that were acknowledged now, as they are told to whoever keeps a record of them. */
export interface ToldAcknowledgement extends Pick<AlarmChoice, 'sensor' | 'key'> {
  /** Device at the platform. */
  readonly device: string;
  /** The driver's own key. */
  readonly reading: string;
  readonly by: Acknowledger;
  readonly alarms: readonly RaisedAlarm[];
}

/** Returns the alarms of these that are acknowledged. */
export function acknowledgedOf(alarms: readonly RaisedAlarm[]): readonly AcknowledgedAlarm[] {
  return alarms.flatMap(({ name, acknowledged }) =>
    acknowledged === undefined ? [] : [{ name, by: acknowledged.by, atMs: acknowledged.atMs }],
  );
}

/** Returns `hot, by page`, or `warm, hot, by page; fire, by platform`; "ok" where nothing is acknowledged. */
export function acknowledgedText(acknowledged: readonly AcknowledgedAlarm[]): string {
  if (acknowledged.length === 0) return ALARM_CLEAR;
  return [...Map.groupBy(acknowledged, ({ by }) => by)]
    .map(([by, alarms]) => `${alarms.map(({ name }) => name).join(', ')}, by ${by}`)
    .join('; ');
}

/** Returns those that a file has kept; what is none is left out. */
export function keptAcknowledgements(kept: JsonValue | undefined): readonly AcknowledgedAlarm[] {
  if (!Array.isArray(kept)) return [];
  return kept.flatMap((one: JsonValue) => {
    if (!isJsonObject(one)) return [];
    const { name, atMs } = one;
    const by = ACKNOWLEDGERS.find((acknowledger) => acknowledger === one.by);
    return by === undefined || typeof name !== 'string' || typeof atMs !== 'number' ? [] : [{ name, by, atMs }];
  });
}
