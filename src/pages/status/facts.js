/** Facts that do not change from second to second: where a sensor is, what is reported when, limits. Asked for once, and again after a contact was lost. */
import { say, told } from '../shared/texts.js';
import { called, duration, instant, limitOf, nameOfAlarm, plain } from '../shared/words.js';

/** Limits that a card shows. */
const MAX_GLANCED = 3;
const NONE = { mayControl: false, sensors: {}, outputs: {} };
let facts = NONE;
let asked;

/** Resolves when they are here, with true for who has asked for them; what could not be had is asked for again by the next. */
export async function loadFacts() {
  const isFirst = asked === undefined;
  asked ??= fetch('/api/facts').then(async (answer) => {
    if (!answer.ok) throw new Error(`answered ${answer.status}`);
    facts = await answer.json();
  });
  try {
    await asked;
    return isFirst;
  } catch {
    asked = undefined;
    return false;
  }
}

export function forgetFacts() {
  asked = undefined;
}

export function mayControl() {
  return facts.mayControl;
}

/** The page may change the configuration; undefined while the facts are not here. */
export function mayConfigure() {
  return facts === NONE ? undefined : facts.mayConfigure === true;
}

export function outputFacts(name) {
  return facts.outputs[name];
}

export function readingFacts(sensor, key) {
  return facts.sensors[sensor]?.readings[key];
}

/** Sentences on one reading: whose it is, where it comes from, when it was read, what of it is sent. */
export function readingWords({ sensor, key, unit, device, atMs }) {
  const of = facts.sensors[sensor];
  const own = readingFacts(sensor, key);
  const place = [own?.source, of?.source].filter(Boolean).join(', ');
  return [
    say('sensorOf', { sensor, device, place }),
    own?.driverKey === undefined ? '' : say('sensorKey', { key: own.driverKey }),
    unit === undefined || unit === '' ? say('noUnit') : say('inUnit', { unit }),
    say('readAt', { at: instant(atMs) }),
    of === undefined ? '' : reportWords(of, own ?? { isReported: true }),
    ...(own?.alarms ?? []).map((alarm) => alarmWords(alarm)),
  ]
    .filter(Boolean)
    .join(' ');
}

/** The period of a sensor and its alarm limits, as few as can be taken in at a glance; empty while the facts are not here. */
export function settingWords({ name, readings }) {
  const { periodMs } = facts.sensors[name] ?? {};
  if (periodMs === undefined) return '';
  const limits = readings.flatMap(({ key, label, unit }) =>
    (readingFacts(name, key)?.alarms ?? []).map((alarm) =>
      say('alarmShort', { key: called({ label, key }), limit: limitOf(alarm, unit) }),
    ),
  );
  const alarms = limits.length > MAX_GLANCED ? [say('alarmCount', { count: limits.length })] : limits;
  return [say('readEvery', { period: time(periodMs) }), ...alarms].join('; ');
}

function reportWords({ periodMs, windowMs }, { isReported, deadband = 0, minIntervalMs, maxIntervalMs }) {
  const every =
    windowMs === undefined
      ? say('readEvery', { period: time(periodMs) })
      : say('madeOf', { span: time(windowMs), period: time(periodMs) });
  if (!isReported) return say('notSent', { every });
  // "5 %" is a share.
  const least = Number.parseFloat(deadband);
  const change = typeof deadband === 'string' ? `${plain(least)} %` : plain(least);
  const when = [
    least > 0 ? say('aChange', { change }) : say('eachValue'),
    minIntervalMs > 0 ? say('atMostEvery', { time: time(minIntervalMs) }) : '',
    maxIntervalMs > 0 ? say('atLeastEvery', { time: time(maxIntervalMs) }) : '',
  ].filter(Boolean);
  return say('sentWhen', { every, when });
}

function alarmWords(alarm) {
  const back = alarm.hysteresis > 0 ? plain(alarm.hysteresis) : undefined;
  return say('alarmRule', { limit: limitOf(alarm), name: nameOfAlarm(alarm), back });
}

/** Sentences on one output: where it is, and its limits. */
export function outputWords(name, kind) {
  const { source, limits = {}, interlocks = [] } = facts.outputs[name] ?? {};
  const { min, max, minOnMs, minOffMs, maxOnMs, maxSwitchesPerHour } = limits;
  return [
    source === undefined ? `${kind}.` : `${kind}: ${told(source)}.`,
    min === undefined && max === undefined
      ? ''
      : say('outputRange', { min: plain(min ?? '…'), max: plain(max ?? '…') }),
    minOnMs > 0 ? say('outputMinOn', { time: time(minOnMs) }) : '',
    minOffMs > 0 ? say('outputMinOff', { time: time(minOffMs) }) : '',
    maxOnMs > 0 ? say('outputMaxOn', { time: time(maxOnMs) }) : '',
    maxSwitchesPerHour > 0 ? say('outputStarts', { count: maxSwitchesPerHour }) : '',
    interlocks.length === 0 ? '' : say('outputInterlocks', { names: interlocks }),
  ]
    .filter(Boolean)
    .join(' ');
}

function time(ms) {
  return ms < 1_000 ? `${ms} ms` : duration(ms / 1_000);
}
