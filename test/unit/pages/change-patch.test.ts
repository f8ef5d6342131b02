/** Patches of what somebody types on the page: what differs alone, in the agent's own form, and faults at the fields that they are about. */
import { expect, it } from 'vitest';

interface Field {
  readonly path: string;
  readonly before: string;
  readonly value: string;
  readonly kind: string;
  readonly item?: string;
  readonly how?: string;
  readonly member?: string;
  readonly least?: number;
}
interface Patches {
  patchOf(base: string, fields: readonly Field[]): object;
  additionOf(base: string, sensor: object, fields: readonly Field[]): object;
  fieldsOfLine(line: string, fields: readonly Field[]): { path: string; words: string; fields: readonly Field[] };
  changedFields(fields: readonly Field[]): readonly Field[];
  wrongNumbers(fields: readonly Field[]): readonly Field[];
  fieldOfFault(fault: { readonly path: string }, fields: readonly Field[]): Field | undefined;
}

const { patchOf, additionOf, changedFields, wrongNumbers, fieldsOfLine, fieldOfFault } = (await import(
  new URL('../../../src/pages/status/change-patch.js', import.meta.url).href
)) as Patches;

const KEY = 'sensors.freezer.keys["1-0:1.8.0"]';
const ITEM = `${KEY}.alarms[0]`;
const field = (path: string, before: string, value: string, more: Partial<Field> = {}): Field => ({
  kind: 'text',
  path,
  before,
  value,
  ...more,
});
const limit = (value: string): Field => field(`${ITEM}.above`, '-15', value, { kind: 'alarm', item: ITEM });
const back = (value: string): Field => field(`${ITEM}.hysteresis`, '1', value, { kind: 'number', item: ITEM });
const fresh = (how: string, value: string): Field => field(`${KEY}.alarms`, '', value, { kind: 'newAlarm', how });

it('has what differs, as text or number, and takes out what was emptied', () => {
  expect(
    patchOf('b', [
      field('sensors.freezer.label', 'Old', ' '),
      field('sensors.freezer.period', '10s', ' 30s '),
      field('actuators.pump.label', 'Pump', 'Pump '),
      limit('-12.5'),
      back('2'),
    ]),
  ).toEqual({
    base: 'b',
    set: { 'sensors.freezer.period': '30s', [`${ITEM}.above`]: -12.5, [`${ITEM}.hysteresis`]: 2 },
    remove: ['sensors.freezer.label'],
  });
});

it('has numbers and spans as people type them, and no change where they say the same', () => {
  const period = (value: string): Field => field('sensors.freezer.period', '10s', value, { kind: 'span' });
  expect(patchOf('b', [period('1h 30 min'), limit('-17,5'), fresh('below', '-20,25')])).toEqual({
    base: 'b',
    set: { 'sensors.freezer.period': '1h30m', [`${ITEM}.above`]: -17.5 },
    add: { [`${KEY}.alarms`]: [{ below: -20.25 }] },
  });
  expect(changedFields([period('10 s'), limit('-15,0'), back('1.0')])).toEqual([]);
});

it('knows where a number is needed and none was typed', () => {
  const [good, empty, words, low] = [
    limit('-12'),
    limit(''),
    limit('abc'),
    field('x', '1', '-1', { kind: 'number', least: 0 }),
  ];
  expect(wrongNumbers([good, empty, words, low, field('l', '', 'abc')] as Field[])).toEqual([words, low]);
});

it('takes a whole alarm out where its limit was emptied, and changes nothing in it', () => {
  expect(patchOf('b', [limit(''), back('2')])).toEqual({ base: 'b', remove: [ITEM] });
});

it('adds an alarm for each new limit of a key', () => {
  expect(patchOf('b', [fresh('above', '5'), fresh('below', '0')])).toEqual({
    base: 'b',
    add: { [`${KEY}.alarms`]: [{ above: 5 }, { below: 0 }] },
  });
});

it('adds a sensor with what was typed, and leaves out what was emptied', () => {
  const fields = [
    field('sensors.meter.name', '', 'main', { member: 'name' }),
    field('sensors.meter.label', '', '', { member: 'label' }),
    field('sensors.meter.prefix', '', '', { member: 'prefix' }),
  ];
  expect(additionOf('b', { name: 'meter', kind: 'modbus', unitId: 3, prefix: 'm_' }, fields)).toEqual({
    base: 'b',
    add: { sensors: [{ name: 'main', kind: 'modbus', unitId: 3 }] },
  });
});

it('finds the fields of a line of the difference, which tells of a list as a whole', () => {
  const fields = [limit('-12'), field('sensors.freezer.label', '', 'x')];
  expect(fieldsOfLine(`${KEY}.alarms: changed`, fields)).toEqual({
    path: `${KEY}.alarms`,
    words: 'changed',
    fields: [fields[0]],
  });
  expect(fieldsOfLine('sensors.freezer.label: added, a: b', fields).words).toBe('added, a: b');
  expect(fieldsOfLine('sensors.freezer.lab: changed', fields).fields).toEqual([]);
});

it('finds the field of a fault, which names a sensor by its number, and none for another place', () => {
  const fields = [limit('-12'), field('sensors.freezer.period', '10s', '1ms')];
  expect(fieldOfFault({ path: 'sensors[3].period' }, fields)).toBe(fields[1]);
  expect(fieldOfFault({ path: 'sensors[3].keys.1-0:1.8.0.alarms[0].above' }, fields)).toBe(fields[0]);
  expect(fieldOfFault({ path: 'sensors.freezer.period' }, fields)).toBe(fields[1]);
  expect([fieldOfFault({ path: 'sensors' }, fields), fieldOfFault({ path: '' }, fields)]).toEqual([
    undefined,
    undefined,
  ]);
});
