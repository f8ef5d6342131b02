/** Key of a request: its id and its content. same-command.ts tells what that says of another request. */
import { createHash } from 'node:crypto';
import type { RpcRequest } from '../platform/device-api.ts';
import { isJsonObject, type JsonValue, stringifyJson } from '../values/json.ts';

/** 128 bits: enough to tell contents apart that nobody chose in order to collide. */
const DIGEST_BYTES = 16;

/** One text for one request; the order of keys in `params` does not count. */
export function requestKey(request: RpcRequest): string {
  const content = stringifyJson([request.method, inOrder(request.params)]);
  return `${request.id}:${createHash('sha256').update(content).digest().subarray(0, DIGEST_BYTES).toString('base64url')}`;
}

/** The part of a key that is the same for the same method and params, whatever the id. */
export function contentOf(key: string): string {
  return key.slice(key.indexOf(':') + 1);
}

function inOrder(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, inOrder(value[key] as JsonValue)]),
  );
}
