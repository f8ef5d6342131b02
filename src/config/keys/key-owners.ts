/** Which device's value an expression takes, where several devices have the key. */
import { getOrInsert } from '../../values/get-or-insert.ts';
import type { SensorConfig } from '../schema/agent-config.ts';
import { keysForRules } from './sensor-keys.ts';

/** Slot of the attached device that a key belongs to; undefined for the gateway. */
export type KeyOwner = string | undefined;

/** By key: the devices whose sensors give it, as far as the configuration says it. */
export function ownersOfKeys(sensors: readonly SensorConfig[]): Map<string, Set<KeyOwner>> {
  const owners = new Map<string, Set<KeyOwner>>();
  for (const sensor of sensors)
    for (const key of keysForRules(sensor) ?? [])
      getOrInsert(owners, key, () => new Set<KeyOwner>()).add(sensor.device);
  return owners;
}

/** Owners that an expression of a device may mean: its own key, else the gateway's, else that of any; several when nothing tells which. */
export function meantOwners(owners: ReadonlySet<KeyOwner> | undefined, own: KeyOwner): readonly KeyOwner[] {
  if (owners === undefined) return [];
  if (owners.has(own)) return [own];
  return owners.has(undefined) ? [undefined] : [...owners];
}

/** Tells apart keys of several devices. No slot has a blank. */
export function ownedKey(owner: KeyOwner, key: string): string {
  return `${owner ?? ''} ${key}`;
}
