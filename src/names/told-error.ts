/** Errors whose message is a sentence. */
import { AgentError, type ErrorCode, messageOf, type Recovery } from '../errors/agent-error.ts';
import type { Sentence, Told } from '../errors/sentence.ts';
import { english } from './sentences.ts';

export function toldError(
  code: ErrorCode,
  sentence: Sentence,
  { recovery, cause }: { readonly recovery: Recovery; readonly cause?: unknown },
): AgentError {
  return new AgentError(code, english(sentence), { recovery, cause, sentence });
}

/** Returns the sentence of an error, else its message. */
export function toldBy(error: unknown): Told {
  return (error instanceof AgentError ? error.sentence : undefined) ?? messageOf(error);
}
