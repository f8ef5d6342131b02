/** Time of day since which something is so, in the machine's zone, for the sentences of the agent. */
import { localTimes } from '../host/local-time.ts';
import type { AgentStatus } from './shape/agent-status.ts';

type Clocks = Pick<AgentStatus, 'nowMs' | 'wallMs' | 'timeSynchronised'>;

/**
 * Returns what puts a monotonic time into words: `14:02`, and `05-28 14:02` of another day. It is undefined for no time, and while the clock is
 * not known to be right.
 */
export function timeOf({ nowMs, wallMs, timeSynchronised }: Clocks): (atMs: number | undefined) => string | undefined {
  const localTime = localTimes();
  return (atMs) => {
    if (atMs === undefined || !timeSynchronised) return undefined;
    const { date, time } = localTime(wallMs - (nowMs - atMs));
    return `${date === localTime(wallMs).date ? '' : `${date} `}${time}`;
  };
}

/** Returns the same within a sentence: ` since 14:02`, or nothing. */
export function sinceWords(clocks: Clocks): (atMs: number | undefined) => string {
  const time = timeOf(clocks);
  return (atMs) => {
    const at = time(atMs);
    return at === undefined ? '' : ` since ${at}`;
  };
}
