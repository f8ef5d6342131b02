/** The service: its unit, its watchdog, and whether what it takes arrives. */
import { formatDuration } from '../../config/quantity.ts';
import { type AgentStatus, failureText } from '../agent-status.ts';
import { type Check, fault, good, type Patient, warning } from './checkup.ts';

const UNIT = 'turnstone.service';
/** Longer than any backoff: what does not arrive for this long needs a person. */
const LONGEST_SILENCE_MS = 30 * 60_000;
/** Below this the outbox is about to thin. */
const LEAST_HOURS = 24;
const BAD_CONFIG = 78;
const UNREADABLE_CONFIG = 66;
const RESTARTS_TOO_OFTEN = 5;

/** So long a loss is told of: a warning that stands for ever hides the next. */
const LOSS_IS_NEWS_MS = 7 * 86_400_000;
const MAKE_ROOM = 'raise outbox.maxBytes, or take the outage away';
const LOSSES = [
  {
    loss: 'damaged',
    what: 'were lost to damage on the disk',
    remedy: 'turnstone outbox verify shows what lies aside; replace the card if there is more of it',
  },
  {
    loss: 'dropped',
    what: 'gave way undelivered: too old, or there was no room on the disk or in memory',
    remedy: `journalctl -u turnstone tells which; ${MAKE_ROOM}`,
  },
  { loss: 'rejected', what: 'were refused by the platform', remedy: 'turnstone outbox rejected shows them with the platform’s answer' },
  { loss: 'thinned', what: 'were thinned out to make room', remedy: MAKE_ROOM },
] as const;

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
      // Between two starts it is "activating", and so it is in a start that is well.
      if (unit.active !== 'active' && unit.exitCode === UNREADABLE_CONFIG)
        return fault(
          'it cannot read its configuration, and systemd tries again every few seconds',
          'turnstone check-config and the check of its permissions above tell why; it starts by itself once the file can be read',
        );
      if (unit.active === 'activating' && unit.restarts > 0)
        return fault(`it ends at its start again and again (${unit.restarts} times)`, 'journalctl -u turnstone -n 50 tells why');
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
      const { fault: why, hoursThatFit, untimedEntries } = agent.outbox;
      if (why !== undefined)
        return fault(
          `it cannot write (${why}): readings are only in memory`,
          'see disk space and disk health above; dmesg tells what the kernel met',
        );
      const lost = recentLosses(agent);
      if (lost.length > 0)
        return warning(lost.map(({ reason }) => reason).join('; '), [...new Set(lost.map(({ remedy }) => remedy))].join('; '));
      if (untimedEntries !== undefined)
        return warning(
          `${untimedEntries} entries wait for their time: the clock was not right when they were taken, and nothing tells what it should have been`,
          'outbox.timeUncertain: send sends them with a mark; a battery for the clock, or time.trust: platform, helps what comes',
        );
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
      const failed = agent?.firmware.failed ?? [];
      if (failed.length === 0) return undefined;
      return fault(failed.map(failureText).join('; '), 'turnstone firmware history tells more; assign a good package on the platform');
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

/** What was lost of late, all told with it; one whose time is not known was. */
function recentLosses({ outbox, wallMs }: AgentStatus): readonly { readonly reason: string; readonly remedy: string }[] {
  return LOSSES.flatMap(({ loss, what, remedy }) => {
    const entries = outbox[loss] ?? 0;
    const lastMs = outbox.lastLost?.[loss];
    if (entries === 0 || (lastMs !== undefined && wallMs - lastMs > LOSS_IS_NEWS_MS)) return [];
    const last = lastMs === undefined ? '' : `, the last at ${new Date(lastMs).toISOString()}`;
    return [{ reason: `${entries} entries ${what}${last}`, remedy }];
  });
}

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
