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
 * command, and nothing to set: settings of sensors are shared attributes of the gateway.
 */
export function devicePolls({ name, poll }: Pick<DeviceConfig, 'name' | 'poll'>, { actuators, rpc }: PolledFor): DevicePolls {
  const moves = poll === 'auto' && actuators.some(({ device, enabled }) => enabled && device === name);
  return { rpc: rpc.enabled && (moves || poll === 'rpc'), attributes: moves || poll === 'attributes' };
}

type PolledFor = Pick<AgentConfig, 'actuators'> & { readonly rpc: Pick<AgentConfig['rpc'], 'enabled'> };
