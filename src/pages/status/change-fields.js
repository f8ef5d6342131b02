/** Fields of what can be changed on the page, with their words: of a sensor by its settings, of an output, and of a sensor that was found. */

import { say, told } from '../shared/texts.js';
import { called } from '../shared/words.js';

const TEXT = { kind: 'text' };
const MAX_LABEL = 64;

/** Returns groups `{ title, fields, notes }` of a sensor; the first has no title. */
export function sensorGroups({ path, label, period, keys }) {
  return [
    {
      fields: [
        labelField(path, label),
        make({
          path: `${path}.period`,
          words: say('period'),
          before: period,
          kind: 'span',
          hint: say('periodHint'),
          required: true,
        }),
      ],
      notes: [],
    },
    ...keys.map((key) => keyGroup(key)),
  ];
}

export function outputGroups({ name, label }) {
  return [{ fields: [labelField(`actuators.${name}`, label)], notes: [] }];
}

/** Returns the fields of a new sensor; they make an item of their own, whose members go by `member`. */
export function newGroups({ name, label = '', period = '', prefix = '' }) {
  const path = `sensors.${name}`;
  const fields = [
    make({
      path: `${path}.name`,
      words: say('newName'),
      before: '',
      value: name,
      hint: say('newNameHint'),
      required: true,
      member: 'name',
    }),
    Object.assign(labelField(path), { value: label, member: 'label' }),
    make({
      path: `${path}.period`,
      words: say('period'),
      before: '',
      value: period,
      kind: 'span',
      hint: say('newPeriodHint'),
      member: 'period',
    }),
    make({
      path: `${path}.prefix`,
      words: say('prefix'),
      before: '',
      value: prefix,
      hint: say('prefixHint'),
      member: 'prefix',
    }),
  ];
  return [{ fields, notes: [] }];
}

function make(field) {
  return Object.assign({ value: field.before }, TEXT, field);
}

function labelField(path, label = '') {
  return make({
    path: `${path}.label`,
    words: say('label'),
    before: label,
    maxlength: MAX_LABEL,
    hint: say('labelHint'),
  });
}

function keyGroup({ path, key, label, unit = '', type, alarms }) {
  const isRest = key === '*';
  const title = isRest ? say('otherKeys') : called({ label, key });
  const compared = alarms.filter(isLimit);
  const isNumber = type === 'number' || type === undefined;
  const missing = ['above', 'below'].filter((how) => !compared.some((alarm) => typeof alarm[how] === 'number'));
  return {
    title,
    isOpen: alarms.length > 0,
    fields: [
      ...(isRest ? [] : [labelField(path, label)]),
      ...compared.flatMap((alarm) => limitFields(alarm, unit)),
      ...(isNumber ? missing.map((how) => newLimit(`${path}.alarms`, how, unit)) : []),
    ],
    notes: alarms.filter((alarm) => !isLimit(alarm)).map(({ limit }) => say('alarmOnSite', { limit: told(limit) })),
  };
}

/** One comparison with a number; times and several conditions are changed in the file. */
function isLimit({ above, below, limit }) {
  const number = above ?? below;
  return typeof number === 'number' && /^(above|below) \S+$/.test(limit);
}

function limitFields(alarm, unit) {
  const how = typeof alarm.above === 'number' ? 'above' : 'below';
  const name = alarm.label ?? alarm.name;
  const limit = {
    path: `${alarm.path}.${how}`,
    words: say(how === 'above' ? 'alarmAbove' : 'alarmBelow', { name, unit }),
    before: String(alarm[how]),
    kind: 'alarm',
    hint: say('limitHint'),
    item: alarm.path,
    unit,
  };
  const back = {
    path: `${alarm.path}.hysteresis`,
    words: say('alarmBack', { unit }),
    before: String(alarm.hysteresis),
    kind: 'number',
    least: 0,
    item: alarm.path,
    unit,
  };
  return alarm.hysteresis > 0 ? [make(limit), make(back)] : [make(limit)];
}

function newLimit(path, how, unit) {
  const words = say(how === 'above' ? 'alarmAbove' : 'alarmBelow', { unit });
  return make({ path, words, before: '', kind: 'newAlarm', how, unit });
}
