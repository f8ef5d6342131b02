/** Is it working? One state and one sentence, from the whole status. */
import { ago, counted, duration } from '../shared/words.js';

const UPDATE_WORDS = {
  DOWNLOADING: 'downloading',
  DOWNLOADED: 'downloaded',
  VERIFIED: 'verified',
  UPDATING: 'installing',
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
      ? 'Nothing was delivered yet.'
      : `Last delivered ${ago((nowMs - platform.lastAcknowledgedAtMs) / 1000)}.`;
  const held =
    outbox.heldEntries === 0 ? 'Nothing waits.' : `${counted(outbox.heldEntries, 'reading')} wait${outbox.heldEntries === 1 ? 's' : ''}.`;
  const detail = `${counted(readings, 'value')} from ${counted(sensors.length, 'sensor')}. ${delivered} ${held}`;
  const say = (state, words) => ({ state, words, detail });

  if (outbox.fault !== undefined) return say('bad', `The disk does not take readings (${outbox.fault})`);
  if (alarms.length > 0) return say('bad', alarmWords(alarms));
  if (platform.verdict === 'fault') return say('bad', sentence(platform.words));
  const step = UPDATE_WORDS[firmware.state];
  if (step !== undefined) return say('warn', `Updating to ${firmware.offered ?? 'another release'}: ${step}${percent(firmware)}`);
  if (platform.verdict === 'waiting') {
    if (nowMs - startedAtMs < STARTING_MS) return say('starting', 'Starting');
    const room = outbox.hoursThatFit === undefined ? '' : `. There is room for ${duration(outbox.hoursThatFit * 3600)}`;
    return say('warn', `${sentence(platform.words)}${room}`);
  }
  if (failing.length > 0)
    return say('warn', `${failing.length} of ${counted(sensors.length, 'sensor')} ${failing.length === 1 ? 'gives' : 'give'} no readings`);
  if (lockedOut) return say('warn', 'Working, and locked out at the device');
  if (alerts.length > 0) return say('warn', `Working, with ${counted(alerts.length, 'thing')} to look after`);
  return say('good', 'Working');
}

function alarmWords([{ key, name, above, below }, ...others]) {
  const limit = above === undefined ? `below ${below}` : `above ${above}`;
  const more = others.length === 0 ? '' : `, and ${counted(others.length, 'alarm')} more`;
  return `${key} is ${limit}${name === limit ? '' : ` (${name})`}${more}`;
}

export const MARKS = { good: '✓', warn: '!', bad: '✕', starting: '…' };

function percent({ progressPercent }) {
  return progressPercent === undefined ? '' : `, ${Math.round(progressPercent)} %`;
}

function sentence(words) {
  return `${words[0].toUpperCase()}${words.slice(1)}`;
}
