/** Troubles, which come first on the page: alarms with their limits and what they move, the lockout, and things that a person should know of. */
import { breakable, byId, el, keepList, setText } from '../shared/dom.js';
import { say, told } from '../shared/texts.js';
import { called, duration, instant, limitOf, nameOfAlarm, shown } from '../shared/words.js';
import { isChangeAlert } from './configuration.js';
import { mayConfigure, mayControl } from './facts.js';
import { ask, sayAnswer } from './switching.js';

export function renderAttention(view) {
  const { alarms = [], lockedOut, platform } = view;
  // The head says it already, or the notice of a change.
  const alerts = view.alerts.filter(
    (text) =>
      (alarms.length > 0 || platform.verdict !== 'fault' || text !== platform.words) &&
      !(mayConfigure() === true && isChangeAlert(view, text)),
  );
  byId('attention').hidden = alarms.length === 0 && alerts.length === 0 && !lockedOut;
  byId('lockout').hidden = !lockedOut;
  keepList(byId('alarm-list'), alarms, {
    keyOf: ({ device = '', key, keyLabel = '', name }) => `${device} ${key} ${keyLabel} ${name}`,
    make: (alarm) => makeAlarm(alarm),
    update: (element, alarm) => updateAlarm(element, alarm, view),
  });
  keepList(byId('alert-list'), alerts, {
    keyOf: (text) => text,
    make: (text) => el('li', { class: 'notice warn' }, told(text)),
  });
}

function makeAlarm({ sensor, key, keyLabel: label, name }) {
  const said = el('p', { class: 'said', role: 'status' });
  const acknowledge = async () => {
    sayAnswer(said, { ok: true, words: say('sent') });
    const answer = await ask('acknowledgeAlarm', { sensor, key, name }, '');
    button.hidden = answer.ok;
    sayAnswer(said, answer);
  };
  const button = el(
    'button',
    { type: 'button', class: 'acknowledge', onclick: () => void acknowledge() },
    say('acknowledge'),
  );
  return el(
    'li',
    { class: 'notice bad alarm' },
    el(
      'div',
      {},
      el('strong', { class: 'name' }, el('bdi', {}, ...breakable(called({ label, key })))),
      ' ',
      el('span', { class: 'limit' }),
    ),
    el('span', { class: 'value' }),
    el('p', { class: 'more' }),
    button,
    said,
  );
}

function updateAlarm(element, alarm, { nowMs, wallMs, actuators, sensors }) {
  const { unit, value, sinceMs, isFromStart } = alarm;
  const device = [alarm.device, sensorOf(alarm, sensors)].filter((part) => part !== undefined).join(', ') || undefined;
  const moves = alarm.moves.map((name) => actuators.find((output) => output.name === name)?.label ?? name);
  setText(
    element.querySelector('.limit'),
    say('alarmLimit', { limit: limitOf(alarm, unit), name: nameOfAlarm(alarm) }),
  );
  setText(element.querySelector('.value'), shown(value, alarm));
  const forMs = nowMs - sinceMs;
  const [since, time] = [instant(wallMs - forMs), duration(forMs / 1000)];
  const { acknowledged } = alarm;
  const seen = acknowledged === undefined ? '' : ` ${acknowledgedWords(acknowledged)}`;
  setText(element.querySelector('.more'), `${say('alarmMore', { device, since, time, moves, isFromStart })}${seen}`);
  element.querySelector('.acknowledge').hidden = acknowledged !== undefined || !mayControl();
}

/** Returns how people call the sensor of an alarm, where the name of the value does not begin with it. */
function sensorOf({ sensor, key, keyLabel }, sensors) {
  const title = called({ label: sensors.find(({ name }) => name === sensor)?.label, key: sensor });
  const value = called({ label: keyLabel, key }).toLowerCase();
  return value.startsWith(title.toLowerCase()) ? undefined : title;
}

const ASKERS = { page: say('onThePage'), local: say('atTheDevice'), platform: say('atThePlatform') };

function acknowledgedWords({ by, atMs }) {
  return say('acknowledgedBy', { by: ASKERS[by] ?? by, at: instant(atMs) });
}

/** True for a reading with an alarm that is on. */
export function hasAlarm({ alarms = [] }, sensor, key) {
  return alarms.some((alarm) => alarm.sensor === sensor && alarm.key === key);
}
