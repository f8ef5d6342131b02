/** Two questions that a supervisor asks: does the process work (`/healthz`), and does it do its whole job (`/readyz`)? */
import type { AgentStatus } from './shape/agent-status.ts';

export interface Health {
  readonly ok: boolean;
  /** Why not, in words. */
  readonly reasons: readonly string[];
}

/** A restart may mend a `false`: only what is wrong on this machine counts. */
export function healthOf({ outbox }: Pick<AgentStatus, 'outbox'>): Health {
  return verdict(outbox.fault === undefined ? [] : [`the disk does not take readings (${outbox.fault})`]);
}

/** False also while the platform is out of reach; the agent measures and keeps all the same. */
export function readinessOf({ outbox, platform, timeSynchronised }: Pick<AgentStatus, 'outbox' | 'platform' | 'timeSynchronised'>): Health {
  return verdict([
    ...(platform.verdict === 'good' ? [] : [platform.words]),
    ...healthOf({ outbox }).reasons,
    // No restart reads what the disk does not give, and until then new readings are stored and alarms leave.
    ...(outbox.hangingReadMs === undefined ? [] : ['the disk does not come back from a read']),
    ...(timeSynchronised ? [] : ['the clock is not synchronised']),
  ]);
}

function verdict(reasons: readonly string[]): Health {
  return { ok: reasons.length === 0, reasons };
}
