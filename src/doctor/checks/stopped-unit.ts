/** Why the service does not run, from what systemd tells of its unit, and what to do: the same words for the doctor and for commands that miss it. */
import { DEFAULT_CONFIG_FILE } from '../../config/fields/default-places.ts';
import type { UnitFacts } from '../../host/machine-facts.ts';

export interface StoppedUnit {
  readonly reason: string;
  readonly remedy: string;
}

const BAD_CONFIG = 78;
const UNREADABLE_CONFIG = 66;
const WHY = 'sudo journalctl -u turnstone -n 50 tells why';

/** Undefined for a unit that runs, or is on its way to. */
export function stoppedUnit({ load, active, exitCode, result, restarts }: UnitFacts): StoppedUnit | undefined {
  if (load !== 'loaded')
    return {
      reason: 'the service is not installed',
      remedy: 'install it: install.sh out of the release, then sudo systemctl enable --now turnstone',
    };
  if (active === 'failed' && exitCode === BAD_CONFIG)
    return {
      reason: 'it refused its configuration and is not started again',
      remedy: `sudo turnstone check-config ${DEFAULT_CONFIG_FILE} tells every fault; then sudo systemctl restart turnstone`,
    };
  if (active === 'failed')
    return { reason: `it has failed (${result})`, remedy: `${WHY}; then sudo systemctl restart turnstone` };
  // Between two starts it is "activating", and so it is in a start that is well.
  if (active !== 'active' && exitCode === UNREADABLE_CONFIG)
    return {
      reason: 'it cannot read its configuration, and systemd tries again every few seconds',
      remedy: `sudo turnstone check-config ${DEFAULT_CONFIG_FILE} and sudo turnstone doctor tell why; it starts by itself once the file can be read`,
    };
  if (active === 'activating')
    return restarts === 0
      ? undefined
      : { reason: `it ends at its start again and again (${restarts} times)`, remedy: WHY };
  return active === 'active' ? undefined : { reason: `it is ${active}`, remedy: 'sudo systemctl start turnstone' };
}
