/** Command of the platform as it is told to whoever keeps a record of them. */
import type { JsonObject, JsonValue } from '../values/json.ts';

/** A request for a method that can move or set something, with its reply. */
export interface ToldCommand {
  readonly method: string;
  readonly params: JsonValue;
  readonly reply: JsonObject;
}
