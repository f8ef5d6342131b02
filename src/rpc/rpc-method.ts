/** What a method is: a row of the method table. Built-in and declared methods are both made of these. */
import type { JsonObject, JsonValue } from '../host/json.ts';
import type { ValueShape } from '../host/value-shape.ts';
import type { Effect } from './same-command.ts';

export interface RpcMethod {
  readonly name: string;
  readonly description: string;
  readonly params: ValueShape;
  /** Decides between acting at once and writing the intent first. */
  readonly effect: Effect | ((params: JsonValue) => Effect);
  /** Whether it can set something in motion, and is therefore refused under lockout; switching off is not. */
  readonly moves: boolean | ((params: JsonValue) => boolean);
  readonly deadlineMs: number;
  /** What has begun by the deadline goes on, is answered as under way, and ends by itself; what has not begun ends with the signal. */
  readonly goesOn?: boolean;
  /** Before anything is written: refuses by throwing, or notes what `recover` will need. */
  readonly prepare?: (params: JsonValue) => JsonObject | undefined;
  readonly run: (params: JsonValue, call: MethodCall) => Promise<JsonValue> | JsonValue;
  /**
   * After a crash between intent and reply: the result when it can be told what has happened, undefined when it cannot.
   * It moves nothing.
   */
  readonly recover?: (note: JsonObject, params: JsonValue) => Promise<JsonValue | undefined> | JsonValue | undefined;
  /** What ends the process is done once the reply is on its way. */
  readonly afterReply?: () => void;
}

export interface MethodCall {
  readonly note: JsonObject | undefined;
  /** Aborts at the method's deadline. */
  readonly signal: AbortSignal;
}

/** A method's leave, from the configuration. */
export interface MethodLeave {
  /** Default true. */
  readonly enabled?: boolean;
  /** Which of the possible params are allowed here, on top of the method's own shape. */
  readonly allowed?: ValueShape;
  readonly mostPerMinute?: number;
  readonly deadlineMs?: number;
}
