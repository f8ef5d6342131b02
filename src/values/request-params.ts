/** Parameters of a request from this machine, as they are needed. Each function throws AgentError `agent/bad-request` (drop). */
import { AgentError } from '../errors/agent-error.ts';
import type { JsonObject } from './json.ts';

export function textIn(params: JsonObject, name: string): string {
  const value = params[name];
  if (typeof value !== 'string') throw badRequest(`${name} is needed, as text`);
  return value;
}

export function numberIn(params: JsonObject, name: string): number {
  const value = params[name];
  if (typeof value !== 'number') throw badRequest(`${name} is needed, as a number`);
  return value;
}

export function badRequest(what: string): AgentError {
  return new AgentError('agent/bad-request', what, { recovery: 'drop' });
}
