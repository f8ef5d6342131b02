/** Settings of an attached device's credentials: its own, and else those of the gateway. */
import type { AgentConfig, DeviceConfig } from '../../config/schema/agent-config.ts';
import { given } from '../../host/given.ts';
import type { CredentialsStore } from '../credentials-store.ts';
import { deviceNameOf } from '../device-name.ts';
import type { CredentialsSettings } from '../obtain-credentials.ts';
import type { PlatformConnection } from '../platform-connection.ts';

export interface AttachedSlot {
  /** Undefined of a device that is in no slot. */
  readonly slot: DeviceConfig | undefined;
  /** Name that it is provisioned under. */
  readonly name: string;
  /** The gateway's own, whose provisioning secret may have been rotated. */
  readonly store: Pick<CredentialsStore, 'provisionSecret'>;
}

/** Undefined of a device that is in no slot: it goes on with the credentials that are kept. */
export function attachedCredentials({ provisioning }: AgentConfig, { slot, name, store }: AttachedSlot): CredentialsSettings | undefined {
  if (slot === undefined) return undefined;
  if (slot.accessToken !== undefined) return { accessToken: slot.accessToken.reveal() };
  const { key: deviceKey, secret: deviceSecret } = slot.provisioning ?? {};
  const { onUnauthorised = 'hold', onOtherBoard = 'continue' } = provisioning ?? {};
  const own = deviceKey && deviceSecret && { deviceKey: deviceKey.reveal(), deviceSecret: deviceSecret.reveal() };
  const gateways = provisioning?.deviceKey &&
    provisioning.deviceSecret && { deviceKey: provisioning.deviceKey.reveal(), deviceSecret: provisioning.deviceSecret.reveal() };
  const secret = own ?? store.provisionSecret ?? gateways;
  return { provisioning: { deviceName: name, onUnauthorised, onOtherBoard, ...given({ secret }) } };
}

/** The gateway's name, as the platform calls it, or as it is going to be provisioned; else the machine's. */
export function gatewayName(platform: Pick<PlatformConnection, 'deviceName' | 'store' | 'board'>, template: string | undefined): string {
  const known = platform.deviceName || platform.store.record('own')?.deviceName;
  if (known !== undefined || template === undefined) return known ?? platform.board.hostname;
  try {
    return deviceNameOf(template, platform.board);
  } catch {
    return platform.board.hostname;
  }
}
