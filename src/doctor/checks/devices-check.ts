/** Check of the attached devices, in the sentences that everything else says of them. */
import { formatDuration } from '../../config/fields/quantity.ts';
import type { ToldDevice } from '../../status/shape/device-status.ts';
import { agentCheck, fault, good, warning } from './checkup.ts';

/** As with uploads: longer than any backoff. */
const MAX_WAIT_MS = 30 * 60_000;
const MAX_NAMED = 5;
const MAX_SHOWN_NAMES = 3;

export const otherDevices = agentCheck('attached-devices', 'attached devices deliver', ({ devices, nowMs }) => {
  if (devices === undefined) return undefined;
  const faults = devices.list.filter(({ verdict }) => verdict === 'fault');
  const late = devices.list.filter(
    ({ verdict, sinceMs, isBehind }) => verdict === 'waiting' && (isBehind === true || nowMs - sinceMs > MAX_WAIT_MS),
  );
  if (faults.length > 0) return fault(namesOf(faults, devices.byState.blocked), remediesOf(faults));
  if (late.length > 0) {
    const words = (device: ToldDevice): string =>
      // Its state may be older than its delay.
      device.isBehind === true
        ? device.words
        : `${device.words}, for ${formatDuration(Math.floor((nowMs - device.sinceMs) / 60_000) * 60_000)}`;
    return warning(namesOf(late, late.length, words), remediesOf(late));
  }
  return good(devices.words);
});

function namesOf(
  devices: readonly ToldDevice[],
  all: number,
  wordsOf = ({ words }: ToldDevice): string => words,
): string {
  // A common cause is one sentence.
  const alike = [...Map.groupBy(devices, wordsOf)];
  const told = alike.slice(0, MAX_NAMED);
  const named = told.map(([words, those]) => `${shownNames(those)}: ${words}`);
  const others = all - told.reduce((sum, [, those]) => sum + those.length, 0);
  return [...named, ...(others > 0 ? [`${others} more`] : [])].join('; ');
}

/** `m1, m2, m3 and 97 more`. */
function shownNames(devices: readonly ToldDevice[]): string {
  const names = devices.slice(0, MAX_SHOWN_NAMES).map(({ name }) => name);
  const others = devices.length - names.length;
  return `${names.join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
}

function remediesOf(devices: readonly ToldDevice[]): string {
  const remedies = devices.slice(0, MAX_NAMED).flatMap(({ remedy }) => remedy ?? []);
  return remedies.length === 0 ? 'turnstone devices tells more; it is tried again' : [...new Set(remedies)].join('; ');
}
