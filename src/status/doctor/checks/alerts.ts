/** Alerts that stand in the agent: each is a finding, so that the doctor never calls good what the status calls wrong. */
import { agentCheck, fault, good } from './checkup.ts';

export const alerts = agentCheck('alerts', 'no alert stands', ({ alerts: standing, platform }) => {
  // Contact is a check of its own, in the same words.
  const others = standing.filter((alert) => alert !== platform.words);
  if (others.length === 0) return good('none');
  return fault(others.join(' · '), 'each says what to do, or names the part: its check above tells more; turnstone status lists them');
});
