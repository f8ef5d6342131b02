/** Time of day since which something is so, in the machine's zone, for the sentences of the agent. */
import { localTimes } from '../host/local-time.ts';
import type { AgentStatus } from './shape/agent-status.ts';

/**
 * Returns what puts a monotonic time into words: ` since 14:02`, and ` since 05-28 14:02` of another day. It is empty for no time, and while
 * the clock is not known to be right.
 */
export function sinceWords({
  nowMs,
  wallMs,
  timeSynchronised,
}: Pick<AgentStatus, 'nowMs' | 'wallMs' | 'timeSynchronised'>): (atMs: number | undefined) => string {
  const localTime = localTimes();
  return (atMs) => {
    if (atMs === undefined || !timeSynchronised) return '';
    const { date, time } = localTime(wallMs - (nowMs - atMs));
    return ` since ${date === localTime(wallMs).date ? '' : `${date} `}${time}`;
  };
}
