/** Checks that the last update went well. */
import { failureText } from '../../shape/agent-status.ts';
import { agentCheck, fault } from './checkup.ts';

export const firmware = agentCheck('firmware', 'the last update went well', ({ firmware: { failed = [] } }) => {
  const remedy = 'turnstone firmware history tells more; assign a good package on the platform';
  return failed.length === 0 ? undefined : fault(failed.map(failureText).join('; '), remedy);
});
