/** Refuses a name that no output has, with the one that was meant. */
import { didYouMean } from '../config/fields/did-you-mean.ts';
import { type AgentError, refusal } from '../errors/agent-error.ts';

const MAX_SHOWN_LENGTH = 64;

/** @param names that whoever asks may know of. */
export function unknownActuator(name: string, names: Iterable<string>): AgentError {
  const { hint } = didYouMean(name, names);
  const meant = hint === undefined ? '' : `; ${hint}`;
  return refusal('actuators/unknown', `there is no actuator ${name.slice(0, MAX_SHOWN_LENGTH)}${meant}`);
}
