/** Checks that the service is installed, starts at boot, and runs. */
import { check, fault, good, UNIT, warning } from './checkup.ts';

const BAD_CONFIG = 78;
const UNREADABLE_CONFIG = 66;
const RESTARTS_TOO_OFTEN = 5;

export const unit = check('unit', 'the service is installed and runs', async ({ machine }, signal) => {
  const unit = await machine.unit(UNIT, signal);
  if (unit === undefined) return undefined;
  if (unit.load !== 'loaded')
    return warning('the service is not installed', 'install it: install.sh out of the release, then systemctl enable --now turnstone');
  if (unit.active === 'failed' && unit.exitCode === BAD_CONFIG)
    return fault('it refused its configuration and is not started again', 'turnstone check-config, then systemctl restart turnstone');
  if (unit.active === 'failed')
    return fault(`it has failed (${unit.result})`, 'journalctl -u turnstone -n 50 tells why; then systemctl restart turnstone');
  // Between two starts it is "activating", and so it is in a start that is well.
  const lookAbove = 'turnstone check-config and the check of its permissions above tell why; it starts by itself once the file can be read';
  if (unit.active !== 'active' && unit.exitCode === UNREADABLE_CONFIG)
    return fault('it cannot read its configuration, and systemd tries again every few seconds', lookAbove);
  if (unit.active === 'activating' && unit.restarts > 0)
    return fault(`it ends at its start again and again (${unit.restarts} times)`, 'journalctl -u turnstone -n 50 tells why');
  if (unit.active !== 'active') return fault(`it is ${unit.active}`, 'systemctl start turnstone');
  if (unit.enabled !== 'enabled') return fault('it does not start at boot', 'systemctl enable turnstone');
  if (unit.restarts >= RESTARTS_TOO_OFTEN)
    return warning(`systemd had to start it again ${unit.restarts} times`, 'journalctl -u turnstone tells why');
  return good('active, and enabled at boot');
});
