/**
 * Conditions of local rules and of alarms: a comparison of a value, hours, weekdays, dates, or several of them together, a few levels deep. A rule says
 * whose value it is; an alarm goes by the value of its own key.
 */
import { z } from 'zod';
import type { Span, Weekday } from '../../host/local-time.ts';
import { comparedValue, LIVE, list, name, section } from './fields.ts';
import { dates, hours, weekdays } from './local-times.ts';

/** Mappings within each other, the outermost counted too: deeper ones nobody reads. */
const MAX_LEVELS = 4;
/** Comparisons, hours, weekdays and dates of one rule or alarm. */
export const MAX_PARTS = 16;

/** Exactly one of a comparison, time, weekdays, dates, all, any and not. */
export interface ConditionConfig {
  readonly sensor?: string | undefined;
  readonly key?: string | undefined;
  readonly above?: number | undefined;
  readonly below?: number | undefined;
  readonly equal?: boolean | number | string | undefined;
  readonly hysteresis: number;
  readonly time?: Span | undefined;
  readonly weekdays?: readonly Weekday[] | undefined;
  readonly dates?: Span | undefined;
  readonly all?: readonly ConditionConfig[] | undefined;
  readonly any?: readonly ConditionConfig[] | undefined;
  readonly not?: ConditionConfig | undefined;
}

const reading = () => ({
  sensor: name().optional(),
  /** The key as the platform sees it, after rename. */
  key: z.string().min(1).max(255).optional(),
});

/** @param limit marks what may be changed live. */
const single = (limit: Readonly<Record<string, unknown>>) => ({
  /** Exactly one of above, below and equal. */
  above: z.number().meta(limit).optional(),
  below: z.number().meta(limit).optional(),
  equal: comparedValue().optional(),
  /** How far the value must come back before the comparison ends. */
  hysteresis: z.number().min(0).meta(limit).default(0),
  time: hours().optional(),
  weekdays: weekdays().optional(),
  dates: dates().optional(),
});

/** Fields that a condition has at every level. */
type Level = () => z.core.$ZodLooseShape;

function joined(levels: number, level: Level) {
  const tooDeep = z.never().meta({ expected: `at most ${MAX_LEVELS} levels of conditions` });
  const one: z.ZodType<ConditionConfig> = levels === 0 ? tooDeep : condition(levels, level);
  const several: z.ZodType<readonly ConditionConfig[]> = levels === 0 ? tooDeep : list(one, { min: 1, max: MAX_PARTS });
  return { all: several.optional(), any: several.optional(), not: one.optional() };
}

function condition(levels: number, level: Level): z.ZodType<ConditionConfig> {
  // Its fields are known where it is called; the type of what holds itself must be written.
  return section({ ...level(), ...joined(levels - 1, level) }) as unknown as z.ZodType<ConditionConfig>;
}

const ofRule = () => ({ ...reading(), ...single(LIVE) });
const ofAlarm = () => single({});

/** The fields of a rule's outermost condition. */
export const conditionFields = () => ({ ...ofRule(), ...joined(MAX_LEVELS - 1, ofRule) });

/** The fields of an alarm's outermost condition. */
export const ownConditionFields = () => ({ ...ofAlarm(), ...joined(MAX_LEVELS - 1, ofAlarm) });
