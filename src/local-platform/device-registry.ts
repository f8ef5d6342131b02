/** Devices, their access tokens and their profiles, as the platform's database knows them. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { JsonObject } from '../host/json.ts';
import { KeptTable } from './kept-table.ts';

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
}

/** The stock server's own length. */
const TOKEN_LENGTH = 20;

export class DeviceRegistry {
  readonly devices: KeptTable<PlatformDevice>;
  readonly profiles: KeptTable<DeviceProfile>;

  constructor(record: (record: JsonObject) => void) {
    this.devices = new KeptTable('device', ({ id }) => id, record);
    this.profiles = new KeptTable('profile', ({ id }) => id, record);
  }

  byToken(token: string): PlatformDevice | undefined {
    return this.devices.all.findLast(({ accessToken }) => accessToken === token);
  }

  byName(name: string): PlatformDevice | undefined {
    return this.devices.all.find((device) => device.name === name);
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
