/** Devices, their access tokens and their profiles, as the platform's database knows them. */

import { randomBytes, randomUUID } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../../values/json.ts';

export class KeptTable<T extends object> {
  readonly #name: string;
  readonly #idOf: (item: T) => string;
  readonly #record: (record: JsonObject) => void;
  readonly #items: Map<string, T>;
  #changes = 0;

  /** @param name of one item, in the journal. @param first what is there from the start, and in no journal. */
  constructor(name: string, idOf: (item: T) => string, record: (record: JsonObject) => void, first: readonly T[] = []) {
    this.#name = name;
    this.#idOf = idOf;
    this.#record = record;
    this.#items = new Map(first.map((item) => [idOf(item), item]));
  }

  /** Counts the changes: who made something of the items sees by it that they are others now. */
  get changes(): number {
    return this.#changes;
  }

  get all(): readonly T[] {
    return [...this.#items.values()];
  }

  byId(id: string): T | undefined {
    return this.#items.get(id);
  }

  put(item: T): void {
    this.#changes += 1;
    this.#items.set(this.#idOf(item), item);
    // Every item is made of JSON alone; only its interface has no index signature.
    this.#record({ t: this.#name, [this.#name]: item as unknown as JsonObject });
  }

  /** Removes an item. Returns true when it was there. */
  remove(id: string): boolean {
    this.#changes += 1;
    this.#record({ t: `${this.#name}-gone`, id });
    return this.#items.delete(id);
  }

  /** Takes back what the journal says; answers whether the record was one of this table. */
  replay(record: JsonObject): boolean {
    const { t, id, [this.#name]: item } = record;
    this.#changes += 1;
    if (t === `${this.#name}-gone`) this.#items.delete(String(id));
    if (t !== this.#name || !isJsonObject(item)) return t === `${this.#name}-gone`;
    // Written by `put`, in this very form.
    const kept = item as unknown as T;
    this.#items.set(this.#idOf(kept), kept);
    return true;
  }
}

/** Packages that a device or a profile is to have, by id. */
export interface AssignedPackages {
  readonly firmwareId?: string;
  readonly softwareId?: string;
}

export interface PlatformDevice extends AssignedPackages {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly label: string;
  readonly createdMs: number;
  readonly profileId: string;
  readonly accessToken: string;
  /** The user who claimed it. */
  readonly customer?: string;
  readonly gateway: boolean;
}

export type ProvisionType = 'DISABLED' | 'ALLOW_CREATE_NEW_DEVICES' | 'CHECK_PRE_PROVISIONED_DEVICES';

export interface DeviceProfile extends AssignedPackages {
  readonly id: string;
  readonly name: string;
  readonly isDefault: boolean;
  readonly createdMs: number;
  readonly provisionType: ProvisionType;
  readonly provisionDeviceKey?: string;
  readonly provisionDeviceSecret?: string;
  readonly version?: number;
  /** Members that this platform only keeps: description, dashboard, rule chain, and the rest of the profile's data. */
  readonly more?: JsonObject;
}

type Lookup = ReadonlyMap<string, PlatformDevice>;

/** The stock server's own length. */
const TOKEN_LENGTH = 20;

export class DeviceRegistry {
  readonly devices: KeptTable<PlatformDevice>;
  readonly profiles: KeptTable<DeviceProfile>;
  /** Each request looks one of hundreds of devices up. */
  #index: { readonly changes: number; readonly byToken: Lookup; readonly byName: Lookup } | undefined;

  constructor(record: (record: JsonObject) => void) {
    this.devices = new KeptTable('device', ({ id }) => id, record);
    this.profiles = new KeptTable('profile', ({ id }) => id, record);
  }

  byToken(token: string): PlatformDevice | undefined {
    return this.#indexed().byToken.get(token);
  }

  byName(name: string): PlatformDevice | undefined {
    return this.#indexed().byName.get(name);
  }

  /** The profile that devices get when nothing else is said. */
  get defaultProfile(): DeviceProfile {
    const profile = this.profiles.all.find(({ isDefault }) => isDefault);
    if (profile === undefined) throw new Error('no default profile');
    return profile;
  }

  /** A device that does not exist yet, complete: putting it among the devices makes it exist. */
  draft(draft: Partial<PlatformDevice> & Pick<PlatformDevice, 'name'>, nowMs: number): PlatformDevice {
    return {
      ...draft,
      id: draft.id ?? randomUUID(),
      createdMs: draft.createdMs ?? nowMs,
      type: draft.type ?? 'default',
      label: draft.label ?? '',
      profileId: draft.profileId ?? this.defaultProfile.id,
      accessToken: draft.accessToken ?? newAccessToken(),
      gateway: draft.gateway ?? false,
    };
  }

  /** The last of two devices with one token, and the first of two with one name. */
  #indexed(): { readonly byToken: Lookup; readonly byName: Lookup } {
    const { all, changes } = this.devices;
    if (this.#index?.changes !== changes) {
      const byToken = new Map(all.map((device) => [device.accessToken, device]));
      const byName = new Map(all.toReversed().map((device) => [device.name, device]));
      this.#index = { changes, byToken, byName };
    }
    return this.#index;
  }
}

/** Letters and digits only, as the stock server makes them. */
function newAccessToken(): string {
  let token = '';
  while (token.length < TOKEN_LENGTH)
    token += randomBytes(TOKEN_LENGTH)
      .toString('base64')
      .replace(/[^A-Za-z0-9]/g, '');
  return token.slice(0, TOKEN_LENGTH);
}
