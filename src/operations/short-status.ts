/** Shortens a status to one RPC reply: with many devices the rows of healthy ones are left out, and those that need a person stay. */

import type { AgentStatus } from '../status/shape/agent-status.ts';
import { jsonOf, stringifyJson } from '../values/json.ts';

/** Below the 64 KiB that the platform takes, with room for the reply around it. */
const MAX_BYTES = 60 * 1024;
const FEW = 20;

/** Returns the whole status where it fits; else `shortened` says that something was left out. */
export function shortStatus(status: AgentStatus): AgentStatus & { readonly shortened?: true } {
  if (fits(status)) return status;
  const { sensors, actuators, devices } = status;
  const withoutValues = sensors.map((sensor) => ({ ...sensor, readings: [] }));
  const atFault = {
    sensors: withoutValues.filter(({ fault }) => fault !== undefined),
    actuators: actuators.filter(({ fault }) => fault !== undefined),
  };
  const few = {
    sensors: atFault.sensors.slice(0, FEW),
    actuators: atFault.actuators.slice(0, FEW),
    alerts: status.alerts.slice(0, FEW),
    ...(devices !== undefined && { devices: { ...devices, list: devices.list.slice(0, FEW) } }),
  };
  const shorter = [{ sensors: withoutValues }, atFault, few].map((part) => ({
    ...status,
    ...part,
    shortened: true as const,
  }));
  return shorter.find(fits) ?? { ...status, ...few, shortened: true };
}

function fits(status: AgentStatus): boolean {
  return Buffer.byteLength(stringifyJson(jsonOf(status))) <= MAX_BYTES;
}
