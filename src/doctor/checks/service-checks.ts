/** Checks of the service: its unit, and the running agent. */
import { formatDuration } from '../../config/fields/quantity.ts';
import { type AgentStatus, failureText } from '../../status/shape/agent-status.ts';
import { deviceAlerts } from '../../status/shape/device-status.ts';
import { agentCheck, check, fault, good, UNIT, warning } from './checkup.ts';
import { stoppedUnit } from './stopped-unit.ts';

const RESTARTS_TOO_OFTEN = 5;

export const unit = check('unit', 'the service is installed and runs', async ({ machine }, signal) => {
  const unit = await machine.unit(UNIT, signal);
  if (unit === undefined) return undefined;
  const stopped = stoppedUnit(unit);
  if (stopped !== undefined)
    return unit.load === 'loaded' ? fault(stopped.reason, stopped.remedy) : warning(stopped.reason, stopped.remedy);
  if (unit.active === 'activating') return warning('it is about to start', 'wait for it, and call doctor again');
  if (unit.enabled !== 'enabled') return fault('it does not start at boot', 'systemctl enable turnstone');
  if (unit.restarts >= RESTARTS_TOO_OFTEN)
    return warning(`systemd had to start it again ${unit.restarts} times`, 'journalctl -u turnstone tells why');
  return good('active, and enabled at boot');
});

export const watchdog = check('watchdog', 'a frozen agent is started again', async ({ machine }, signal) => {
  const unit = await machine.unit(UNIT, signal);
  // systemd tells the watchdog of a unit that runs; of another it says 0.
  if (unit?.load !== 'loaded' || unit.active !== 'active') return undefined;
  return unit.watchdogMs > 0
    ? good(`after ${formatDuration(unit.watchdogMs)}`)
    : warning('the unit has no watchdog', 'remove the override of WatchdogSec (systemctl revert turnstone)');
});

export const agent = check('agent', 'the agent answers', ({ agent, silentAgent, version }) => {
  if (silentAgent !== undefined)
    return fault(
      `one runs and hangs: ${silentAgent}`,
      'journalctl -u turnstone tells why; systemctl restart turnstone',
    );
  if (agent === undefined)
    return warning('no agent runs', 'systemctl start turnstone, or turnstone run in the foreground');
  if (agent.version !== version)
    return warning(`release ${agent.version} runs, and ${version} is installed`, 'systemctl restart turnstone');
  return good(`release ${agent.version}`);
});

/** Longer than any backoff: what does not arrive for this long needs a person. */
const MAX_SILENCE_MS = 30 * 60_000;

/** Remedy where the month of the link does not suffice. */
const SPARE = 'report less often, or raise link.monthly; docs/link.md tells the steps';

export const uploads = agentCheck('uploads', 'readings arrive at the platform', (agent) => {
  const { platform, outbox, nowMs, startedAtMs } = agent;
  const isSpared = agent.link.step === 'alarms-only';
  const usual = isSpared ? SPARE : 'turnstone status tells more; it is tried again';
  const { verdict, words, problem = words, remedy = usual, lastAcknowledgedAtMs } = platform;
  const silentMs = nowMs - (lastAcknowledgedAtMs ?? startedAtMs);
  const ago = formatDuration(Math.round(silentMs / 1_000) * 1_000);
  if (verdict === 'good') return good(`${words}, the last was acknowledged ${ago} ago`);
  const isSilent = !isSpared && outbox.heldEntries > 0 && silentMs > MAX_SILENCE_MS;
  return verdict === 'fault' || isSilent ? fault(problem, remedy) : warning(problem, remedy);
});

export const link = agentCheck('link', 'the month of the link suffices', ({ link: carried }) => {
  if (carried?.monthlyBytes === undefined) return undefined;
  const suffices = carried.step === 'everything' && carried.reachesAtMs === undefined;
  return suffices ? good(carried.words) : warning(carried.words, SPARE);
});

export const firmware = agentCheck('firmware', 'the last update went well', ({ firmware: { failed = [] } }) => {
  const remedy = 'turnstone firmware history tells more; assign a good package on the platform';
  return failed.length === 0 ? undefined : fault(failed.map(failureText).join('; '), remedy);
});

const REMEDY = 'turn the key switch back, or remove the lockout file, when nobody works on the machine';

export const lockout = agentCheck('lockout', 'remote commands are let through', ({ lockedOut }) =>
  lockedOut ? warning('locked out: nothing remote moves', REMEDY) : undefined,
);

export const alerts = agentCheck('alerts', 'no alert stands', ({ alerts: standing, platform, devices }) => {
  // Contact and attached devices are checks of their own, in the same words.
  const toldAbove = [platform.words, ...(devices === undefined ? [] : deviceAlerts(devices))];
  const others = standing.filter((alert) => !toldAbove.includes(alert));
  if (others.length === 0) return good('none');
  return fault(
    others.join(' · '),
    'each says what to do, or names the part: its check above tells more; turnstone status lists them',
  );
});

/** Below this the outbox is about to thin. */
const MIN_HOURS = 24;
/** So long a loss is told of: a warning that stands for ever hides the next. */
const LOSS_IS_NEWS_MS = 7 * 86_400_000;
/** Remedies that make room; a larger outbox gets none on a disk that is short of space. */
interface Room {
  readonly forLosses: string;
  readonly forMore: string;
}
const IN_OUTBOX: Room = {
  forLosses: 'raise outbox.maxBytes, or take the outage away',
  forMore: 'raise outbox.maxBytes, or widen deadbands',
};
const ON_DISK: Room = {
  forLosses: 'free space, as disk space above says',
  forMore: 'free space, as disk space above says',
};
const LOSSES = [
  {
    loss: 'damaged',
    what: 'were lost to damage on the disk',
    remedy: () => 'turnstone outbox verify shows what lies aside; replace the card if there is more of it',
  },
  {
    loss: 'dropped',
    what: 'gave way undelivered: too old, or there was no room on the disk or in memory',
    remedy: ({ forLosses }: Room) => `journalctl -u turnstone tells which; ${forLosses}`,
  },
  {
    loss: 'rejected',
    what: 'were refused by the platform',
    remedy: () => 'turnstone outbox rejected shows them with the platform’s answer',
  },
  { loss: 'thinned', what: 'were thinned out to make room', remedy: ({ forLosses }: Room) => forLosses },
] as const;

export const outbox = agentCheck('outbox', 'the outbox keeps everything', (agent) => {
  const { fault: why, heldEntries, hoursThatFit, untimedEntries, missingBytes } = agent.outbox;
  const room = missingBytes === undefined ? IN_OUTBOX : ON_DISK;
  const lookAbove = 'see disk space and disk health above; dmesg tells what the kernel met';
  if (why !== undefined)
    return fault(
      `it cannot write (${why}): readings are sent from memory, and what waits there is lost at a restart`,
      lookAbove,
    );
  const lost = recentLosses(agent, room);
  if (lost.length > 0)
    return warning(
      lost.map(({ reason }) => reason).join('; '),
      [...new Set(lost.map(({ remedy }) => remedy))].join('; '),
    );
  if (untimedEntries !== undefined)
    return warning(
      `${untimedEntries} entries wait for their time: the clock was not right when they were taken, and nothing tells what it should have been`,
      'outbox.timeUncertain: send sends them with a mark; a battery for the clock, or time.trust: platform, helps what comes',
    );
  const fits = hoursThatFit === undefined ? '' : `${Math.floor(hoursThatFit)} more hours fit`;
  if (hoursThatFit !== undefined && hoursThatFit < MIN_HOURS) return warning(`only ${fits}`, room.forMore);
  return good(`${heldEntries} entries wait${fits && `, ${fits}`}`);
});

/** Returns the losses of late, each with all before it; one whose time is not known counts as recent. */
function recentLosses(
  { outbox, wallMs }: AgentStatus,
  room: Room,
): readonly { readonly reason: string; readonly remedy: string }[] {
  return LOSSES.flatMap(({ loss, what, remedy }) => {
    const entries = outbox[loss] ?? 0;
    const lastMs = outbox.lastLost?.[loss];
    if (entries === 0 || (lastMs !== undefined && wallMs - lastMs > LOSS_IS_NEWS_MS)) return [];
    const last = lastMs === undefined ? '' : `, the last at ${new Date(lastMs).toISOString()}`;
    return [{ reason: `${entries} entries ${what}${last}`, remedy: remedy(room) }];
  });
}
