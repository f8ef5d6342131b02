/** Settings that a command changes, as a shared attribute would: what is effective is told, and the next start begins with the file's again. */

import type { LiveConfig } from '../config/live-config.ts';
import { type OperationsOn, objectOf, QUESTION, textOf } from './operation.ts';

export const SETTING_OPERATIONS: OperationsOn<Pick<LiveConfig, 'set'>> = {
  setLogLevel: (live) => ({
    ...QUESTION,
    description: 'Sets how much is logged until the next restart.',
    effect: 'set',
    params: objectOf({ level: { type: 'string', enum: ['debug', 'info', 'warn', 'error'] } }),
    run: (params) => {
      const level = textOf(params, 'level');
      live.set('log.level', level);
      return { level };
    },
  }),
};
