/** Tells in words what has made an output follow another slot, where no command and no edge of a rule tells it. */
import type { RuleSlot, SlotEvent, Slots } from './priority-slots.ts';

/** Returns the cause; undefined for what whoever has sent the event tells. */
export function causeOf(event: SlotEvent, before: Slots, after: Slots): string | undefined {
  switch (event.kind) {
    case 'timePassed':
      return "the time of the operator's command is over";
    case 'minOffEnded':
      return 'the pause after its longest time on is over';
    case 'released':
      return event.by === 'shared' ? 'its shared attribute was deleted' : undefined;
    case 'sensorLost':
      return `rule ${event.rule} has lost its sensor`;
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

function causeOfReading(rule: string, before: RuleSlot | undefined, after: RuleSlot | undefined): string | undefined {
  if (before?.phase === 'unread' && after?.phase === 'otherwise') return `rule ${rule} has its first reading`;
  return before?.isLost === true && before.phase === after?.phase ? `the sensor of rule ${rule} is back` : undefined;
}

function causeOfRules(before: readonly RuleSlot[], after: readonly RuleSlot[]): string | undefined {
  const find = (rules: readonly RuleSlot[], name: string): RuleSlot | undefined =>
    rules.find((rule) => rule.name === name);
  const gone = before.filter(({ name }) => find(after, name) === undefined);
  const changed = after.filter((rule) => find(before, rule.name) !== undefined && find(before, rule.name) !== rule);
  const words = [
    ...gone.map(({ name }) => `rule ${name} was removed or disabled`),
    ...changed.map(({ name }) => `rule ${name} was changed`),
  ];
  return words.length === 0 ? 'its rules stand in another order' : words.join(', ');
}
