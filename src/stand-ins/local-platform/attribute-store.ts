/** The three scopes of a device's attributes, kept apart, and who waits for a change of the shared ones. */
import { getOrInsert } from '../../values/get-or-insert.ts';
import type { JsonObject } from '../../values/json.ts';
import type { StoredValue } from './stored-value.ts';

export const SCOPES = ['CLIENT_SCOPE', 'SHARED_SCOPE', 'SERVER_SCOPE'] as const;
export type Scope = (typeof SCOPES)[number];

export interface Attribute {
  readonly key: string;
  readonly value: StoredValue;
  readonly lastUpdateTs: number;
}

/** Called with the message to a subscriber: changed keys with values, or `{"deleted": [...]}`. */
export type SharedListener = (deviceId: string, message: JsonObject) => void;

export function isScope(text: string | undefined): text is Scope {
  return SCOPES.some((scope) => scope === text);
}

export class AttributeStore {
  readonly #devices = new Map<string, Record<Scope, Map<string, Attribute>>>();
  readonly #listeners: SharedListener[] = [];

  /** Sets values; a shared one is told to subscribers even when it did not change, as the real platform does. */
  set(deviceId: string, scope: Scope, values: Readonly<Record<string, StoredValue>>, nowMs: number): void {
    const attributes = this.#scope(deviceId, scope);
    for (const [key, value] of Object.entries(values)) attributes.set(key, { key, value, lastUpdateTs: nowMs });
    if (scope === 'SHARED_SCOPE' && Object.keys(values).length > 0) this.#tell(deviceId, values);
  }

  remove(deviceId: string, scope: Scope, keys: readonly string[]): void {
    const attributes = this.#scope(deviceId, scope);
    for (const key of keys) attributes.delete(key);
    // Told whether or not they were there: an OTA assignment announces keys that never were.
    if (scope === 'SHARED_SCOPE' && keys.length > 0) this.#tell(deviceId, { deleted: keys });
  }

  /** All of a scope, or those of `keys` that exist. */
  read(deviceId: string, scope: Scope, keys?: readonly string[]): readonly Attribute[] {
    const attributes = this.#scope(deviceId, scope);
    if (keys === undefined) return [...attributes.values()];
    return keys.flatMap((key) => attributes.get(key) ?? []);
  }

  onShared(listener: SharedListener): void {
    this.#listeners.push(listener);
  }

  forget(deviceId: string): void {
    this.#devices.delete(deviceId);
  }

  #tell(deviceId: string, message: JsonObject): void {
    for (const listener of this.#listeners) listener(deviceId, message);
  }

  #scope(deviceId: string, scope: Scope): Map<string, Attribute> {
    const empty = (): Record<Scope, Map<string, Attribute>> => ({
      CLIENT_SCOPE: new Map(),
      SHARED_SCOPE: new Map(),
      SERVER_SCOPE: new Map(),
    });
    return getOrInsert(this.#devices, deviceId, empty)[scope];
  }
}

/** Attributes as the object that devices get. */
export function asObject(attributes: readonly Attribute[]): Record<string, StoredValue> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value]));
}
