/** Is it working? One state and one sentence, from the whole status. */
import { foreign } from '../shared/forms.js';
import { say, told } from '../shared/texts.js';
import { ago, called, duration, limitOf, nameOfAlarm, percent } from '../shared/words.js';

const UPDATE_WORDS = {
  DOWNLOADING: say('stepDownloading'),
  DOWNLOADED: say('stepDownloaded'),
  VERIFIED: say('stepVerified'),
  UPDATING: say('stepInstalling'),
};

/** So long nothing need be acknowledged. */
const STARTING_MS = 60_000;

/** `{state: good | warn | bad | starting, words, detail}`. */
export function verdictOf(view) {
  const { platform, outbox, sensors, firmware, alerts, alarms = [], lockedOut, nowMs, startedAtMs } = view;
  const readings = sensors.reduce((sum, sensor) => sum + sensor.readings.length, 0);
  const failing = sensors.filter(({ state }) => state === 'failing');
  const delivered =
    platform.lastAcknowledgedAtMs === undefined
      ? say('deliveredNever')
      : say('deliveredLast', { ago: ago((nowMs - platform.lastAcknowledgedAtMs) / 1000) });
  const waiting = outbox.heldEntries + (view.devices?.heldEntries ?? 0);
  const held = waiting === 0 ? say('heldNothing') : say('held', { count: waiting });
  const detail = say('detail', { values: readings, sensors: sensors.length, delivered, held, version: view.version });
  const verdict = (state, words) => ({ state, words, detail });

  if (outbox.fault !== undefined) return verdict('bad', say('diskFault', { fault: told(outbox.fault) }));
  if (alarms.length > 0) return verdict('bad', alarmWords(alarms));
  if (platform.verdict === 'fault')
    return verdict('bad', say('platformFault', { words: sentence(told(platform.words)) }));
  const step = UPDATE_WORDS[firmware.state];
  if (step !== undefined) {
    const share = firmware.progressPercent === undefined ? undefined : percent(firmware.progressPercent);
    return verdict('warn', say('updating', { offered: firmware.offered, step, percent: share }));
  }
  if (platform.verdict === 'waiting') {
    if (nowMs - startedAtMs < STARTING_MS) return verdict('starting', say('starting'));
    const room = outbox.hoursThatFit === undefined ? undefined : duration(outbox.hoursThatFit * 3600);
    return verdict('warn', say('platformWaits', { words: sentence(told(platform.words)), room }));
  }
  if (failing.length > 0) return verdict('warn', say('failing', { failing: failing.length, sensors: sensors.length }));
  if (lockedOut) return verdict('warn', say('workingLocked'));
  if (alerts.length > 0) return verdict('warn', say('workingAlerts', { count: alerts.length }));
  return verdict('good', say('working'));
}

function alarmWords([first, ...others]) {
  return say('alarmIs', {
    key: called({ label: first.keyLabel, key: first.key }),
    limit: limitOf(first, first.unit),
    name: nameOfAlarm(first),
    more: others.length,
  });
}

export const MARKS = { good: '✓', warn: '!', bad: '✕', starting: '…' };

/** Begins words with a capital, English ones behind their mark; a name stays as it is. */
function sentence(words) {
  const at = words[0] === foreign('')[0] ? 1 : 0;
  return `${words.slice(0, at)}${words.charAt(at).toUpperCase()}${words.slice(at + 1)}`;
}
