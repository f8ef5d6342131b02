/** RPC methods that ask for the state of the agent as a whole. */

import type { AgentStatus } from '../status/shape/agent-status.ts';
import type { JsonObject } from '../values/json.ts';
import { type MethodsOn, QUESTION } from './rpc-method.ts';
import { shortStatus } from './short-status.ts';

export interface AskedForStatus {
  readonly status: () => AgentStatus;
  readonly diagnose: (signal: AbortSignal) => Promise<JsonObject>;
}

export const STATUS_METHODS: MethodsOn<AskedForStatus> = {
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
