/** Status of a running agent: the one shape behind `turnstone status`, the RPC `getStatus`, the status page and the metrics. */
import type { ShownSlot } from '../../actuators/output-reason.ts';
import type { Sentence } from '../../errors/sentence.ts';
import type { EpochMs } from '../../host/clock.ts';
import type { LinkStatus } from '../../link/link-words.ts';
import type { OutboxStatus } from '../../outbox/outbox.ts';
import type { AdaptedEntries } from '../../telemetry/entry-check.ts';
import type { MeasuredAlarm } from '../../telemetry/telemetry-path.ts';
import type { UploadState } from '../../telemetry/uploader.ts';
import type { JsonValue } from '../../values/json.ts';
import type { PlatformStatus } from '../platform-status.ts';
import type { DevicesSummary } from './device-status.ts';
import type { WritesStatus } from './writes-status.ts';

/** Times are monotonic ms since boot unless they say otherwise; `nowMs` is the time of the status itself. */
export interface AgentStatus {
  readonly version: string;
  /** The gateway, shown to people in place of `deviceName`. */
  readonly label?: string;
  readonly nowMs: number;
  /** UTC epoch ms, by this machine's clock, or by the platform's dates where these stand in. */
  readonly wallMs: number;
  readonly bootId: string;
  readonly startedAtMs: number;
  readonly timeSynchronised: boolean;
  /** Hash of the configuration's values, without secrets. */
  readonly configHash: string;
  /** SHA-256 of its file, byte by byte. */
  readonly configFileHash?: string | undefined;
  readonly deviceName: string;
  readonly platform: PlatformStatus;
  /** Uploads of telemetry. */
  readonly connection: ConnectionStatus;
  readonly outbox: OutboxSummary;
  readonly writes: WritesStatus;
  /** Traffic of the link this month. */
  readonly link: LinkStatus;
  readonly adapted: AdaptedEntries;
  readonly sensors: readonly SensorStatus[];
  readonly actuators: readonly ActuatorStatus[];
  /** Attached devices; absent without `devices:` in the configuration. */
  readonly devices?: DevicesSummary;
  /** Alarms that are on, the oldest first. */
  readonly alarms: readonly AlarmStatus[];
  readonly lockedOut: boolean;
  readonly firmware: FirmwareSummary;
  /** Absent while there is no page. */
  readonly page?: PagePlace;
  /** Things a person should know, in words, worst first. */
  readonly alerts: readonly string[];
}

/** Status with its sentences, for a page in another language. */
export interface ToldStatus extends AgentStatus {
  /** Sentences by their English words in the status. */
  readonly sentences: Readonly<Record<string, Sentence>>;
}

/** The status page, for people. */
export interface PagePlace {
  readonly url: string;
  /** SHA-256 of its certificate, in pairs; absent where it is open to this machine alone, without TLS. */
  readonly fingerprint?: string;
}

export interface ConnectionStatus extends Omit<UploadState, 'sentence'> {
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

/** As the outbox tells it. */
type Told =
  | 'heldEntries'
  | 'heldBytes'
  | 'deadLetters'
  | 'hoursThatFit'
  | 'rejected'
  | 'thinned'
  | 'dropped'
  | 'lastLost';
type Troubles = 'fault' | 'missingBytes' | 'untimedEntries' | 'unreadSegments' | 'hangingReadMs';

/** Outbox summary. Rejected, thinned, dropped and damaged entries count for as long as the outbox is kept. */
export interface OutboxSummary extends Pick<OutboxStatus, Told | Troubles> {
  /** UTC epoch ms of the oldest entry that waits, where its time is known. */
  readonly oldestTs?: number;
  /** Sent once more after a restart of the platform. */
  readonly resent: number;
  /** Lost to damage on the disk. */
  readonly damaged: number;
  /** Bytes of segments, in whole pages, for as long as the outbox is kept. */
  readonly writtenBytes: number;
}

export interface SensorStatus {
  readonly name: string;
  /** Shown to people in place of the name. */
  readonly label?: string;
  readonly kind: string;
  /** Slot of the attached device that its readings are of; absent where they are the gateway's own. */
  readonly device?: string;
  readonly state: 'starting' | 'ok' | 'failing';
  readonly fault?: string;
  /** Absent while the sensor does not fail; single missing values are no failure. */
  readonly failingSinceMs?: number;
  /** Its newest reading before it failed; absent while it does not fail, and where it gave none since the agent's start. */
  readonly lastReadMs?: number;
  readonly readings: readonly {
    readonly key: string;
    readonly value: JsonValue;
    readonly unit?: string;
    /** Shown to people in place of the key; without it the key in words. */
    readonly label?: string;
    /** A class of `src/pages/names/classes.js`, or a word of the configuration. */
    readonly class?: string;
    readonly atMs: number;
  }[];
}

export interface ActuatorStatus {
  readonly name: string;
  /** Shown to people in place of the name. */
  readonly label?: string;
  /** As a reading's. */
  readonly class?: string;
  readonly kind: string;
  /** Slot of the attached device that it is of; absent where it is the gateway's own. */
  readonly device?: string;
  readonly value: JsonValue;
  /** The slot that it follows, in words. Absent where it is disabled. */
  readonly why?: string;
  /** Filled slots, the highest first. Absent where it is disabled. */
  readonly slots?: readonly ShownSlot[];
  readonly fault?: string;
}

/** An alarm that is on. */
export interface AlarmStatus extends Omit<MeasuredAlarm, 'reading'> {
  /** Slot of the attached device that it is of. */
  readonly device?: string;
  /** Label, class and unit of the reading. */
  readonly keyLabel?: string;
  readonly class?: string;
  readonly unit?: string;
  /** Outputs that follow a rule on this value now. */
  readonly moves: readonly string[];
}

export interface FirmwareSummary {
  readonly title?: string;
  readonly version: string;
  readonly state?: string;
  readonly offered?: string;
  /** 0 to 100. */
  readonly progressPercent?: number;
  readonly error?: string;
  /** Last update of each kind of package, where it failed, until another one begins; times are UTC epoch ms. */
  readonly failed?: readonly {
    readonly title: string;
    readonly version: string;
    readonly reason?: string;
    readonly endedAtMs?: EpochMs;
  }[];
}

/** In words, for every place that tells of it. */
export function failureText({
  title,
  version,
  reason,
  endedAtMs,
}: NonNullable<FirmwareSummary['failed']>[number]): string {
  const at = endedAtMs === undefined ? '' : ` at ${new Date(endedAtMs).toISOString()}`;
  return `the update to ${title} ${version} failed${at}: ${reason ?? 'no reason is known'}`;
}

/** First eight bytes of a fingerprint, to be read aloud. */
export function shortFingerprint(fingerprint: string): string {
  return fingerprint.split(':').slice(0, 8).join(' ');
}
