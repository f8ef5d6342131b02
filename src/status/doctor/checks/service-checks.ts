/** Checks of the service: its unit, and the running agent. */
import { formatDuration } from '../../../config/fields/quantity.ts';
import { failureText } from '../../shape/agent-status.ts';
import { agentCheck, check, fault, good, UNIT, warning } from './checkup.ts';

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

export const watchdog = check('watchdog', 'a frozen agent is started again', async ({ machine }, signal) => {
  const unit = await machine.unit(UNIT, signal);
  if (unit === undefined || unit.load !== 'loaded') return undefined;
  return unit.watchdogMs > 0
    ? good(`after ${formatDuration(unit.watchdogMs)}`)
    : warning('the unit has no watchdog', 'remove the override of WatchdogSec (systemctl revert turnstone)');
});

export const agent = check('agent', 'the agent answers', ({ agent, silentAgent, version }) => {
  if (silentAgent !== undefined)
    return fault(`one runs and hangs: ${silentAgent}`, 'journalctl -u turnstone tells why; systemctl restart turnstone');
  if (agent === undefined) return warning('no agent runs', 'systemctl start turnstone, or turnstone run in the foreground');
  if (agent.version !== version)
    return warning(`release ${agent.version} runs, and ${version} is installed`, 'systemctl restart turnstone');
  return good(`release ${agent.version}`);
});

/** Longer than any backoff: what does not arrive for this long needs a person. */
const MAX_SILENCE_MS = 30 * 60_000;

export const uploads = agentCheck('uploads', 'readings arrive at the platform', ({ platform, outbox, nowMs, startedAtMs }) => {
  const { verdict, words, problem = words, remedy = 'turnstone status tells more; it is tried again', lastAcknowledgedAtMs } = platform;
  const silentMs = nowMs - (lastAcknowledgedAtMs ?? startedAtMs);
  const ago = formatDuration(Math.round(silentMs / 1_000) * 1_000);
  if (verdict === 'good') return good(`${words}, the last was acknowledged ${ago} ago`);
  const isSilent = outbox.heldEntries > 0 && silentMs > MAX_SILENCE_MS;
  return verdict === 'fault' || isSilent ? fault(problem, remedy) : warning(problem, remedy);
});

export const firmware = agentCheck('firmware', 'the last update went well', ({ firmware: { failed = [] } }) => {
  const remedy = 'turnstone firmware history tells more; assign a good package on the platform';
  return failed.length === 0 ? undefined : fault(failed.map(failureText).join('; '), remedy);
});

const REMEDY = 'turn the key switch back, or remove the lockout file, when nobody works on the machine';

export const lockout = agentCheck('lockout', 'remote commands are let through', ({ lockedOut }) =>
  lockedOut ? warning('locked out: nothing remote moves', REMEDY) : undefined,
);

export const alerts = agentCheck('alerts', 'no alert stands', ({ alerts: standing, platform }) => {
  // Contact is a check of its own, in the same words.
  const others = standing.filter((alert) => alert !== platform.words);
  if (others.length === 0) return good('none');
  return fault(others.join(' · '), 'each says what to do, or names the part: its check above tells more; turnstone status lists them');
});
