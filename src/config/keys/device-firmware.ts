/** Handlers of packages, by whose they are: one that a device names is for devices, and the gateway's own offers do not reach it. */
import type { AgentConfig, DeviceConfig, FirmwareHandlerConfig } from '../schema/agent-config.ts';

interface Configured {
  readonly firmware: Pick<AgentConfig['firmware'], 'handlers'>;
  readonly devices: readonly Pick<DeviceConfig, 'firmware'>[];
}

/** Titles that devices name. */
export function deviceTitles(devices: Configured['devices']): ReadonlySet<string> {
  return new Set(devices.flatMap(({ firmware }) => firmware?.handlers ?? []));
}

/** Those of the gateway. */
export function gatewayHandlers({ firmware, devices }: Configured): readonly FirmwareHandlerConfig[] {
  const ofDevices = deviceTitles(devices);
  return firmware.handlers.filter(({ title }) => !ofDevices.has(title));
}

/** Those of one device; none of one that names none. */
export function deviceHandlers(
  { firmware: named }: Configured['devices'][number],
  { firmware }: Pick<Configured, 'firmware'>,
): readonly FirmwareHandlerConfig[] {
  return firmware.handlers.filter(({ title }) => named?.handlers.includes(title) === true);
}
