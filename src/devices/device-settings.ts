/** Settings of the credentials of a device beside the gateway: its own, and else those of the gateway. */
import type { AgentConfig, DeviceConfig } from '../config/schema/agent-config.ts';
import { AgentError } from '../errors/agent-error.ts';
import type { CredentialsStore } from './credentials-store.ts';
import type { CredentialsSettings } from './obtain-credentials.ts';

export interface SlotOfDevice {
  /** Undefined of a device that is in no slot. */
  readonly slot: DeviceConfig | undefined;
  /** Name that it is provisioned under. */
  readonly name: string;
  /** The gateway's own, whose provisioning secret may have been rotated. */
  readonly store: Pick<CredentialsStore, 'provisionSecret'>;
}

/**
 * Undefined of a device that is in no slot: it goes on with the credentials that are kept.
 * @throws AgentError `provisioning/missing-file` (hold) while a token or a secret that its slot names is not there.
 */
export function slotCredentials(
  config: AgentConfig,
  { slot: started, name, store }: SlotOfDevice,
): CredentialsSettings | undefined {
  if (started === undefined) return undefined;
  const { provisioning, devices } = config;
  // A file that was missing at the start may have come since.
  const slot = devices.find((one) => one.name === started.name) ?? started;
  if (slot.accessToken !== undefined) return { accessToken: slot.accessToken.reveal() };
  if ((slot.accessTokenFile ?? slot.accessTokenCredential) !== undefined) throw missing('its access token');
  const {
    key: deviceKey,
    secret: deviceSecret,
    keyFile,
    keyCredential,
    secretFile,
    secretCredential,
  } = slot.provisioning ?? provisioning?.devices ?? {};
  const names = [keyFile, keyCredential, secretFile, secretCredential].some((file) => file !== undefined);
  if (names && (deviceKey === undefined || deviceSecret === undefined)) throw missing('its provisioning key or secret');
  const { onUnauthorised = 'hold', onOtherBoard = 'continue' } = provisioning ?? {};
  const own = deviceKey && deviceSecret && { deviceKey: deviceKey.reveal(), deviceSecret: deviceSecret.reveal() };
  const gateways = provisioning?.deviceKey &&
    provisioning.deviceSecret && {
      deviceKey: provisioning.deviceKey.reveal(),
      deviceSecret: provisioning.deviceSecret.reveal(),
    };
  const secret = own ?? store.provisionSecret ?? gateways;
  return {
    provisioning: {
      deviceName: name,
      onUnauthorised,
      onOtherBoard,
      secret,
    },
  };
}

function missing(what: string): AgentError {
  return new AgentError(
    'provisioning/missing-file',
    `${what} is not there yet: the file that its entry of devices: names`,
    {
      recovery: 'hold',
    },
  );
}
