/** Which standing polls an attached device holds: each costs the link, and over HTTP/1.1 a socket. */
import type { AgentConfig, DeviceConfig } from '../schema/agent-config.ts';

export interface DevicePolls {
  /** For commands. */
  readonly rpc: boolean;
  /** For changes of shared attributes. */
  readonly attributes: boolean;
}

/**
 * Returns both for a device with an actuator: each is moved by commands and by its shared attribute. One whose sensor a method of the configuration
 * reads takes that command, and offers of packages come among shared attributes. Settings of sensors are shared attributes of the gateway.
 */
export function devicePolls(
  { name, firmware: updates }: Pick<DeviceConfig, 'name' | 'firmware'>,
  { actuators, sensors, rpc, firmware }: PolledFor,
): DevicePolls {
  const moves = actuators.some((one) => one.enabled && one.device === name);
  const methods = Object.values(rpc.methods);
  const isAsked = sensors.some((one) => one.device === name && methods.some(({ sensor }) => sensor === one.name));
  return {
    rpc: rpc.enabled && (moves || isAsked),
    attributes: moves || (firmware.enabled && updates !== undefined),
  };
}

interface PolledFor extends Pick<AgentConfig, 'actuators' | 'sensors'> {
  readonly rpc: Pick<AgentConfig['rpc'], 'enabled' | 'methods'>;
  readonly firmware: Pick<AgentConfig['firmware'], 'enabled'>;
}
