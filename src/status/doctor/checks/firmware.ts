/** Whether the last update went well. */
import { failureText } from '../../agent-status.ts';
import { check, fault } from '../checkup.ts';

export const firmware = check('firmware', 'the last update went well', ({ agent }) => {
  const failed = agent?.firmware.failed ?? [];
  if (failed.length === 0) return undefined;
  return fault(failed.map(failureText).join('; '), 'turnstone firmware history tells more; assign a good package on the platform');
});
