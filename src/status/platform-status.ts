/**
 * Contact and delivery as one verdict, for every place that tells of the platform. "Up to date" is said only when the last upload was acknowledged
 * by this process's own exchange and nothing that waits is older than the upload interval.
 */
import { formatDuration } from '../config/fields/quantity.ts';
import type { LinkStatus } from '../link/link-words.ts';
import { type ContactStatus, faultText } from '../platform/contact.ts';
import type { AgentStatus, ConnectionStatus, OutboxSummary } from './shape/agent-status.ts';

export interface PlatformStatus extends ContactStatus {
  readonly verdict: 'good' | 'waiting' | 'fault';
  /** One sentence for people; with a fault its remedy too. */
  readonly words: string;
}

export interface PlatformSources {
  readonly contact: ContactStatus;
  readonly connection: Pick<ConnectionStatus, 'state' | 'reason'>;
  readonly outbox: Pick<OutboxSummary, 'heldEntries' | 'oldestTs'>;
  readonly wallMs: number;
  readonly uploadIntervalMs: number;
  /** Why nothing is asked of a platform that may well be reached; undefined when all is. */
  readonly silence?: string | undefined;
  /** Step of the link, which leaves out what its month has no room for. */
  readonly link?: Pick<LinkStatus, 'step' | 'endsAtMs' | 'historyWaitsFor'> | undefined;
}

const HISTORY_GOES = {
  tomorrow: ': history goes tomorrow (UTC), as link.daily is used up',
  forecast: ': history goes when the forecast of the link leaves room for it',
} as const;

/** Time that a reading may take from the sensor to the platform beside the interval: its gathering, and a slow answer. */
const ON_ITS_WAY_MS = 30_000;

export function platformStatus(sources: PlatformSources): PlatformStatus {
  return { ...sources.contact, ...verdictOf(sources) };
}

function verdictOf({
  contact,
  connection,
  outbox,
  wallMs,
  uploadIntervalMs,
  silence,
  link,
}: PlatformSources): Pick<PlatformStatus, 'verdict' | 'words'> {
  const { state, problem, remedy, lastHeardAtMs, lastAcknowledgedAtMs } = contact;
  const { heldEntries, oldestTs } = outbox;
  if (problem !== undefined && remedy !== undefined) return { verdict: 'fault', words: faultText({ problem, remedy }) };
  if (silence !== undefined)
    return {
      verdict: 'fault',
      words: `nothing is asked of the platform: ${silence}`,
    };
  if (state === 'never-reached' || lastHeardAtMs === undefined)
    return { verdict: 'waiting', words: 'the platform was not reached yet, the first try is under way' };
  const waiting = (words: string): Pick<PlatformStatus, 'verdict' | 'words'> => ({ verdict: 'waiting', words });
  const kept = connection.reason === undefined ? '' : `: ${connection.reason}`;
  if (connection.state === 'held')
    return { verdict: 'fault', words: `the platform is reached, and readings are kept${kept}` };
  if (connection.state === 'backing-off') return waiting(`the platform is reached, and readings are kept${kept}`);
  const spared = link === undefined || heldEntries === 0 ? undefined : sparedBy(link);
  if (spared !== undefined) return waiting(`the platform is reached, and ${spared}`);
  if (lastAcknowledgedAtMs === undefined)
    return waiting('the platform is reached, and has not acknowledged anything yet');
  const oldestMs = heldEntries === 0 || oldestTs === undefined ? 0 : wallMs - oldestTs;
  const why = link?.historyWaitsFor === undefined ? kept : HISTORY_GOES[link.historyWaitsFor];
  if (isBehind(oldestMs, uploadIntervalMs))
    return waiting(
      `the platform is reached, ${heldEntries} entries wait, the oldest for ${formatDuration(wholeSeconds(oldestMs))}${why}`,
    );
  return { verdict: 'good', words: 'up to date' };
}

/** True when an entry of this age waits longer than is usual. */
export function isBehind(ageMs: number, uploadIntervalMs: number): boolean {
  return ageMs > uploadIntervalMs + ON_ITS_WAY_MS;
}

/** Tells what waits for the next month of the link. */
function sparedBy({ step, endsAtMs }: Pick<LinkStatus, 'step' | 'endsAtMs'>): string | undefined {
  const until = `for the month of the link, until ${new Date(endsAtMs).toISOString().slice(0, 10)}Z or until it suffices again`;
  if (step === 'readings-at-wakes') return `readings go at wakes, history waits ${until}`;
  return step === 'alarms-only' ? `all but alarms waits ${until}` : undefined;
}

function wholeSeconds(ms: number): number {
  return Math.round(ms / 1_000) * 1_000;
}

export interface Health {
  readonly ok: boolean;
  /** Why not, in words. */
  readonly reasons: readonly string[];
}

/** A restart may mend a `false`: only what is wrong on this machine counts. */
export function healthOf({ outbox }: Pick<AgentStatus, 'outbox'>): Health {
  return verdict(outbox.fault === undefined ? [] : [`the disk does not take readings (${outbox.fault})`]);
}

/** False also while the platform is out of reach; the agent measures and keeps all the same. */
export function readinessOf({
  outbox,
  platform,
  timeSynchronised,
}: Pick<AgentStatus, 'outbox' | 'platform' | 'timeSynchronised'>): Health {
  return verdict([
    ...(platform.verdict === 'good' ? [] : [platform.words]),
    ...healthOf({ outbox }).reasons,
    // No restart reads what the disk does not give, and until then new readings are stored and alarms leave.
    ...(outbox.hangingReadMs === undefined ? [] : ['the disk does not come back from a read']),
    ...(timeSynchronised ? [] : ['the clock is not synchronised']),
  ]);
}

function verdict(reasons: readonly string[]): Health {
  return { ok: reasons.length === 0, reasons };
}
