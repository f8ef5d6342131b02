/** The device's name on the platform: a template over what the board really is. */
import { AgentError } from '../errors/agent-error.ts';
import type { BoardIdentity } from '../host/identity.ts';

/** The platform keeps names of up to 255 characters. */
const MAX_NAME_LENGTH = 255;

/**
 * Fills `{serial}`, `{mac}`, `{machineId}` and `{hostname}` in; of `{serial|mac}` the first that this board has.
 * @throws AgentError `provisioning/device-name` (stop): unknown placeholder, a value this board has not, an empty or too long name.
 */
export function deviceNameOf(template: string, { serial, mac, machineId, hostname }: BoardIdentity): string {
  const known: Readonly<Record<string, string | undefined>> = { serial, mac, machineId, hostname };
  const name = template
    .replace(/\{([^{}]*)\}/g, (_whole, words: string) => {
      const choices = words.split('|');
      const unknown = choices.find((word) => !Object.hasOwn(known, word));
      if (unknown !== undefined)
        throw nameFault(`{${unknown}} is not known; there are ${Object.keys(known).map(braced).join(', ')}`);
      const value = choices.map((word) => known[word]).find((one) => one !== undefined);
      if (value !== undefined) return value;
      const others = Object.keys(known).filter((other) => known[other] !== undefined);
      throw nameFault(
        `this board has no ${choices.join(' and no ')}; it has ${others.map((other) => `${braced(other)} = ${known[other]}`).join(', ')}`,
      );
    })
    .trim();
  if (name === '') throw nameFault('it is empty');
  if (name.length > MAX_NAME_LENGTH)
    throw nameFault(`it has ${name.length} characters, at most ${MAX_NAME_LENGTH} are taken`);
  return name;
}

function braced(word: string): string {
  return `{${word}}`;
}

function nameFault(why: string): AgentError {
  return new AgentError('provisioning/device-name', `the device name of the configuration cannot be used: ${why}`, {
    recovery: 'stop',
  });
}
