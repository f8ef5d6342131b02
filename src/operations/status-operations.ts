/** Operations that ask for the state of the agent as a whole. */

import type { AgentStatus, ToldStatus } from '../status/shape/agent-status.ts';
import type { JsonObject } from '../values/json.ts';
import { type Operation, type OperationsOn, QUESTION } from './operation.ts';
import { shortStatus } from './short-status.ts';

export interface AskedForStatus {
  readonly status: () => ToldStatus;
  /** Sensors under the names, in the units and with the places that the platform gets. */
  readonly shown: (sensors: AgentStatus['sensors']) => AgentStatus['sensors'];
  readonly diagnose: (signal: AbortSignal) => Promise<JsonObject>;
}

export const STATUS_OPERATIONS: OperationsOn<AskedForStatus> = {
  getStatus: ({ status, shown }) => ({
    ...QUESTION,
    description: 'How the agent is: version, uptime, links, counts.',
    askers: ['platform', 'viewer'],
    run: (_params, { asker }) => {
      const { sentences: _untold, ...now } = status();
      const told = { ...now, sensors: shown(now.sensors) };
      return asker === 'platform' ? shortStatus(told) : told;
    },
  }),
  diagnose: ({ diagnose }) => ({
    ...QUESTION,
    description: 'What a technician would look at first: faults, versions, disks, clock, buses.',
    askers: ['platform', 'site'],
    run: (_params, { signal }) => diagnose(signal),
  }),
};

/** Returns the operation `getStatus` of an attached device, for the platform alone. */
export function statusOfDevice(answer: () => JsonObject): Operation {
  return {
    ...QUESTION,
    name: 'getStatus',
    description: 'How this device is: its sensors and actuators.',
    run: answer,
  };
}
