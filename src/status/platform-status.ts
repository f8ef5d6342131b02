/**
 * Contact and delivery as one verdict, for every place that tells of the platform. "Up to date" is said only when the last upload was acknowledged
 * by this process's own exchange and nothing that waits is older than the upload interval.
 */
import type { Sentence, Told } from '../errors/sentence.ts';
import type { LinkStatus } from '../link/link-words.ts';
import { english, type Say, sentence } from '../names/sentences.ts';
import type { ContactStatus } from '../platform/contact.ts';
import type { UploadState } from '../telemetry/uploader.ts';
import type { AgentStatus, OutboxSummary } from './shape/agent-status.ts';

export interface PlatformStatus extends Omit<ContactStatus, 'sentence'> {
  readonly verdict: 'good' | 'waiting' | 'fault';
  /** One sentence for people; with a fault its remedy too. */
  readonly words: string;
}

export interface PlatformSources {
  readonly contact: ContactStatus;
  readonly connection: Pick<UploadState, 'state' | 'reason' | 'sentence'>;
  readonly outbox: Pick<OutboxSummary, 'heldEntries' | 'oldestTs'>;
  readonly wallMs: number;
  readonly uploadIntervalMs: number;
  /** Why nothing is asked of a platform that may well be reached; undefined when all is. */
  readonly silence?: Told | undefined;
  /** Step of the link, which leaves out what its month has no room for. */
  readonly link?: Pick<LinkStatus, 'step' | 'endsAtMs' | 'historyWaitsFor'> | undefined;
}

const HISTORY_GOES = {
  tomorrow: sentence('historyTomorrow'),
  forecast: sentence('historyForecast'),
} as const;

/** Time that a reading may take from the sensor to the platform beside the interval: its gathering, and a slow answer. */
const ON_ITS_WAY_MS = 30_000;

export function platformStatus(sources: PlatformSources, say: Say = english): PlatformStatus {
  const { sentence: _told, ...contact } = sources.contact;
  const { verdict: one, told } = verdictOf(sources);
  return { ...contact, verdict: one, words: say(told) };
}

interface ToldVerdict extends Pick<PlatformStatus, 'verdict'> {
  readonly told: Sentence;
}

function verdictOf({
  contact,
  connection,
  outbox,
  wallMs,
  uploadIntervalMs,
  silence,
  link,
}: PlatformSources): ToldVerdict {
  const { state, sentence: fault, lastHeardAtMs, lastAcknowledgedAtMs } = contact;
  const { heldEntries, oldestTs } = outbox;
  if (fault !== undefined) return { verdict: 'fault', told: fault };
  if (silence !== undefined)
    return {
      verdict: 'fault',
      told: sentence('nothingAsked', { why: silence }),
    };
  if (state === 'never-reached' || lastHeardAtMs === undefined)
    return { verdict: 'waiting', told: sentence('notReachedYet') };
  const waiting = (told: Sentence): ToldVerdict => ({ verdict: 'waiting', told });
  const { sentence: reason = connection.reason } = connection;
  const kept = sentence('readingsKept', { why: reason });
  if (connection.state === 'held') return { verdict: 'fault', told: kept };
  if (connection.state === 'backing-off') return waiting(kept);
  const spared = link === undefined || heldEntries === 0 ? undefined : sparedBy(link);
  if (spared !== undefined) return waiting(spared);
  if (lastAcknowledgedAtMs === undefined) return waiting(sentence('nothingAcknowledged'));
  const oldestMs = heldEntries === 0 || oldestTs === undefined ? 0 : wallMs - oldestTs;
  const why = link?.historyWaitsFor === undefined ? reason : HISTORY_GOES[link.historyWaitsFor];
  if (isBehind(oldestMs, uploadIntervalMs))
    return waiting(sentence('entriesWait', { count: heldEntries, oldestMs, why }));
  return { verdict: 'good', told: sentence('upToDate') };
}

/** True when an entry of this age waits longer than is usual. */
export function isBehind(ageMs: number, uploadIntervalMs: number): boolean {
  return ageMs > uploadIntervalMs + ON_ITS_WAY_MS;
}

/** Tells what waits for the next month of the link. */
function sparedBy({ step, endsAtMs }: Pick<LinkStatus, 'step' | 'endsAtMs'>): Sentence | undefined {
  const day = `${new Date(endsAtMs).toISOString().slice(0, 10)}Z`;
  if (step === 'readings-at-wakes') return sentence('readingsAtWakes', { day });
  return step === 'alarms-only' ? sentence('alarmsOnly', { day }) : undefined;
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
