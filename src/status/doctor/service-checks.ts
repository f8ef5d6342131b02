/** The service: its unit, its watchdog, and whether what it takes arrives. */
import { formatDuration } from '../../config/quantity.ts';
import { type Check, fault, good, type Patient, warning } from './checkup.ts';

const UNIT = 'turnstone.service';
/** Longer than any backoff: what does not arrive for this long needs a person. */
const LONGEST_SILENCE_MS = 30 * 60_000;
/** Below this the outbox is about to thin. */
const LEAST_HOURS = 24;
const BAD_CONFIG = 78;
const RESTARTS_TOO_OFTEN = 5;

export const SERVICE_CHECKS: readonly Check[] = [
  {
    id: 'unit',
    title: 'the service is installed and runs',
    look: async ({ machine }, signal) => {
      const unit = await machine.unit(UNIT, signal);
      if (unit === undefined) return undefined;
      if (unit.load !== 'loaded')
        return warning('the service is not installed', 'install it: install.sh out of the release, then systemctl enable --now turnstone');
      if (unit.active === 'failed' && unit.exitCode === BAD_CONFIG)
        return fault('it refused its configuration and is not started again', 'turnstone check-config, then systemctl restart turnstone');
      if (unit.active === 'failed')
        return fault(`it has failed (${unit.result})`, 'journalctl -u turnstone -n 50 tells why; then systemctl restart turnstone');
      if (unit.active !== 'active') return fault(`it is ${unit.active}`, 'systemctl start turnstone');
      if (unit.enabled !== 'enabled') return fault('it does not start at boot', 'systemctl enable turnstone');
      if (unit.restarts >= RESTARTS_TOO_OFTEN)
        return warning(`systemd had to start it again ${unit.restarts} times`, 'journalctl -u turnstone tells why');
      return good('active, and enabled at boot');
    },
  },
  {
    id: 'watchdog',
    title: 'a frozen agent is started again',
    look: async ({ machine }, signal) => {
      const unit = await machine.unit(UNIT, signal);
      if (unit === undefined || unit.load !== 'loaded') return undefined;
      return unit.watchdogMs > 0
        ? good(`after ${formatDuration(unit.watchdogMs)}`)
        : warning('the unit has no watchdog', 'remove the override of WatchdogSec (systemctl revert turnstone)');
    },
  },
  {
    id: 'agent',
    title: 'the agent answers',
    look: ({ agent, version }) => {
      if (agent === undefined) return warning('no agent runs', 'systemctl start turnstone, or turnstone run in the foreground');
      if (agent.version !== version)
        return warning(`release ${agent.version} runs, and ${version} is installed`, 'systemctl restart turnstone');
      return good(`release ${agent.version}`);
    },
  },
  { id: 'uploads', title: 'readings arrive at the platform', look: uploads },
  {
    id: 'outbox',
    title: 'the outbox keeps everything',
    look: ({ agent }) => {
      if (agent === undefined) return undefined;
      const { fault: why, rejected, dropped, thinned, hoursThatFit } = agent.outbox;
      if (why !== undefined)
        return fault(
          `it cannot write (${why}): readings are only in memory`,
          'see disk space and disk health above; dmesg tells what the kernel met',
        );
      if (dropped > 0)
        return warning(`${dropped} entries were dropped since the start: it was full`, 'raise outbox.maxBytes, or take the outage away');
      if (rejected > 0)
        return warning(`the platform refused ${rejected} entries`, 'turnstone outbox rejected shows them with the platform’s answer');
      if (thinned > 0) return warning(`${thinned} entries were thinned since the start`, 'raise outbox.maxBytes, or take the outage away');
      if (hoursThatFit !== undefined && hoursThatFit < LEAST_HOURS)
        return warning(`only ${Math.floor(hoursThatFit)} more hours fit`, 'raise outbox.maxBytes, or widen deadbands');
      return good(
        `${agent.outbox.heldEntries} entries wait${hoursThatFit === undefined ? '' : `, ${Math.floor(hoursThatFit)} more hours fit`}`,
      );
    },
  },
  {
    id: 'firmware',
    title: 'the last update went well',
    look: ({ agent }) => {
      if (agent?.firmware.state !== 'FAILED') return undefined;
      return fault(
        `${agent.firmware.offered ?? 'an update'}: ${agent.firmware.error ?? 'failed'}`,
        'turnstone firmware history tells more; assign a good package on the platform',
      );
    },
  },
  {
    id: 'lockout',
    title: 'remote commands are let through',
    look: ({ agent }) =>
      agent?.lockedOut === true
        ? warning(
            'locked out: nothing remote moves',
            'turn the key switch back, or remove the lockout file, when nobody works on the machine',
          )
        : undefined,
  },
];

function uploads({ agent }: Patient) {
  if (agent === undefined) return undefined;
  const { state, reason, lastAcknowledgedAtMs } = agent.connection;
  const silentMs = agent.nowMs - (lastAcknowledgedAtMs ?? agent.startedAtMs);
  const last =
    lastAcknowledgedAtMs === undefined
      ? 'nothing was acknowledged since the start'
      : `the last was acknowledged ${formatDuration(Math.round(silentMs / 1_000) * 1_000)} ago`;
  const remedy = 'the checks of name, route, TLS and token above say where it ends; turnstone status shows the agent’s own words';
  if (state === 'held') return fault(`${last}: ${reason ?? 'held'}`, remedy);
  if (agent.outbox.heldEntries > 0 && silentMs > LONGEST_SILENCE_MS)
    return fault(`${last}${reason === undefined ? '' : `: ${reason}`}`, remedy);
  return state === 'backing-off' ? warning(`${last}: ${reason ?? 'it is tried again'}`, remedy) : good(last);
}
