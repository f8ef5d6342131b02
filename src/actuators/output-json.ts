/** The state of an output as its file has it: written whole, and read whole or not at all. */
import { z } from 'zod';
import type { Clock } from '../host/clock.ts';
import type { JsonObject, JsonValue } from '../values/json.ts';
import { recentSwitches, type SwitchHistory } from './actuator-limits.ts';
import type { ActuatorValue, Writer } from './kind/actuator.ts';
import { EMPTY_SLOTS, type Ended, type Operator, type Slots } from './priority-slots.ts';

export interface OutputState {
  readonly slots: Slots;
  readonly history: SwitchHistory;
  /** Value of the last write that had no answer, while it may still arrive. */
  readonly unanswered?: ActuatorValue | undefined;
  /** Value that the hardware has had by the agent, and the version of the output's configuration. */
  readonly had?: Had | undefined;
}

export interface Had {
  readonly value: ActuatorValue;
  readonly version: string;
}

export const NO_HISTORY: SwitchHistory = { changedAtMs: undefined, switchedOnAtMs: [] };

type Now = Pick<Clock, 'monotonicMs' | 'wallMs'>;

const value = z.union([z.boolean(), z.number(), z.string()]);
const atMs = z.number();
const by = z.string().transform((writer) => writer as Writer);
const operator = z.object({
  value,
  by,
  sinceMs: atMs,
  untilMs: atMs.optional(),
  until: z.enum(['ruleChange', 'release']),
});
const rule = z.object({
  name: z.string(),
  version: z.string(),
  protect: z.boolean().default(false),
  set: value,
  otherwise: value.optional(),
  sensorLost: value.optional(),
  sinceMs: atMs,
  phase: z.enum(['unread', 'set', 'otherwise']),
  isLost: z.boolean().default(false),
  isBarred: z.boolean().default(false),
});
const kept = z.object({
  limit: atMs.optional(),
  left: value.optional(),
  operator: z
    .object({ ...operator.shape, savedAtMs: atMs, savedAtWallMs: atMs })
    .transform(({ savedAtMs, savedAtWallMs, ...word }) => ({ word, savedAtMs, savedAtWallMs }))
    .optional(),
  noContact: z.object({ value, sinceMs: atMs }).optional(),
  ended: z.object({ value, by, why: z.string().transform((why) => why as Ended['why']), atMs }).optional(),
  baseRule: z.object({ value, rule: z.string() }).optional(),
  rules: z.array(rule).default([]),
  changedAtMs: atMs.optional(),
  switchedOnAtMs: z.array(atMs).default([]),
  unanswered: value.optional(),
  had: z.object({ value, version: z.string() }).optional(),
});

/** Returns what of the state is kept. */
export function stateAsJson({ slots, history, unanswered, had }: OutputState, clock: Now): JsonObject {
  const nowMs = clock.monotonicMs();
  const { limit, noContact, base, left, ended } = slots;
  return {
    limit,
    noContact,
    left,
    unanswered,
    had: had && { ...had },
    ended: ended && { ...ended },
    operator: slots.operator && { ...slots.operator, savedAtMs: nowMs, savedAtWallMs: clock.wallMs() },
    baseRule: base?.rule === undefined ? undefined : { ...base, rule: base.rule },
    rules: slots.rules.length === 0 ? undefined : slots.rules.map((one) => ({ ...one })),
    changedAtMs: history.changedAtMs,
    switchedOnAtMs: recentSwitches(history, nowMs),
  };
}

/** Returns what is kept, as far as it holds in this boot; undefined where it is not understood. */
export function stateOf(json: JsonValue, isSameBoot: boolean, clock: Now): OutputState | undefined {
  const { data } = kept.safeParse(json);
  if (data === undefined) return undefined;
  const { operator: word, baseRule: base, changedAtMs, switchedOnAtMs, unanswered, had, ...slots } = data;
  if (isSameBoot)
    return {
      slots: { ...EMPTY_SLOTS, ...slots, operator: word?.word, base },
      history: { changedAtMs, switchedOnAtMs },
      unanswered,
      had,
    };
  // Nobody knows how long before this boot it was: everything counts as switched at its start, as often as it was.
  const history = { changedAtMs: 0, switchedOnAtMs: switchedOnAtMs.map(() => 0) };
  return {
    slots: { ...EMPTY_SLOTS, left: slots.left, limit: slots.limit && 0, operator: word && afterBoot(word, clock) },
    history,
    unanswered,
  };
}

type Saved = NonNullable<z.infer<typeof kept>['operator']>;

/** Returns an operator's word whose time is not over by the wall clock; a clock that has gone back since tells nothing. */
function afterBoot({ word, savedAtMs, savedAtWallMs }: Saved, clock: Now): Operator | undefined {
  if (word.untilMs === undefined) return undefined;
  const [nowMs, passedMs] = [clock.monotonicMs(), clock.wallMs() - savedAtWallMs];
  const leftMs = word.untilMs - savedAtMs - passedMs;
  return passedMs >= 0 && leftMs > 0 ? { ...word, sinceMs: nowMs, untilMs: nowMs + leftMs } : undefined;
}
