/** Which standing polls an attached device holds: each costs the link, and over HTTP/1.1 a socket. */
import type { AgentConfig, DeviceConfig } from '../schema/agent-config.ts';

export interface DevicePolls {
  /** For commands. */
  readonly rpc: boolean;
  /** For changes of shared attributes. */
  readonly attributes: boolean;
}

/**
 * By `auto` a device polls for both when it has an actuator: each is moved by commands and by its shared attribute. Without one there is nothing to
 * command, and nothing to set, as settings of sensors are shared attributes of the gateway; but offers of packages come among them.
 */
export function devicePolls(
  device: Pick<DeviceConfig, 'name' | 'poll' | 'firmware'>,
  { actuators, rpc, firmware }: PolledFor,
): DevicePolls {
  const { name, poll } = device;
  const moves = poll === 'auto' && actuators.some((one) => one.enabled && one.device === name);
  const isUpdated = poll === 'auto' && firmware.enabled && device.firmware !== undefined;
  return { rpc: rpc.enabled && (moves || poll === 'rpc'), attributes: moves || isUpdated || poll === 'attributes' };
}

type Enabled<K extends 'rpc' | 'firmware'> = { readonly [section in K]: Pick<AgentConfig[section], 'enabled'> };
type PolledFor = Pick<AgentConfig, 'actuators'> & Enabled<'rpc' | 'firmware'>;
