/** Every kind of sensor, told apart by `kind`. */
import { z } from 'zod';
import { definitionOf, SENSOR_KINDS } from '../../kinds/sensor-kinds.ts';
import type { Deadline } from '../fields/sensor-fields.ts';

/** A read that has not answered by then counts as failed: ten times the slowest conversion of any chip here (750 ms) would pile up. */
const DEFAULT_DEADLINE_MS = 2_000;
/** Time that a read takes beside the wait that its own options ask for. */
const BESIDE_WAIT_MS = 1_000;

type SchemasOf<T extends readonly unknown[]> = {
  -readonly [I in keyof T]: T[I] extends { readonly schema: infer S } ? S : never;
};

const anySensor = z.discriminatedUnion(
  'kind',
  SENSOR_KINDS.map(({ schema }) => schema) as SchemasOf<typeof SENSOR_KINDS>,
);

export const sensorSchema = anySensor.transform(withDeadline);

export type SensorConfig = z.infer<typeof anySensor> & Deadline;
export type SensorKind = SensorConfig['kind'];
/** The configuration of one kind: `SensorConfigOf<'bme280'>`. */
export type SensorConfigOf<K extends SensorKind> = Extract<SensorConfig, { readonly kind: K }>;

/** The deadline that holds when none is given. */
function withDeadline(sensor: z.infer<typeof anySensor>): SensorConfig {
  const { deadlineMs } = sensor;
  return followPeriod({
    ...sensor,
    givenDeadlineMs: deadlineMs,
    deadlineMs: deadlineMs ?? 0,
  });
}

/** The same sensor, with a deadline that fits its period unless somebody chose one. */
export function followPeriod(sensor: SensorConfig): SensorConfig {
  const { minReadMs, waitMs } = definitionOf(sensor.kind);
  const maxMs = Math.max(minReadMs?.(sensor) ?? 0, waitMs?.(sensor) ?? 0);
  const usualMs = Math.min(Math.max(DEFAULT_DEADLINE_MS, maxMs + BESIDE_WAIT_MS), sensor.periodMs);
  return { ...sensor, deadlineMs: sensor.givenDeadlineMs ?? usualMs };
}
