/** Troubles, which come first on the page: alarms with their limits and what they move, the lockout, and things that a person should know of. */
import { breakable, byId, el, keepList, setText } from '../shared/dom.js';
import { duration, instant, reading } from '../shared/words.js';

export function renderAttention(view) {
  const { alarms = [], lockedOut, platform } = view;
  // The head says it already.
  const alerts = view.alerts.filter((text) => alarms.length > 0 || platform.verdict !== 'fault' || text !== platform.words);
  byId('attention').hidden = alarms.length === 0 && alerts.length === 0 && !lockedOut;
  byId('lockout').hidden = !lockedOut;
  keepList(byId('alarm-list'), alarms, {
    keyOf: ({ device = '', key, name }) => `${device} ${key} ${name}`,
    make: makeAlarm,
    update: (element, alarm) => updateAlarm(element, alarm, view),
  });
  keepList(byId('alert-list'), alerts, { keyOf: (text) => text, make: (text) => el('li', { class: 'notice warn' }, text) });
}

function makeAlarm({ key }) {
  return el(
    'li',
    { class: 'notice bad alarm' },
    el('div', {}, el('strong', { class: 'name' }, ...breakable(key)), ' ', el('span', { class: 'limit' })),
    el('span', { class: 'value' }),
    el('p', { class: 'more' }),
  );
}

function updateAlarm(element, alarm, { nowMs, wallMs, sensors }) {
  const { sensor, key, device, name, above, below, value, sinceMs, moves } = alarm;
  const limit = above === undefined ? `below ${below}` : `above ${above}`;
  const unit = sensors.find((one) => one.name === sensor)?.readings.find((one) => one.key === key)?.unit;
  setText(element.querySelector('.limit'), name === limit ? `is ${limit}` : `is ${limit}: ${name}`);
  setText(element.querySelector('.value'), reading(value, unit));
  const forMs = nowMs - sinceMs;
  const since = `Since ${instant(wallMs - forMs)}, for ${duration(forMs / 1000)}.`;
  const moved = moves.length === 0 ? '' : ` It moves ${moves.join(', ')}.`;
  setText(element.querySelector('.more'), `${device === undefined ? '' : `${device}. `}${since}${moved}`);
}

/** True for a reading with an alarm that is on. */
export function hasAlarm({ alarms = [] }, sensor, key) {
  return alarms.some((alarm) => alarm.sensor === sensor && alarm.key === key);
}
