/** Names of attached devices as they are kept: which device is in a slot, what is known of each, and which went to another gateway. */
import { given } from '../../host/given.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../host/json.ts';

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

export interface KeptNames {
  /** Id by slot. */
  readonly slots: ReadonlyMap<string, string>;
  readonly devices: ReadonlyMap<string, KnownDevice>;
  /** Slot that a device was in before it went to another gateway, by id. */
  readonly away: ReadonlyMap<string, string>;
  readonly replaced?: { readonly dayMs: number; readonly count: number };
}

export function keptNames({ slots, devices, away, replaced }: JsonObject): KeptNames {
  const known = Object.entries(isJsonObject(devices) ? devices : {}).flatMap(([id, one]) => {
    if (!isJsonObject(one) || typeof one.name !== 'string') return [];
    const { name, serialNumber, isRenamed, isTaken } = one;
    const device: KnownDevice = given({
      ...{ name, serialNumber: typeof serialNumber === 'string' ? serialNumber : undefined },
      ...{ isRenamed: isRenamed === true || undefined, isTaken: isTaken === true || undefined },
    });
    return [[id, device] as const];
  });
  const counted =
    isJsonObject(replaced) && typeof replaced.dayMs === 'number' && typeof replaced.count === 'number'
      ? { dayMs: replaced.dayMs, count: replaced.count }
      : undefined;
  return given({ slots: textsIn(slots), devices: new Map(known), away: textsIn(away), replaced: counted });
}

function textsIn(json: JsonValue | undefined): ReadonlyMap<string, string> {
  const entries = Object.entries(isJsonObject(json) ? json : {});
  return new Map(entries.flatMap(([key, text]) => (typeof text === 'string' ? [[key, text] as const] : [])));
}
