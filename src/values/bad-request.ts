/** Refusal of a request whose parameters cannot be understood: code `agent/bad-request` (drop). */
import { AgentError } from '../errors/agent-error.ts';

export function badRequest(what: string): AgentError {
  return new AgentError('agent/bad-request', what, { recovery: 'drop' });
}
