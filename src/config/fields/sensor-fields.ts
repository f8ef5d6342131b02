/** Fields that every sensor has, whatever its kind. */
import { z } from 'zod';
import { className, duration, LIVE, label, list, name, platformKey, section } from './fields.ts';
import { keyRulesTable } from './key-rules.ts';
import { slotName } from './slot-name.ts';

/** How often a sensor is read when nobody says: slow enough for an SD card and a metered link, fast enough for a room. */
const DEFAULT_PERIOD = '10s';
const STATISTICS = ['mean', 'min', 'max', 'count', 'sum', 'last'] as const;

export const sensorFields = {
  name: name(),
  /** Shown to people in place of the name. */
  label: label().optional(),
  /** Kind of value, for a sensor with one key; of a key with a class of its own, that one. */
  class: className().optional(),
  /** `false`: kept in the file, but not opened. */
  enabled: z.boolean().meta(LIVE).default(true),
  /** Slot of the attached device whose values they are; default: the gateway. */
  device: slotName().optional(),
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
  /** Set before each of its keys at the platform. */
  prefix: platformKey().max(100).optional(),
  keys: keyRulesTable(),
};

export interface Deadline {
  /** The one that holds. */
  readonly deadlineMs: number;
  /** The one that somebody chose; without it the deadline follows the period. */
  readonly givenDeadlineMs?: number;
}
