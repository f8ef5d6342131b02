/** Check of the attached devices, in the sentences that everything else says of them. */
import { formatDuration } from '../../../config/fields/quantity.ts';
import type { ToldDevice } from '../../shape/device-status.ts';
import { agentCheck, fault, good, warning } from './checkup.ts';

/** As with uploads: longer than any backoff. */
const MAX_WAIT_MS = 30 * 60_000;
const MAX_NAMED = 5;

export const attachedDevices = agentCheck('attached-devices', 'attached devices deliver', ({ devices, nowMs }) => {
  if (devices === undefined) return undefined;
  const faults = devices.list.filter(({ verdict }) => verdict === 'fault');
  const late = devices.list.filter(({ verdict, sinceMs }) => verdict === 'waiting' && nowMs - sinceMs > MAX_WAIT_MS);
  if (faults.length > 0) return fault(namesOf(faults, devices.byState.blocked), remediesOf(faults));
  if (late.length > 0) {
    const words = (device: ToldDevice): string =>
      `${device.words}, for ${formatDuration(Math.floor((nowMs - device.sinceMs) / 60_000) * 60_000)}`;
    return warning(namesOf(late, late.length, words), remediesOf(late));
  }
  return good(devices.words);
});

function namesOf(
  devices: readonly ToldDevice[],
  all: number,
  wordsOf = ({ words }: ToldDevice): string => words,
): string {
  const named = devices.slice(0, MAX_NAMED).map((device) => `${device.name}: ${wordsOf(device)}`);
  const others = all - named.length;
  return [...named, ...(others > 0 ? [`${others} more`] : [])].join('; ');
}

function remediesOf(devices: readonly ToldDevice[]): string {
  const remedies = devices.slice(0, MAX_NAMED).flatMap(({ remedy }) => remedy ?? []);
  return remedies.length === 0 ? 'turnstone devices tells more; it is tried again' : [...new Set(remedies)].join('; ');
}
