/** What can be wrong with an image that arrives; `retry` is for what another attempt may mend. */
import { AgentError } from '../errors.ts';

/** A later chunk was answered with the whole file. */
export class WholeFileAnswer extends Error {}

export function shortAnswer(what: string): AgentError {
  return new AgentError('firmware/short-answer', `part of the image is missing: ${what}`, { recovery: 'retry' });
}

export function wrongSize(what: string): AgentError {
  return new AgentError('firmware/wrong-size', `the image has another size than announced: ${what}`, { recovery: 'drop' });
}

export function tooLarge(maxBytes: number): AgentError {
  return new AgentError('firmware/too-large', `the image is larger than the ${maxBytes} bytes that are allowed`, { recovery: 'drop' });
}

export function noSpace(neededBytes: number, freeBytes: number): AgentError {
  return new AgentError('firmware/no-space', `the download needs ${neededBytes} bytes, ${freeBytes} are free`, { recovery: 'drop' });
}
