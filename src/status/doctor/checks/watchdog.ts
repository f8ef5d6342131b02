/** Checks that systemd starts a frozen agent again. */
import { formatDuration } from '../../../config/fields/quantity.ts';
import { check, good, UNIT, warning } from './checkup.ts';

export const watchdog = check('watchdog', 'a frozen agent is started again', async ({ machine }, signal) => {
  const unit = await machine.unit(UNIT, signal);
  if (unit === undefined || unit.load !== 'loaded') return undefined;
  return unit.watchdogMs > 0
    ? good(`after ${formatDuration(unit.watchdogMs)}`)
    : warning('the unit has no watchdog', 'remove the override of WatchdogSec (systemctl revert turnstone)');
});
