/** Names of attached devices as they are kept: which device is in a slot, what is known of each, and which went to another gateway. */
import type { EpochMs } from '../host/clock.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../values/json.ts';

export const DEVICE_NAMES_FORMAT = { format: 'turnstone/device-names', version: 1 } as const;

export interface KnownDevice {
  /** Name on the platform that it is provisioned under. */
  readonly name: string;
  readonly serialNumber?: string;
  /** A person gave it its name. */
  readonly isRenamed?: boolean;
  /** It came from another gateway, so that no template of this one made its name. */
  readonly isTaken?: boolean;
}

/** Names as they are now, changed in place. */
export interface KeptNames {
  /** Id of the device that is in a slot. */
  readonly slots: Map<string, string>;
  /** By id. */
  readonly devices: Map<string, KnownDevice>;
  /** Slot that a device was in before it went to another gateway, by id. */
  readonly away: Map<string, string>;
  /** Id of the device that was in a slot first, when its number had become known. */
  readonly first: Map<string, string>;
  /** Time at which a person removed a device, UTC epoch ms, by id. */
  readonly removed: Map<string, EpochMs>;
  /** Time at which a device was found to be in no slot any more, UTC epoch ms, by id. */
  readonly left: Map<string, EpochMs>;
  readonly replaced?: { readonly dayMs: number; readonly count: number };
}

export function keptNames({ slots, devices, away, first, removed, left, replaced }: JsonObject): KeptNames {
  const known = Object.entries(isJsonObject(devices) ? devices : {}).flatMap(([id, one]) => {
    if (!isJsonObject(one) || typeof one.name !== 'string') return [];
    const { name, serialNumber, isRenamed, isTaken } = one;
    const device: KnownDevice = {
      name,
      serialNumber: typeof serialNumber === 'string' ? serialNumber : undefined,
      isRenamed: isRenamed === true || undefined,
      isTaken: isTaken === true || undefined,
    };
    return [[id, device] as const];
  });
  const counted =
    isJsonObject(replaced) && typeof replaced.dayMs === 'number' && typeof replaced.count === 'number'
      ? { dayMs: replaced.dayMs, count: replaced.count }
      : undefined;
  const times = { removed: timesIn(removed), left: timesIn(left) };
  return {
    slots: textsIn(slots),
    devices: new Map(known),
    away: textsIn(away),
    first: textsIn(first),
    ...times,
    replaced: counted,
  };
}

/** The state to be saved. */
export function savedNames(
  { slots, devices, away, first, removed, left }: KeptNames,
  replaced: NonNullable<KeptNames['replaced']>,
): JsonObject {
  const known = [...devices].map(([id, one]): [string, JsonObject] => [id, { ...one }]);
  const maps = Object.entries({ slots, away, first, removed, left }).map(([name, map]) => [
    name,
    Object.fromEntries<JsonValue>(map),
  ]);
  return { ...Object.fromEntries(maps), devices: Object.fromEntries(known), replaced: { ...replaced } };
}

function textsIn(json: JsonValue | undefined): Map<string, string> {
  const entries = Object.entries(isJsonObject(json) ? json : {});
  return new Map(entries.flatMap(([key, text]) => (typeof text === 'string' ? [[key, text] as const] : [])));
}

function timesIn(json: JsonValue | undefined): Map<string, EpochMs> {
  const entries = Object.entries(isJsonObject(json) ? json : {});
  return new Map(entries.flatMap(([key, ms]) => (typeof ms === 'number' ? [[key, ms] as const] : [])));
}
