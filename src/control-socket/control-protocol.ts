/**
 * How the command line talks to a running agent: JSON lines over two Unix sockets in the run folder, one for those who may change things and one
 * for those who may only look. Any number of requests may be under way on one connection; answers come in any order.
 *
 *   ← {"turnstone": 1, "access": "control"}                         at once after connecting
 *   → {"id": 1, "method": "getStatus", "params": {}, "deadlineMs": 10000}
 *   ← {"id": 1, "result": …}   or   {"id": 1, "error": {"code": "room/fault", "message": "…"}}
 *   ← {"id": 2, "event": …}                                          any number, of a subscription, before its result
 *   → {"cancel": 2}
 */
import { join } from 'node:path';
import { AgentError, type ErrorCode, messageOf, refusal } from '../errors/agent-error.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../values/json.ts';

/** Rises when something that exists changes its meaning; new methods and members do not count. */
export const PROTOCOL_VERSION = 1;

/** `control` may change things; `read` may only look. */
export type ControlAccess = 'control' | 'read';

/** Remedy for a user without the right. */
export const JOIN_GROUP = 'join it (usermod -aG turnstone USER), or use sudo';

/** Requests are small; the longest is a list of entries to re-send. */
export const MAX_REQUEST_LENGTH = 256 * 1024;
/** A diagnosis or a page of the outbox; longer answers are streamed. */
export const MAX_ANSWER_LENGTH = 16 * 1024 * 1024;

export interface ControlRequest {
  readonly id: number;
  readonly method: string;
  readonly params: JsonObject;
  readonly deadlineMs: number;
}

/** Deadline of a request that names none, and the longest it may ask for. */
export const DEFAULT_DEADLINE_MS = 30_000;
const MAX_DEADLINE_MS = 60 * 60 * 1000;

export function socketPath(folder: string, access: ControlAccess): string {
  return join(folder, access === 'control' ? 'control.sock' : 'read.sock');
}

/** @throws AgentError `control-socket/malformed` (drop). */
export function parseRequest(message: JsonObject): ControlRequest {
  const { id, method, params, deadlineMs } = message;
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || typeof method !== 'string')
    throw refusal('control-socket/malformed', 'a request needs an id and a method');
  const asked = typeof deadlineMs === 'number' && deadlineMs > 0 ? deadlineMs : DEFAULT_DEADLINE_MS;
  return { id, method, params: isJsonObject(params) ? params : {}, deadlineMs: Math.min(asked, MAX_DEADLINE_MS) };
}

export function errorMessage(id: number, error: unknown): JsonObject {
  const code = error instanceof AgentError ? error.code : 'control-socket/failed';
  return { id, error: { code, message: messageOf(error).slice(0, 2_000) } };
}

/** The error that an answer carries. */
export function errorOf(error: JsonValue): AgentError {
  const { code, message } = isJsonObject(error) ? error : {};
  const known = typeof code === 'string' && code.includes('/') ? (code as ErrorCode) : 'control-socket/failed';
  return new AgentError(known, typeof message === 'string' ? message : 'the agent could not do it', {
    recovery: 'drop',
  });
}
