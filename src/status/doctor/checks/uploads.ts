/** Whether readings arrive at the platform. */
import { formatDuration } from '../../../config/quantity.ts';
import { agentCheck, fault, good, warning } from '../checkup.ts';

/** Longer than any backoff: what does not arrive for this long needs a person. */
const MAX_SILENCE_MS = 30 * 60_000;

export const uploads = agentCheck('uploads', 'readings arrive at the platform', ({ connection, outbox, nowMs, startedAtMs }) => {
  const { state, reason, lastAcknowledgedAtMs } = connection;
  const silentMs = nowMs - (lastAcknowledgedAtMs ?? startedAtMs);
  const ago = formatDuration(Math.round(silentMs / 1_000) * 1_000);
  const last = lastAcknowledgedAtMs === undefined ? 'nothing was acknowledged since the start' : `the last was acknowledged ${ago} ago`;
  const remedy = 'the checks of name, route, TLS and token above say where it ends; turnstone status shows the agent’s own words';
  if (state === 'held') return fault(`${last}: ${reason ?? 'held'}`, remedy);
  if (outbox.heldEntries > 0 && silentMs > MAX_SILENCE_MS) return fault(`${last}${reason === undefined ? '' : `: ${reason}`}`, remedy);
  return state === 'backing-off' ? warning(`${last}: ${reason ?? 'it is tried again'}`, remedy) : good(last);
});
