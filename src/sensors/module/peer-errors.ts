/** Errors on the way between the agent and a driver's process: the words, and of an AgentError its code and recovery too. */
import { AgentError, type ErrorCode, messageOf, type Recovery } from '../../errors/agent-error.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../values/json.ts';

const MAX_MESSAGE_LENGTH = 2_000;
const RECOVERIES: ReadonlySet<string> = new Set<Recovery>(['retry', 'hold', 'drop', 'reprovision', 'rollback', 'stop']);

export function errorAsJson(fault: unknown): JsonObject {
  return {
    message: messageOf(fault).slice(0, MAX_MESSAGE_LENGTH),
    ...(fault instanceof AgentError && { code: fault.code, recovery: fault.recovery }),
  };
}

export function errorOf(error: JsonValue): Error {
  const { message, code, recovery } = isJsonObject(error) ? error : {};
  const words = typeof message === 'string' ? message : 'no reason is known';
  if (typeof code !== 'string' || typeof recovery !== 'string' || !RECOVERIES.has(recovery)) return new Error(words);
  return new AgentError(code as ErrorCode, words, { recovery: recovery as Recovery });
}
