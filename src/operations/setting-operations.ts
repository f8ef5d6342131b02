/** Settings that a command changes, as a shared attribute would: what is effective is told, and the next start begins with the file's again. */

import type { LiveConfig } from '../config/live-config.ts';
import { LOG_LEVELS, type LogLevel } from '../host/log.ts';
import { type OperationsOn, objectOf, QUESTION, textOf } from './operation.ts';

export const SETTING_OPERATIONS: OperationsOn<Pick<LiveConfig, 'set'>> = {
  setLogLevel: (live) => ({
    ...QUESTION,
    description: 'Sets how much is logged until the next restart.',
    effect: 'set',
    askers: ['platform', 'site'],
    params: objectOf({ level: { type: 'string', enum: LOG_LEVELS } }),
    run: (params) => {
      const level = textOf(params, 'level') as LogLevel;
      live.set('log.level', level);
      return { level };
    },
  }),
};
