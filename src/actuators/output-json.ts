/** The state of an output as its file has it: written whole, and read as far as it makes sense. */
import type { Clock } from '../host/clock.ts';
import { given } from '../host/given.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../host/json.ts';
import { recentSwitches, type SwitchHistory } from './actuator-limits.ts';
import type { ActuatorValue } from './kind/actuator.ts';
import { EMPTY_SLOTS, type Ended, type Operator, type RuleSlot, type Slots } from './priority-slots.ts';

export interface OutputState {
  readonly slots: Slots;
  readonly history: SwitchHistory;
}

export const NO_HISTORY: SwitchHistory = { changedAtMs: undefined, switchedOnAtMs: [] };

type Now = Pick<Clock, 'monotonicMs' | 'wallMs'>;

/** Returns what of the state is kept. */
export function stateAsJson({ slots, history }: OutputState, clock: Now): JsonObject {
  const nowMs = clock.monotonicMs();
  const { limit, operator, noContact, base, left, ended, rules } = slots;
  return given({
    ...{
      limit,
      operator: operator && given({ ...operator, savedAtMs: nowMs, savedAtWallMs: clock.wallMs() }),
      noContact,
      left,
      ended: ended && { ...ended },
    },
    baseRule: base?.rule === undefined ? undefined : { ...base, rule: base.rule },
    rules: rules.length === 0 ? undefined : rules.map((rule) => given({ ...rule })),
    ...{ changedAtMs: history.changedAtMs, switchedOnAtMs: recentSwitches(history, nowMs) },
  });
}

/** Returns what is kept, as far as it makes sense and holds in this boot. */
export function stateOf(json: JsonObject, isSameBoot: boolean, clock: Now): OutputState {
  const { changedAtMs, switchedOnAtMs } = json;
  const switchedOn = Array.isArray(switchedOnAtMs) ? switchedOnAtMs.filter((atMs) => typeof atMs === 'number') : [];
  const limit = typeof json.limit === 'number' ? json.limit : undefined;
  const left = valueIn(json.left);
  // Nobody knows how long before this boot it was: everything counts as switched at its start, as often as it was.
  if (!isSameBoot) {
    const history = { changedAtMs: 0, switchedOnAtMs: switchedOn.map(() => 0) };
    return { slots: { ...EMPTY_SLOTS, left, limit: limit && 0, operator: operatorAfterBoot(json.operator, clock) }, history };
  }
  const slots = {
    ...{ ...EMPTY_SLOTS, limit, left },
    ...{ operator: operatorIn(json.operator), noContact: timedIn(json.noContact), ended: endedIn(json.ended) },
    ...{ base: baseIn(json.baseRule), rules: Array.isArray(json.rules) ? json.rules.flatMap(ruleIn) : [] },
  };
  return { slots, history: { changedAtMs: typeof changedAtMs === 'number' ? changedAtMs : undefined, switchedOnAtMs: switchedOn } };
}

function valueIn(value: JsonValue | undefined): ActuatorValue | undefined {
  return typeof value === 'boolean' || typeof value === 'number' || typeof value === 'string' ? value : undefined;
}

function timedIn(json: JsonValue | undefined): Slots['noContact'] {
  const value = isJsonObject(json) ? valueIn(json.value) : undefined;
  return value === undefined || !isJsonObject(json) ? undefined : { value, sinceMs: Number(json.sinceMs) };
}

function operatorIn(json: JsonValue | undefined): Operator | undefined {
  const timed = timedIn(json);
  if (timed === undefined || !isJsonObject(json)) return undefined;
  const untilMs = typeof json.untilMs === 'number' ? json.untilMs : undefined;
  return { ...timed, ...{ by: json.by as Operator['by'], untilMs, until: json.until === 'release' ? 'release' : 'ruleChange' } };
}

/** Returns an operator's word whose time is not over by the wall clock; a clock that has gone back since tells nothing. */
function operatorAfterBoot(json: JsonValue | undefined, clock: Now): Operator | undefined {
  const operator = operatorIn(json);
  if (operator?.untilMs === undefined || !isJsonObject(json)) return undefined;
  const [nowMs, passedMs] = [clock.monotonicMs(), clock.wallMs() - Number(json.savedAtWallMs)];
  const leftMs = operator.untilMs - Number(json.savedAtMs) - passedMs;
  return passedMs >= 0 && leftMs > 0 ? { ...operator, sinceMs: nowMs, untilMs: nowMs + leftMs } : undefined;
}

function endedIn(json: JsonValue | undefined): Ended | undefined {
  if (!isJsonObject(json)) return undefined;
  const value = valueIn(json.value);
  return value === undefined ? undefined : ({ value, by: json.by, why: json.why, atMs: Number(json.atMs) } as Ended);
}

function baseIn(json: JsonValue | undefined): Slots['base'] {
  const value = isJsonObject(json) ? valueIn(json.value) : undefined;
  return value === undefined || !isJsonObject(json) ? undefined : { value, rule: String(json.rule) };
}

function ruleIn(json: JsonValue): RuleSlot[] {
  if (!isJsonObject(json) || typeof json.name !== 'string' || typeof json.version !== 'string') return [];
  const set = valueIn(json.set);
  if (set === undefined || (json.phase !== 'set' && json.phase !== 'otherwise' && json.phase !== 'unread')) return [];
  const { name, version, phase } = json;
  const [protect, isLost, isBarred] = [json.protect === true, json.isLost === true, json.isBarred === true];
  const words = { name, version, protect, set, otherwise: valueIn(json.otherwise), sensorLost: valueIn(json.sensorLost) };
  return [{ ...words, ...{ phase, isLost, isBarred, sinceMs: Number(json.sinceMs) } }];
}
