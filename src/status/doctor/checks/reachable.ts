/** Checks that the platform takes connections. */
import { configCheck } from './checkup.ts';
import { hopAnswers } from './first-hop.ts';

export const reachable = configCheck('reachable', 'the platform takes connections', (config, _context, signal) =>
  config.platform.proxy === undefined ? hopAnswers(config, 'check platform.url and the firewall; is the platform up?', signal) : undefined,
);
