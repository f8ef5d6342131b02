/** Facts that do not change from second to second: where a sensor is, what is reported when, limits. Asked for once, and again after a contact was lost. */
import { counted, duration, instant, plain } from '../shared/words.js';

let facts = { mayControl: false, sensors: {}, outputs: {} };
let asked;

/** Resolves when they are here; what could not be had is asked for again by the next. */
export function loadFacts() {
  asked ??= fetch('/api/facts').then(async (answer) => {
    if (!answer.ok) throw new Error(`answered ${answer.status}`);
    facts = await answer.json();
  });
  return asked.catch(() => {
    asked = undefined;
  });
}

export function forgetFacts() {
  asked = undefined;
}

export function mayControl() {
  return facts.mayControl;
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
  const whose = device === undefined ? '' : ` of ${device}`;
  return [
    `Sensor ${sensor}${whose}${place === '' ? '' : `: ${place}`}.`,
    own?.driverKey === undefined ? '' : `The sensor calls it ${own.driverKey}.`,
    unit === undefined || unit === '' ? 'It has no unit.' : `In ${unit}.`,
    `Read at ${instant(atMs)}.`,
    of === undefined ? '' : reportWords(of, own ?? { isReported: true }),
    ...(own?.alarms ?? []).map((alarm) => alarmWords(alarm)),
  ]
    .filter(Boolean)
    .join(' ');
}

function reportWords({ periodMs, windowMs }, { isReported, deadband, deadbandPercent, minIntervalMs, maxIntervalMs }) {
  const every = windowMs === undefined ? `Read every ${time(periodMs)}` : `Made of ${time(windowMs)}, read every ${time(periodMs)}`;
  if (!isReported) return `${every}; kept here and not sent.`;
  const change = [deadband > 0 ? plain(deadband) : '', deadbandPercent > 0 ? `${plain(deadbandPercent)} %` : '']
    .filter(Boolean)
    .join(' or ');
  const when = [
    change === '' ? 'each value' : `a change of ${change}`,
    minIntervalMs > 0 ? `at most every ${time(minIntervalMs)}` : '',
    maxIntervalMs > 0 ? `at least every ${time(maxIntervalMs)}` : '',
  ].filter(Boolean);
  return `${every}; sent: ${when.join(', ')}.`;
}

function alarmWords({ name, above, below, hysteresis }) {
  const limit = above === undefined ? `below ${below}` : `above ${above}`;
  const back = hysteresis > 0 ? `, until it has come back by ${plain(hysteresis)}` : '';
  return `Alarm ${limit}${name === limit ? '' : ` (${name})`}${back}.`;
}

/** Sentences on one output: where it is, and its limits. */
export function outputWords(name, kind) {
  const { source, limits = {}, interlocks = [] } = facts.outputs[name] ?? {};
  const { min, max, minOnMs, minOffMs, maxOnMs, maxSwitchesPerHour } = limits;
  return [
    source === undefined ? `${kind}.` : `${kind}: ${source}.`,
    min === undefined && max === undefined ? '' : `From ${plain(min ?? '…')} to ${plain(max ?? '…')}.`,
    minOnMs > 0 ? `Stays on for ${time(minOnMs)} at least.` : '',
    minOffMs > 0 ? `Stays off for ${time(minOffMs)} at least.` : '',
    maxOnMs > 0 ? `Off after ${time(maxOnMs)} at the latest.` : '',
    maxSwitchesPerHour > 0 ? `At most ${counted(maxSwitchesPerHour, 'start')} an hour.` : '',
    interlocks.length === 0 ? '' : `Never on together with ${interlocks.join(', ')}.`,
  ]
    .filter(Boolean)
    .join(' ');
}

function time(ms) {
  return ms < 1_000 ? `${ms} ms` : duration(ms / 1_000);
}
