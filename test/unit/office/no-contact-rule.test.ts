/** The rule "no contact" against the states that the platform keeps of a device, in the order in which its server saves them. No server was asked. */
import { expect, it } from 'vitest';
import { alarmRules } from '../../../src/office/platform-setup/alarm-rules.ts';
import type { JsonObject, JsonValue } from '../../../src/values/json.ts';

interface Filter {
  readonly argument: string;
  readonly operation: 'AND' | 'OR';
  readonly predicates: readonly { readonly operation: string; readonly value: { readonly staticValue: JsonValue } }[];
}
interface Condition {
  readonly condition: { readonly expression: { readonly filters: readonly Filter[] } };
}
interface AlarmField {
  readonly name: string;
  readonly configuration: {
    readonly arguments: Readonly<Record<string, { readonly refEntityKey: { readonly key: string } }>>;
    readonly createRules: Readonly<Record<string, Condition>>;
    readonly clearRule: Condition;
  };
}

const fields = alarmRules([]) as unknown as readonly AlarmField[]; // the shape that the platform's page shows
const rule = (fields.find(({ name }) => name === 'Turnstone: no contact') ?? expect.fail('no rule')).configuration;

/** State of the alarm after each of some states of the attributes; a field says nothing while an argument is missing. */
function alarmAfter(states: readonly JsonObject[]): readonly boolean[] {
  let isRaised = false;
  return states.map((attributes) => {
    const values = Object.fromEntries(
      Object.entries(rule.arguments).map(([name, { refEntityKey }]) => [name, attributes[refEntityKey.key]]),
    );
    if (Object.values(values).includes(undefined)) return isRaised;
    const holds = ({ condition }: Condition): boolean =>
      condition.expression.filters.every(({ argument, operation, predicates }) => {
        const results = predicates.map(({ operation: compared, value: { staticValue } }) =>
          compared === 'GREATER' ? Number(values[argument]) > Number(staticValue) : values[argument] === staticValue,
        );
        return operation === 'AND' ? results.every(Boolean) : results.some(Boolean);
      });
    if (isRaised) isRaised = !holds(rule.clearRule);
    else isRaised = Object.values(rule.createRules).some(holds);
    return isRaised;
  });
}

it('is not raised at a provisioning: inactive from the creation to the first activity', () => {
  const states: JsonObject[] = [
    { active: false },
    { active: false, lastConnectTime: 5 },
    { active: false, lastConnectTime: 5, lastActivityTime: 6 },
    { active: true, lastConnectTime: 5, lastActivityTime: 6 },
  ];
  expect(alarmAfter(states)).toEqual([false, false, false, false]);
});

it('is not raised by a device that was made and never came', () => {
  expect(alarmAfter([{ active: false }, { active: false, inactivityAlarmTime: 600_000 }])).toEqual([false, false]);
  expect(alarmAfter([{ active: false, lastActivityTime: 0, inactivityAlarmTime: 600_000 }])).toEqual([false]);
});

it('is raised when contact ends, cleared when it is back, and raised again', () => {
  const met = { active: true, lastActivityTime: 6 };
  const lost = { active: false, lastActivityTime: 6, inactivityAlarmTime: 700 };
  const back = { active: true, lastActivityTime: 900, inactivityAlarmTime: 700 };
  expect(alarmAfter([met, { ...met, active: false }, lost, { ...lost, lastActivityTime: 900 }, back])).toEqual([
    false,
    false,
    true,
    true,
    false,
  ]);
  expect(alarmAfter([back, { ...back, active: false }])).toEqual([false, true]);
});
