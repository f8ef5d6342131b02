/** What every sensor has, whatever its kind. */
import { z } from 'zod';
import { leastReadMs, type ReadSettings } from '../least-read.ts';
import { duration, LIVE, list, name, section } from './fields.ts';
import { keyRulesTable } from './key-rules.ts';

/** How often a sensor is read when nobody says: slow enough for an SD card and a metered link, fast enough for a room. */
const DEFAULT_PERIOD = '10s';
/** A read that has not answered by then counts as failed: ten times the slowest conversion of any chip here (DS18B20, 750 ms) would pile up. */
const DEFAULT_DEADLINE_MS = 2_000;
/** What a read takes beside the wait that its own options ask for. */
const BESIDE_WAIT_MS = 1_000;

const STATISTICS = ['mean', 'min', 'max', 'count', 'sum', 'last'] as const;

export const sensorFields = {
  name: name(),
  /** `false`: kept in the file, but not opened. */
  enabled: z.boolean().meta(LIVE).default(true),
  /** How often it is read. */
  period: duration({ min: '10ms', max: '1d' }).meta(LIVE).prefault(DEFAULT_PERIOD),
  /** How long one read may take; default 2s, longer where gate, conversions or response time-out are, and never more than the period. */
  deadline: duration({ min: '1ms', max: '10m' }).optional(),
  /** Reads at whole multiples of the period since midnight UTC, so that several gateways sample together. */
  align: z.boolean().default(false),
  /** Reads at `period`, reports statistics of each window: `temperature_mean`, `temperature_min` … */
  window: section({
    length: duration({ min: '100ms', max: '1d' }),
    statistics: list(z.enum(STATISTICS), { min: 1 }).default(['mean', 'min', 'max']),
  }).optional(),
  keys: keyRulesTable(),
};

interface TimedSensor extends ReadSettings {
  readonly periodMs: number;
  readonly deadlineMs?: number;
  readonly connection?: { readonly responseTimeoutMs: number };
}

export interface Deadline {
  /** The one that holds. */
  readonly deadlineMs: number;
  /** The one that somebody chose; without it the deadline follows the period. */
  readonly givenDeadlineMs?: number;
}

/** What the number in a register means, of a chip or over Modbus. */
export const registerMeaning = {
  scale: z.number().default(1),
  offset: z.number().default(0),
  unit: z.string().max(32).optional(),
  /** The raw number that says that there is no value, such as 0x8000; -1 is a number of ones. It is left out alone. */
  noValue: z
    .number()
    .multipleOf(1)
    .min(-(2 ** 63))
    .max(Number.MAX_SAFE_INTEGER)
    .optional(),
  /** A value outside is reported as a fault, and left out alone. */
  min: z.number().optional(),
  max: z.number().optional(),
};

/** The deadline that holds when none is given. */
export function withDeadline<T extends TimedSensor>(sensor: T): T & Deadline {
  const { deadlineMs } = sensor;
  return followPeriod({ ...sensor, ...(deadlineMs === undefined ? {} : { givenDeadlineMs: deadlineMs }), deadlineMs: deadlineMs ?? 0 });
}

/** The same sensor, with a deadline that fits its period unless somebody chose one. */
export function followPeriod<T extends TimedSensor & Deadline>(sensor: T): T {
  const waitMs = Math.max(leastReadMs(sensor), sensor.connection?.responseTimeoutMs ?? 0);
  const usualMs = Math.min(Math.max(DEFAULT_DEADLINE_MS, waitMs + BESIDE_WAIT_MS), sensor.periodMs);
  return { ...sensor, deadlineMs: sensor.givenDeadlineMs ?? usualMs };
}
