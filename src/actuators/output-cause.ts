/** Tells what has made an output follow another slot, where no command and no edge of a rule tells it. */
import type { Sentence } from '../errors/sentence.ts';
import { sentence } from '../names/sentences.ts';
import type { RuleSlot, SlotEvent, Slots } from './priority-slots.ts';

/** Returns the cause; undefined for what whoever has sent the event tells. */
export function causeOf(event: SlotEvent, before: Slots, after: Slots): Sentence | undefined {
  switch (event.kind) {
    case 'timePassed':
      return sentence('causeTimeOver');
    case 'minOffEnded':
      return sentence('causePauseOver');
    case 'released':
      return event.by === 'shared' ? sentence('causeAttributeGone') : undefined;
    case 'sensorLost':
      return sentence('causeSensorLost', { rule: event.rule });
    case 'read':
      return causeOfReading(
        event.rule,
        before.rules.find(({ name }) => name === event.rule),
        after.rules.find(({ name }) => name === event.rule),
      );
    case 'configured':
      return causeOfRules(before.rules, after.rules);
    default:
      return undefined;
  }
}

function causeOfReading(rule: string, before: RuleSlot | undefined, after: RuleSlot | undefined): Sentence | undefined {
  if (before?.phase === 'unread' && after?.phase === 'otherwise') return sentence('causeFirstReading', { rule });
  return before?.isLost === true && before.phase === after?.phase ? sentence('causeSensorBack', { rule }) : undefined;
}

function causeOfRules(before: readonly RuleSlot[], after: readonly RuleSlot[]): Sentence {
  const find = (rules: readonly RuleSlot[], name: string): RuleSlot | undefined =>
    rules.find((rule) => rule.name === name);
  const gone = before.filter(({ name }) => find(after, name) === undefined);
  const changed = after.filter((rule) => find(before, rule.name) !== undefined && find(before, rule.name) !== rule);
  const all = [
    ...gone.map(({ name }) => sentence('causeRuleGone', { rule: name })),
    ...changed.map(({ name }) => sentence('causeRuleChanged', { rule: name })),
  ];
  return all.length === 0 ? sentence('causeRulesReordered') : sentence('enumerated', { all });
}
