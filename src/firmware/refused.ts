/** What is wrong with this one image, release or request, and stays so however often it is tried: `firmware/<fault>` (drop). */
import { AgentError } from '../errors.ts';

export function refused(fault: string, message: string, cause?: unknown): AgentError {
  return new AgentError(`firmware/${fault}`, message, { recovery: 'drop', cause });
}
