/** The forms that all of the REST API's bodies share: ids with their type, pages of lists, objects. */
import { isJsonObject, type JsonObject, type JsonValue } from '../host/json.ts';
import { PayloadFault } from './http-reply.ts';
import type { Call } from './http-service.ts';
import { readDocument } from './payload.ts';

/** All entities belong to one tenant. */
export const TENANT_ID = '13814000-1dd2-11b2-8080-808080808080';

/** In place of a customer where there is none. */
export const NOBODY_ID = '13814000-1dd2-11b2-8080-808080808080';

/** `{id, entityType}`, the form of every id inside a body; null for none. */
export function entityId(entityType: string, id: string | undefined): JsonObject | null {
  return id === undefined ? null : { entityType, id };
}

/** The id inside an `{id, entityType}`. */
export function idIn(value: JsonValue | undefined): string | undefined {
  return isJsonObject(value) && typeof value.id === 'string' ? value.id : undefined;
}

/** The body as an object. @throws PayloadFault for anything else. */
export function objectIn(call: Call): JsonObject {
  const document = readDocument(call.body, 'application/json');
  if (!isJsonObject(document)) throw new PayloadFault('Required request body is missing');
  return document;
}

/** One page of a list, by `pageSize` and `page`. */
export function page(items: readonly JsonObject[], query: URLSearchParams): JsonObject {
  const pageSize = Math.max(1, Number(query.get('pageSize') ?? 100) || 100);
  const at = Math.max(0, Number(query.get('page') ?? 0) || 0);
  const totalPages = Math.ceil(items.length / pageSize);
  return {
    data: items.slice(at * pageSize, (at + 1) * pageSize),
    totalPages,
    totalElements: items.length,
    hasNext: at + 1 < totalPages,
  };
}
