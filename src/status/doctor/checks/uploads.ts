/** Contact with the platform and delivery to it, in the agent's own words. */
import { formatDuration } from '../../../config/fields/quantity.ts';
import { agentCheck, fault, good, warning } from './checkup.ts';

/** Longer than any backoff: what does not arrive for this long needs a person. */
const MAX_SILENCE_MS = 30 * 60_000;

export const uploads = agentCheck('uploads', 'readings arrive at the platform', ({ platform, outbox, nowMs, startedAtMs }) => {
  const { verdict, words, problem = words, remedy = 'turnstone status tells more; it is tried again', lastAcknowledgedAtMs } = platform;
  const silentMs = nowMs - (lastAcknowledgedAtMs ?? startedAtMs);
  const ago = formatDuration(Math.round(silentMs / 1_000) * 1_000);
  if (verdict === 'good') return good(`${words}, the last was acknowledged ${ago} ago`);
  const isSilent = outbox.heldEntries > 0 && silentMs > MAX_SILENCE_MS;
  return verdict === 'fault' || isSilent ? fault(problem, remedy) : warning(problem, remedy);
});
