/** Devices, their access tokens and their profiles, as the platform's database knows them. */
import { randomBytes, randomUUID } from 'node:crypto';

export interface PlatformDevice {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly label: string;
  readonly createdMs: number;
  readonly profileId: string;
  readonly accessToken: string;
  /** The user who claimed it. */
  readonly customer?: string;
  readonly firmwareId?: string;
  readonly softwareId?: string;
  readonly gateway: boolean;
}

export type ProvisionType = 'DISABLED' | 'ALLOW_CREATE_NEW_DEVICES' | 'CHECK_PRE_PROVISIONED_DEVICES';

export interface DeviceProfile {
  readonly id: string;
  readonly name: string;
  readonly isDefault: boolean;
  readonly createdMs: number;
  readonly provisionType: ProvisionType;
  readonly provisionDeviceKey?: string;
  readonly provisionDeviceSecret?: string;
  readonly firmwareId?: string;
  readonly softwareId?: string;
}

export type DeviceDraft = Partial<Omit<PlatformDevice, 'id' | 'createdMs'>> & { readonly name: string };

/** The stock server's own length. */
const TOKEN_LENGTH = 20;

export class DeviceRegistry {
  readonly #devices = new Map<string, PlatformDevice>();
  readonly #byToken = new Map<string, string>();
  readonly #byName = new Map<string, string>();
  readonly #profiles = new Map<string, DeviceProfile>();

  get devices(): readonly PlatformDevice[] {
    return [...this.#devices.values()];
  }

  get profiles(): readonly DeviceProfile[] {
    return [...this.#profiles.values()];
  }

  byId(id: string): PlatformDevice | undefined {
    return this.#devices.get(id);
  }

  byToken(token: string): PlatformDevice | undefined {
    const id = this.#byToken.get(token);
    return id === undefined ? undefined : this.#devices.get(id);
  }

  byName(name: string): PlatformDevice | undefined {
    const id = this.#byName.get(name);
    return id === undefined ? undefined : this.#devices.get(id);
  }

  profile(id: string): DeviceProfile | undefined {
    return this.#profiles.get(id);
  }

  profileByKey(provisionDeviceKey: string): DeviceProfile | undefined {
    return this.profiles.find((profile) => profile.provisionDeviceKey === provisionDeviceKey);
  }

  /** The profile that devices get when nothing else is said. */
  get defaultProfile(): DeviceProfile {
    const profile = this.profiles.find(({ isDefault }) => isDefault);
    if (profile === undefined) throw new Error('no default profile');
    return profile;
  }

  /** A device that does not exist yet, complete; `put` makes it exist. */
  draft(draft: DeviceDraft, nowMs: number): PlatformDevice {
    return {
      id: randomUUID(),
      createdMs: nowMs,
      type: 'default',
      label: '',
      profileId: this.defaultProfile.id,
      accessToken: newAccessToken(),
      gateway: false,
      ...draft,
    };
  }

  put(device: PlatformDevice): void {
    const before = this.#devices.get(device.id);
    if (before !== undefined) {
      this.#byToken.delete(before.accessToken);
      this.#byName.delete(before.name);
    }
    this.#devices.set(device.id, device);
    this.#byToken.set(device.accessToken, device.id);
    this.#byName.set(device.name, device.id);
  }

  remove(id: string): void {
    const device = this.#devices.get(id);
    if (device === undefined) return;
    this.#devices.delete(id);
    this.#byToken.delete(device.accessToken);
    this.#byName.delete(device.name);
  }

  putProfile(profile: DeviceProfile): void {
    this.#profiles.set(profile.id, profile);
  }

  removeProfile(id: string): void {
    this.#profiles.delete(id);
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
