/** How attributes are asked for, and how attributes and RPC requests look in an answer (wire-facts.md, "Endpoints"): what comes is checked once, here. */
import { isJsonObject, type JsonObject, type JsonValue } from '../values/json.ts';
import { expectObject } from './answer-or-portal.ts';
import type { AttributeAnswer, AttributeUpdate, RpcRequest } from './device-api.ts';
import { PlatformError } from './platform-error.ts';

interface AskedKeys {
  readonly clientKeys: readonly string[];
  readonly sharedKeys: readonly string[];
}

export function attributeQuery(clientKeys: readonly string[], sharedKeys: readonly string[]): string {
  const list = (name: string, keys: readonly string[]): string[] =>
    keys.length === 0 ? [] : [`${name}=${keys.map(encodeURIComponent).join(',')}`];
  return `?${[...list('clientKeys', clientKeys), ...list('sharedKeys', sharedKeys)].join('&')}`;
}

/** Attributes as they were found, all or those that were asked for. @throws PlatformError `platform/bad-answer` (retry). */
export function attributeAnswer(answer: JsonValue | undefined, asked: AskedKeys | undefined): AttributeAnswer {
  const found = answer === undefined ? {} : expectObject(answer, 'reading attributes');
  if (Object.keys(found).length > 0 && !Object.hasOwn(found, 'client') && !Object.hasOwn(found, 'shared'))
    throw new PlatformError('bad-answer', 'reading attributes: the answer has neither client nor shared ones');
  const all = { client: scopeOf(found, 'client'), shared: scopeOf(found, 'shared') };
  const { client, shared } =
    asked === undefined
      ? all
      : { client: only(all.client, asked.clientKeys), shared: only(all.shared, asked.sharedKeys) };
  return { client, shared, empty: Object.keys(client).length === 0 && Object.keys(shared).length === 0 };
}

/** Three shapes are about: flat, wrapped in `client` (the contract's sample) or in `shared`; and `{"deleted": [...]}`. */
export function attributeUpdate(body: JsonObject): AttributeUpdate {
  const [key, ...others] = Object.keys(body);
  const member = key === undefined ? undefined : body[key];
  if (others.length === 0 && key === 'deleted' && Array.isArray(member))
    return { changed: {}, deleted: member.filter((name) => typeof name === 'string') };
  if (others.length === 0 && (key === 'client' || key === 'shared') && isJsonObject(member))
    return { changed: member, deleted: [] };
  return { changed: body, deleted: [] };
}

/** The contract allows a "timeout message" of unknown shape: an object with neither id nor method is one. */
export function rpcRequest(body: JsonObject): RpcRequest | undefined {
  const { id, method } = body;
  if (id === undefined && method === undefined) return undefined;
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 0)
    throw new PlatformError('bad-answer', 'waiting for RPC: the id is no whole number from 0');
  if (typeof method !== 'string') throw new PlatformError('bad-answer', `waiting for RPC: request ${id} has no method`);
  return { id, method, params: Object.hasOwn(body, 'params') ? (body.params as JsonValue) : null };
}

function scopeOf(found: JsonObject, scope: 'client' | 'shared'): JsonObject {
  return Object.hasOwn(found, scope) ? expectObject(found[scope], 'reading attributes') : {};
}

function only(attributes: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(
    keys.filter((key) => Object.hasOwn(attributes, key)).map((key) => [key, attributes[key] as JsonValue]),
  );
}
