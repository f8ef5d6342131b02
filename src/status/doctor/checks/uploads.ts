/** Whether readings arrive at the platform. */
import { formatDuration } from '../../../config/quantity.ts';
import { check, fault, good, warning } from '../checkup.ts';

/** Longer than any backoff: what does not arrive for this long needs a person. */
const MAX_SILENCE_MS = 30 * 60_000;

export const uploads = check('uploads', 'readings arrive at the platform', ({ agent }) => {
  if (agent === undefined) return undefined;
  const { state, reason, lastAcknowledgedAtMs } = agent.connection;
  const silentMs = agent.nowMs - (lastAcknowledgedAtMs ?? agent.startedAtMs);
  const last =
    lastAcknowledgedAtMs === undefined
      ? 'nothing was acknowledged since the start'
      : `the last was acknowledged ${formatDuration(Math.round(silentMs / 1_000) * 1_000)} ago`;
  const remedy = 'the checks of name, route, TLS and token above say where it ends; turnstone status shows the agent’s own words';
  if (state === 'held') return fault(`${last}: ${reason ?? 'held'}`, remedy);
  if (agent.outbox.heldEntries > 0 && silentMs > MAX_SILENCE_MS)
    return fault(`${last}${reason === undefined ? '' : `: ${reason}`}`, remedy);
  return state === 'backing-off' ? warning(`${last}: ${reason ?? 'it is tried again'}`, remedy) : good(last);
});
