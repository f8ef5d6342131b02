/** Checks that the outbox keeps everything. */
import type { AgentStatus } from '../../shape/agent-status.ts';
import { agentCheck, fault, good, warning } from './checkup.ts';

/** Below this the outbox is about to thin. */
const MIN_HOURS = 24;
/** So long a loss is told of: a warning that stands for ever hides the next. */
const LOSS_IS_NEWS_MS = 7 * 86_400_000;
/** Remedies that make room; a larger outbox gets none on a disk that is short of space. */
interface Room {
  readonly forLosses: string;
  readonly forMore: string;
}
const IN_OUTBOX: Room = {
  forLosses: 'raise outbox.maxBytes, or take the outage away',
  forMore: 'raise outbox.maxBytes, or widen deadbands',
};
const ON_DISK: Room = { forLosses: 'free space, as disk space above says', forMore: 'free space, as disk space above says' };
const LOSSES = [
  {
    loss: 'damaged',
    what: 'were lost to damage on the disk',
    remedy: () => 'turnstone outbox verify shows what lies aside; replace the card if there is more of it',
  },
  {
    loss: 'dropped',
    what: 'gave way undelivered: too old, or there was no room on the disk or in memory',
    remedy: ({ forLosses }: Room) => `journalctl -u turnstone tells which; ${forLosses}`,
  },
  {
    loss: 'rejected',
    what: 'were refused by the platform',
    remedy: () => 'turnstone outbox rejected shows them with the platform’s answer',
  },
  { loss: 'thinned', what: 'were thinned out to make room', remedy: ({ forLosses }: Room) => forLosses },
] as const;

export const outbox = agentCheck('outbox', 'the outbox keeps everything', (agent) => {
  const { fault: why, heldEntries, hoursThatFit, untimedEntries, missingBytes } = agent.outbox;
  const room = missingBytes === undefined ? IN_OUTBOX : ON_DISK;
  const lookAbove = 'see disk space and disk health above; dmesg tells what the kernel met';
  if (why !== undefined) return fault(`it cannot write (${why}): readings are only in memory`, lookAbove);
  const lost = recentLosses(agent, room);
  if (lost.length > 0)
    return warning(lost.map(({ reason }) => reason).join('; '), [...new Set(lost.map(({ remedy }) => remedy))].join('; '));
  if (untimedEntries !== undefined)
    return warning(
      `${untimedEntries} entries wait for their time: the clock was not right when they were taken, and nothing tells what it should have been`,
      'outbox.timeUncertain: send sends them with a mark; a battery for the clock, or time.trust: platform, helps what comes',
    );
  const fits = hoursThatFit === undefined ? '' : `${Math.floor(hoursThatFit)} more hours fit`;
  if (hoursThatFit !== undefined && hoursThatFit < MIN_HOURS) return warning(`only ${fits}`, room.forMore);
  return good(`${heldEntries} entries wait${fits && `, ${fits}`}`);
});

/** Returns the losses of late, each with all before it; one whose time is not known counts as recent. */
function recentLosses({ outbox, wallMs }: AgentStatus, room: Room): readonly { readonly reason: string; readonly remedy: string }[] {
  return LOSSES.flatMap(({ loss, what, remedy }) => {
    const entries = outbox[loss] ?? 0;
    const lastMs = outbox.lastLost?.[loss];
    if (entries === 0 || (lastMs !== undefined && wallMs - lastMs > LOSS_IS_NEWS_MS)) return [];
    const last = lastMs === undefined ? '' : `, the last at ${new Date(lastMs).toISOString()}`;
    return [{ reason: `${entries} entries ${what}${last}`, remedy: remedy(room) }];
  });
}
