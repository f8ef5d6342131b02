/**
 * The slots of one output, and which of them it follows: the highest that is filled. Pure: no clock, no disk, no driver. A source that begins
 * or ends is an event; times come in with it.
 *
 *   limit > protect > pulse > operator > rule > noContact > base
 */
import { type ActuatorValue, isActive, type Writer } from './kind/actuator.ts';
import type { Ended, RuleSlot, RuleWords, SlotEvent, SlotName, Slots, Winner } from './priority-slots.ts';

const REMOTE: ReadonlySet<Writer> = new Set(['rpc', 'shared']);

/** Returns the highest filled slot; undefined when nothing is filled and the output stays as it is. */
export function arbitrate(slots: Slots): Winner | undefined {
  return (
    filledSlots(slots)[0] ?? (slots.goesOff && slots.off !== undefined ? { slot: 'none', value: slots.off } : undefined)
  );
}

/** Every filled slot, the highest first. */
export function filledSlots({ off, limit, pulse, operator, rules, noContact, base }: Slots): readonly Winner[] {
  const said = rules.flatMap((rule) => {
    const value = wordOf(rule);
    return value === undefined ? [] : [{ rule, value }];
  });
  const isSet = ({ rule }: (typeof said)[number]): boolean => rule.phase === 'set' && !rule.isLost;
  const isProtecting = ({ rule }: (typeof said)[number]): boolean =>
    rule.protect && (isSet({ rule, value: rule.set }) || rule.isLost);
  const byRule =
    (slot: SlotName) =>
    ({ rule, value }: (typeof said)[number]): Winner => ({
      slot,
      value,
      rule: rule.name,
      by: 'rule',
      sinceMs: rule.sinceMs,
    });
  const usual = said.filter((one) => !isProtecting(one));
  return [
    ...(limit !== undefined && off !== undefined ? [{ slot: 'limit', value: off, sinceMs: limit } as const] : []),
    ...said.filter(isProtecting).map(byRule('protect')),
    ...(pulse === undefined ? [] : [{ slot: 'pulse', value: true, ...pulse } as const]),
    ...(operator === undefined
      ? []
      : [{ slot: 'operator', value: operator.value, by: operator.by, sinceMs: operator.sinceMs } as const]),
    ...[...usual.filter(isSet), ...usual.filter((one) => !isSet(one))].map(byRule('rule')),
    ...(noContact === undefined ? [] : [{ slot: 'noContact', ...noContact } as const]),
    ...(base === undefined ? [] : [{ slot: 'base', value: base.value, rule: base.rule } as const]),
  ];
}

/** The slots after an event; the same object when nothing has changed. */
export function reduce(slots: Slots, event: SlotEvent): Slots {
  const after = applied(slots, event);
  if (after === slots) return slots;
  if (filledSlots(after).length > 0) return after.goesOff ? { ...after, goesOff: false } : after;
  const endsPulse = event.kind === 'pulseEnded' || (slots.pulse !== undefined && after.pulse === undefined);
  return endsPulse || after.rules.some(({ isLost }) => isLost) ? { ...after, goesOff: true } : after;
}

function applied(slots: Slots, event: SlotEvent): Slots {
  const { operator } = slots;
  switch (event.kind) {
    case 'started':
      return { ...slots, start: event.start, ...(slots.base?.rule === undefined && { base: baseOf(event.start) }) };
    case 'commanded': {
      const { value } = event.operator;
      const isOff = !isActive(value);
      return {
        ...slots,
        operator: { ...event.operator, sinceMs: event.atMs },
        left: value,
        ...(isOff && { pulse: undefined }),
      };
    }
    case 'released':
      return slots.pulse === undefined && operator === undefined
        ? slots
        : { ...withoutOperator(slots, event.why, event), pulse: undefined };
    case 'timePassed':
      return operator?.untilMs === undefined || operator.untilMs > event.atMs
        ? slots
        : withoutOperator(slots, 'time', event);
    case 'unmoved':
      return operator === event.operator ? withoutOperator(slots, 'failed', event) : slots;
    case 'pulseBegan':
      return { ...slots, pulse: { by: event.by, sinceMs: event.atMs } };
    case 'pulseEnded':
      return { ...slots, pulse: undefined };
    case 'silent': {
      const noContact = slots.noContact ?? { value: event.value, sinceMs: event.atMs };
      if (operator === undefined || !REMOTE.has(operator.by)) return { ...slots, noContact };
      return { ...withoutOperator(slots, 'no contact', event), noContact, left: undefined };
    }
    case 'heard':
      return slots.noContact === undefined ? slots : { ...slots, noContact: undefined };
    case 'maxOnEnded':
      return limited(slots, event);
    case 'minOffEnded':
      return slots.limit === undefined ? slots : { ...slots, limit: undefined };
    case 'read':
      return read(slots, event);
    case 'sensorLost':
      return lost(slots, event);
    case 'configured':
      return configured(slots, event);
  }
}

/** Whatever says on is emptied, and fills again by a new wish alone. */
function limited(slots: Slots, event: SlotEvent): Slots {
  const { operator, noContact, base, start } = slots;
  const kept = <T extends { readonly value: ActuatorValue }>(one: T | undefined): T | undefined =>
    one === undefined || isActive(one.value) ? undefined : one;
  const ended = operator !== undefined && isActive(operator.value) ? withoutOperator(slots, 'maxOn', event) : slots;
  return {
    ...ended,
    limit: event.atMs,
    pulse: undefined,
    noContact: kept(noContact),
    base: kept(base),
    start: start === undefined || isActive(start) ? undefined : start,
    left: slots.left !== undefined && isActive(slots.left) ? slots.off : slots.left,
    rules: slots.rules.map((rule) => ({ ...rule, isBarred: rule.isBarred || isActive(wordOf(rule) ?? false) })),
  };
}

function read(slots: Slots, event: Extract<SlotEvent, { kind: 'read' }>): Slots {
  const before = slots.rules.find(({ name }) => name === event.rule);
  if (before === undefined) return slots;
  const phase = event.holds ? 'set' : 'otherwise';
  const set = event.set ?? before.set;
  const isEdge = phase !== before.phase;
  if (!isEdge && !before.isLost && set === before.set) return slots;
  // A curve that was off wishes anew when it says on.
  const isBarred = before.isBarred && !isEdge && (isActive(before.set) || !isActive(set));
  const now: RuleSlot = {
    ...before,
    phase,
    set,
    isLost: false,
    isBarred,
    ...(isEdge && { sinceMs: event.atMs }),
  };
  const after = { ...slots, rules: slots.rules.map((rule) => (rule === before ? now : rule)) };
  const inForce = arbitrate(slots);
  const isLatch =
    before.phase === 'set' &&
    isEdge &&
    before.otherwise === undefined &&
    inForce?.slot === 'rule' &&
    inForce.rule === before.name;
  const leaves = isLatch ? inForce.value : undefined;
  const left = leaves === undefined ? after : { ...after, base: { value: leaves, rule: before.name } };
  // A rule that was there before the operator spoke, and says something only now, is no change.
  const isNews = before.phase !== 'unread' || (slots.operator?.sinceMs ?? event.atMs) < before.sinceMs;
  return isNews ? heeded(slots, left, event) : left;
}

function lost(slots: Slots, event: Extract<SlotEvent, { kind: 'sensorLost' }>): Slots {
  if (!slots.rules.some(({ name, isLost }) => name === event.rule && !isLost)) return slots;
  const rules = slots.rules.map((rule) => (rule.name === event.rule ? { ...rule, isLost: true } : rule));
  return { ...slots, rules, ...(slots.base?.rule === event.rule && { base: baseOf(slots.start) }) };
}

/** Takes up changed rules: one that is known goes on in the phase that it is in, and its next reading judges it by its new condition. */
function configured(slots: Slots, event: Extract<SlotEvent, { kind: 'configured' }>): Slots {
  const known = (words: RuleWords): RuleSlot | undefined => slots.rules.find(({ name }) => name === words.name);
  const rules = event.rules.map((words): RuleSlot => {
    const before = known(words);
    if (before === undefined) return { ...words, phase: 'unread', isLost: false, isBarred: false, sinceMs: event.atMs };
    if (before.version === words.version) return before;
    return { ...before, ...words, set: words.isCurve === true ? before.set : words.set };
  });
  if (rules.length === slots.rules.length && rules.every((rule, at) => rule === slots.rules[at])) return slots;
  const isLeft = slots.base?.rule === undefined || rules.some(({ name }) => name === slots.base?.rule);
  const after = { ...slots, rules, ...(!isLeft && { base: baseOf(slots.start) }) };
  // A restart is no change of what the rules say.
  return event.isStart === true
    ? after
    : heeded(slots, after, event, { ...after, rules: event.rules.flatMap((words) => known(words) ?? []) });
}

/** An operator without a time gives way when what the rules together say has changed. */
function heeded(before: Slots, after: Slots, event: SlotEvent, judged: Slots = after): Slots {
  const { operator } = after;
  if (operator === undefined || operator.untilMs !== undefined || operator.until === 'release') return after;
  const [then, now] = [rulesSay(before), rulesSay(judged)];
  const isSame = then?.value === now?.value || (then?.rule === now?.rule && then?.phase === now?.phase);
  return isSame ? after : withoutOperator(after, 'ruleChange', event);
}

/** By their last readings: neither a lost sensor nor the limit changes it. */
function rulesSay({
  rules,
}: Slots): { readonly value: ActuatorValue; readonly rule: string; readonly phase: string } | undefined {
  const set = rules.find(({ phase, protect }) => phase === 'set' && !protect);
  if (set !== undefined) return { value: set.set, rule: set.name, phase: 'set' };
  const rest = rules.find(({ phase, otherwise }) => phase === 'otherwise' && otherwise !== undefined);
  return rest?.otherwise === undefined ? undefined : { value: rest.otherwise, rule: rest.name, phase: 'otherwise' };
}

function wordOf({ phase, isLost, isBarred, ...rule }: RuleSlot): ActuatorValue | undefined {
  const value = isLost
    ? rule.sensorLost
    : phase === 'set'
      ? rule.set
      : phase === 'otherwise'
        ? rule.otherwise
        : undefined;
  return value !== undefined && isBarred && isActive(value) ? undefined : value;
}

function baseOf(value: ActuatorValue | undefined): Slots['base'] {
  return value === undefined ? undefined : { value };
}

function withoutOperator(slots: Slots, why: Ended['why'], { atMs }: SlotEvent): Slots {
  const { operator } = slots;
  if (operator === undefined) return slots;
  const left = why === 'safe state' ? slots.left : undefined;
  return { ...slots, operator: undefined, left, ended: { value: operator.value, by: operator.by, why, atMs } };
}
