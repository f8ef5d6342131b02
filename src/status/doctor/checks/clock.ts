/** Checks that the clock is synchronised, or trusted. */
import { check, fault, good } from './checkup.ts';

export const clock = check('clock', 'the clock is synchronised', async ({ isTimeSynchronised, agent, read }) => {
  if (read.config?.time.trust === 'always') return good('trusted by configuration (time.trust: always)');
  if (agent?.timeSynchronised ?? (await isTimeSynchronised())) return good('yes');
  const remedy = 'timedatectl set-ntp true, and let port 123 (NTP) through; or time.trust: platform';
  return fault('readings wait until their time is known', remedy);
});
