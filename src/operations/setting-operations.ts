/**
 * Settings that a command changes. For the platform it is as with a shared attribute: what is effective is told. For somebody on the machine it holds
 * until the file says otherwise. The next start begins with the file's again.
 */

import type { LiveConfig } from '../config/live-config.ts';
import { LOG_LEVELS, type LogLevel } from '../host/log.ts';
import { type OperationsOn, objectOf, QUESTION, textOf } from './operation.ts';

export interface SettingParts {
  readonly live: Pick<LiveConfig, 'set'>;
  readonly log: { level: LogLevel };
}

export const SETTING_OPERATIONS: OperationsOn<SettingParts> = {
  setLogLevel: ({ live, log }) => ({
    ...QUESTION,
    description: 'Sets how much is logged until the next restart.',
    effect: 'set',
    askers: ['platform', 'site'],
    params: objectOf({ level: { type: 'string', enum: LOG_LEVELS } }),
    run: (params, { asker }) => {
      const level = textOf(params, 'level') as LogLevel;
      if (asker === 'site') log.level = level;
      else live.set('log.level', level);
      return { level };
    },
  }),
};
