/** Checks that the proxy takes connections. */
import { configCheck } from './checkup.ts';
import { hopAnswers } from './first-hop.ts';

export const proxy = configCheck('proxy', 'the proxy takes connections', (config, _context, signal) =>
  config.platform.proxy === undefined
    ? undefined
    : hopAnswers(config, 'check platform.proxy, or remove it where no proxy is needed', signal),
);
