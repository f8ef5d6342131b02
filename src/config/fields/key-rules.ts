/** Report rules of one key of a sensor: conversion, what is worth sending, alarms. Field names agree with telemetry/deadband-rules.ts. */
import { z } from 'zod';
import { ownConditionFields } from './conditions.ts';
import { conversionFields } from './conversion.ts';
import { className, duration, LIVE, label, list, platformKey, section, table, text, whole } from './fields.ts';

const alarm = section({
  /** Raised while this is so of the value, in the key's unit after scaling; judged with each reading. */
  ...ownConditionFields(),
  /** Time for which it must be so before the alarm is raised. */
  for: duration({ max: '7d' }).optional(),
  name: z.string().min(1).max(255).optional(),
  /** Shown to people in place of the name, which stays the one at the platform. */
  label: label().optional(),
});

/** A prefix that no number begins with: the platform makes no number of the text behind it. */
const textPrefix = text(/^(?=.*[^\d\s.+-]).{1,32}$/, 'a prefix with a letter or another sign that is in no number');

const percent = text(/^(?:\d{1,3}(?:\.\d+)?|1000) ?%$/, 'a text such as 5 %, at most 1000 %');

const keyRules = section({
  /** The key at the platform, instead of the driver's own. */
  rename: platformKey().optional(),
  /** Unit of the value, for people; it converts nothing. */
  unit: z.string().max(32).optional(),
  /** Shown to people in place of the key, which stays the one at the platform; default: the key in words, `roomTemperature` as Room temperature. */
  label: label().optional(),
  /** Kind of value, such as door, leak or temperature: words of its states, digits, unit and plot for people; default: by unit and key. */
  class: className().optional(),
  ...conversionFields,
  /** Form in which texts are sent, as the platform makes a number of "000123": behind a prefix, or in an object, {"text":"000123"}. */
  asText: z.union([z.literal('json'), section({ prefix: textPrefix })]).optional(),
  /** Decimal places. */
  round: whole(0, 15).optional(),
  /** A smaller change than this is not reported; `5 %` is a share of the value that was reported last. */
  deadband: z
    .union([z.number().min(0), percent])
    .meta(LIVE)
    .optional(),
  /** Least time between two reports. */
  minInterval: duration({ max: '7d' }).meta(LIVE).optional(),
  /** Heartbeat: the value is reported after this long even when it has not changed. */
  maxInterval: duration({ min: '100ms', max: '7d' }).meta(LIVE).optional(),
  alarms: list(alarm, { max: 16 }).optional(),
  /** `false` leaves the key out. */
  report: z.boolean().default(true),
});

/** By the driver's own key; `*` holds for every key that is not listed. */
export const keyRulesTable = () => table(z.string().min(1).max(255), keyRules).default({});

export type KeyRulesConfig = z.infer<typeof keyRules>;

/** Returns the least change that is reported, in the key's unit, after a value. */
export function leastChange(deadband: number | string, before: number): number {
  return typeof deadband === 'number' ? deadband : (Math.abs(before) * Number.parseFloat(deadband)) / 100;
}
