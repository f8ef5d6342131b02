/** Replies as they go out: `{"result": …}` or `{"error": {"code", "message"}}`, never larger than the platform takes. */
import { AgentError } from '../errors/agent-error.ts';
import { isJsonObject, type JsonObject, type JsonValue, stringifyJson } from '../values/json.ts';

/** The platform refuses larger bodies on `/rpc` with 413 (wire-facts.md, "Values"). */
export const MAX_REPLY_BYTES = 64 * 1024;
const MAX_MESSAGE_LENGTH = 500;
const OUTCOME_UNKNOWN = 'outcome-unknown';

/** Bytes of a cut reply's first part, which leave room for the notice around it. */
const KEPT_BYTES = MAX_REPLY_BYTES - 256;

export function resultReply(result: JsonValue): JsonObject {
  return cutToSize({ result });
}

/** The fault's own code without its room, so that `rpc/disk-stalled` is `disk-stalled` on the wire; anything unforeseen is `internal`. */
export function errorReply(error: unknown): JsonObject {
  if (!(error instanceof AgentError))
    return replyOfError('internal', 'the method failed; the log of the device says how');
  return replyOfError(error.code.slice(error.code.indexOf('/') + 1), error.message);
}

/** A reply as it goes out: JSON, or the text of a fault. */
export type ReplyBody = { readonly json: JsonValue } | { readonly text: string };

/** A fault in words, which no JSON parser takes. */
export function faultText(error: JsonValue): ReplyBody {
  const words = isJsonObject(error) && typeof error.message === 'string' ? error.message : 'no reason is known';
  return { text: `fault: ${words}` };
}

export function replyOfError(code: string, message: string): JsonObject {
  return { error: { code, message: message.slice(0, MAX_MESSAGE_LENGTH) } };
}

/** Nothing was moved for it, and whether it was before cannot be told (SAME-COMMAND.md). */
export function outcomeUnknownReply(why: string): JsonObject {
  return replyOfError(OUTCOME_UNKNOWN, why);
}

export function isOutcomeUnknown(reply: JsonObject | undefined): boolean {
  return isJsonObject(reply?.error) && reply.error.code === OUTCOME_UNKNOWN;
}

function cutToSize(reply: { readonly result: JsonValue }): JsonObject {
  const text = stringifyJson(reply.result);
  const bytes = Buffer.byteLength(text) + '{"result":}'.length;
  if (bytes <= MAX_REPLY_BYTES) return reply;
  const notice = `a reply of ${bytes} bytes was cut; the platform takes ${MAX_REPLY_BYTES}`;
  let cut = { result: { cut: true, notice, start: text.slice(0, KEPT_BYTES) } };
  while (Buffer.byteLength(stringifyJson(cut)) > MAX_REPLY_BYTES) {
    const { start } = cut.result;
    // Quotes and characters beyond ASCII take more bytes inside the string than they had outside.
    cut = { result: { cut: true, notice, start: start.slice(0, Math.floor(start.length * 0.8)) } };
  }
  return cut;
}
