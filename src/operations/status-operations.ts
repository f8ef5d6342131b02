/** RPC methods that ask for the state of the agent as a whole. */
import type { JsonObject } from '../host/json.ts';
import type { AgentStatus } from '../status/shape/agent-status.ts';
import { type OperationsOn, QUESTION } from './operation.ts';
import { shortStatus } from './short-status.ts';

export interface AskedForStatus {
  readonly status: () => AgentStatus;
  readonly diagnose: (signal: AbortSignal) => Promise<JsonObject>;
}

export const STATUS_OPERATIONS: OperationsOn<AskedForStatus> = {
  getStatus: ({ status }) => ({
    ...QUESTION,
    description: 'How the agent is: version, uptime, links, counts.',
    run: () => shortStatus(status()),
  }),
  diagnose: ({ diagnose }) => ({
    ...QUESTION,
    description: 'What a technician would look at first: faults, versions, disks, clock, buses.',
    run: (_params, { signal }) => diagnose(signal),
  }),
};
