/** Finds the attached device that a person means. */
import { refusal } from '../errors/agent-error.ts';
import type { DeviceStatus } from '../status/shape/device-status.ts';

/** More candidates tell nothing. */
const MAX_CANDIDATES = 5;

/**
 * By its id, its name or its slot, or by a beginning of one of these that is nobody else's. Capitals count only where they tell two apart.
 * @throws AgentError `provisioning/no-such-device` or `provisioning/ambiguous-device` (drop).
 */
export function namedDevice(devices: readonly DeviceStatus[], text: string): DeviceStatus {
  const wanted = text.trim();
  if (wanted === '')
    throw refusal('provisioning/no-such-device', 'the name of a device is needed; turnstone devices lists them');
  const isOne = (fits: (word: string) => boolean) => devices.filter((device) => wordsOf(device).some(fits));
  const small = wanted.toLowerCase();
  const ways = [
    // An id stays when names change, and goes before them.
    devices.filter(({ id }) => id === wanted),
    isOne((word) => word === wanted),
    isOne((word) => word.toLowerCase() === small),
    isOne((word) => word.startsWith(wanted)),
    isOne((word) => word.toLowerCase().startsWith(small)),
  ];
  const found = ways.find((some) => some.length > 0) ?? [];
  const [first, ...others] = found;
  if (first === undefined)
    throw refusal('provisioning/no-such-device', `no device is called ${shown(wanted)}; turnstone devices lists them`);
  if (others.length === 0) return first;
  const names = found
    .slice(0, MAX_CANDIDATES)
    .map(({ name, slots }) => [name, ...slots.map((slot) => `(${slot})`)].join(' '));
  const more = found.length > names.length ? ` and ${found.length - names.length} more` : '';
  throw refusal(
    'provisioning/ambiguous-device',
    `${shown(wanted)} may be ${found.length} devices: ${names.join(', ')}${more}; write more of it`,
  );
}

function wordsOf({ id, name, slots }: DeviceStatus): readonly string[] {
  return [id, name, ...slots];
}

/** Bounded: anything may have been typed. */
function shown(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
