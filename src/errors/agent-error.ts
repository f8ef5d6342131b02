/** The one root of every error the agent throws on purpose: a code that names the room, and what to do about it. */

import type { Sentence } from './sentence.ts';

/**
 * Action for the caller.
 * `retry`: the same again, after backoff. `hold`: keep what is to be sent and wait for the world to change.
 * `drop`: this one thing can never succeed, give it up and go on. `reprovision`: the credentials are no longer good.
 * `rollback`: the running release is at fault. `stop`: the process cannot go on.
 */
export type Recovery = 'retry' | 'hold' | 'drop' | 'reprovision' | 'rollback' | 'stop';

/** `room/fault`, for example `outbox/disk-full`. */
export type ErrorCode = `${string}/${string}`;

/** An error with a code for programs, a recovery for callers and a message for people. Messages never hold a URL: the token is in it. */
export class AgentError extends Error {
  override readonly name = 'AgentError';
  readonly code: ErrorCode;
  readonly recovery: Recovery;
  /** Sentence of which the message is the English. */
  readonly sentence: Sentence | undefined;

  constructor(code: ErrorCode, message: string, options: AgentErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.recovery = options.recovery;
    this.sentence = options.sentence;
  }
}

interface AgentErrorOptions {
  readonly recovery: Recovery;
  readonly cause?: unknown;
  readonly sentence?: Sentence;
}

/** An error after which the same may be tried again. */
export function retryable(code: ErrorCode, message: string, cause?: unknown): AgentError {
  return new AgentError(code, message, { recovery: 'retry', cause });
}

/** An error of one thing that can never succeed, however often it is tried. */
export function refusal(code: ErrorCode, message: string, cause?: unknown): AgentError {
  return new AgentError(code, message, { recovery: 'drop', cause });
}

/** True when a caught value is an AgentError with this code. */
export function hasCode(error: unknown, code: ErrorCode): error is AgentError {
  return error instanceof AgentError && error.code === code;
}

/** The message of anything that was thrown, for a log line or an answer. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The `code` of a system error ("ENOENT"), or undefined for anything else. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
