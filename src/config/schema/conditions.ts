/** Conditions of local rules: a comparison of a sensor's value, hours, weekdays, dates, or several of them together, a few levels deep. */
import { z } from 'zod';
import type { Span, Weekday } from '../../host/local-time.ts';
import { comparedValue, LIVE, list, name, section } from '../fields/fields.ts';
import { dates, hours, weekdays } from '../fields/local-times.ts';

/** Mappings within each other, the outermost counted too: deeper ones nobody reads. */
const MAX_LEVELS = 4;
/** Comparisons, hours, weekdays and dates of one rule. */
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

const single = () => ({
  sensor: name().optional(),
  /** The key as the platform sees it, after rename. */
  key: z.string().min(1).max(255).optional(),
  /** Exactly one of above, below and equal. */
  above: z.number().meta(LIVE).optional(),
  below: z.number().meta(LIVE).optional(),
  equal: comparedValue().optional(),
  /** How far the value must come back before the comparison ends. */
  hysteresis: z.number().min(0).meta(LIVE).default(0),
  time: hours().optional(),
  weekdays: weekdays().optional(),
  dates: dates().optional(),
});

function joined(levels: number) {
  const tooDeep = z.never().meta({ expected: `at most ${MAX_LEVELS} levels of conditions` });
  const one: z.ZodType<ConditionConfig> = levels === 0 ? tooDeep : condition(levels);
  const several: z.ZodType<readonly ConditionConfig[]> = levels === 0 ? tooDeep : list(one, { min: 1, max: MAX_PARTS });
  return { all: several.optional(), any: several.optional(), not: one.optional() };
}

function condition(levels: number): z.ZodType<ConditionConfig> {
  return section({ ...single(), ...joined(levels - 1) });
}

/** The fields of the outermost condition. */
export const conditionFields = () => ({ ...single(), ...joined(MAX_LEVELS - 1) });
