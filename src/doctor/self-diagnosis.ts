/** The RPC `diagnose`: the doctor, called by the agent on itself. Loaded only when somebody asks. */
import type { AgentConfig } from '../config/schema/agent-config.ts';
import { openPorts } from '../hardware/open-ports.ts';
import { agentVersion } from '../host/version.ts';
import type { AgentStatus } from '../status/shape/agent-status.ts';
import type { JsonObject } from '../values/json.ts';
import type { DoctorDeps } from './checks/checkup.ts';

export interface SelfDiagnosisDeps extends Pick<DoctorDeps, 'configFile' | 'environment' | 'clock' | 'boardSocket'> {
  readonly status: () => AgentStatus;
}

/** Runs the doctor. Bad findings come whole, good ones by name: the platform takes 64 KiB. */
export async function diagnoseSelf(deps: SelfDiagnosisDeps, signal: AbortSignal): Promise<JsonObject> {
  const [{ runDoctor }, { MachineFacts }] = await Promise.all([
    import('./doctor.ts'),
    import('../host/machine-facts.ts'),
  ]);
  const agent = deps.status();
  const report = await runDoctor(
    {
      ...deps,
      agent,
      version: agentVersion(),
      machine: new MachineFacts({ clock: deps.clock }),
      isTimeSynchronised: async () => agent.timeSynchronised,
      // By what came of the agent's own requests: none is made for this.
      askPlatform: async () => ({ hasToken: true, contact: agent.platform }),
      openPorts: ({ hardware }: AgentConfig) => openPorts({ clock: deps.clock, hardware }),
    },
    signal,
  );
  return {
    verdict: report.verdict,
    version: agent.version,
    findings: report.checks.filter(({ verdict }) => verdict !== 'good').map((check) => ({ ...check })),
    good: report.checks.filter(({ verdict }) => verdict === 'good').map(({ id }) => id),
    alerts: agent.alerts,
  };
}
