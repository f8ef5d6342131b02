/** What a running agent says of itself: the one shape behind `turnstone status`, the RPC `getStatus`, the status page and the metrics. */
import type { JsonValue } from '../host/json.ts';

/** Times are monotonic ms since boot unless they say otherwise; `nowMs` is the instant of the status itself. */
export interface AgentStatus {
  readonly version: string;
  readonly nowMs: number;
  /** UTC epoch ms, by this machine's clock, or by the platform's dates where these stand in. */
  readonly wallMs: number;
  readonly bootId: string;
  readonly startedAtMs: number;
  readonly timeSynchronised: boolean;
  readonly configHash: string;
  readonly deviceName: string;
  readonly connection: ConnectionStatus;
  readonly outbox: OutboxSummary;
  /** Absent in what an agent of an older release says. */
  readonly adapted?: AdaptedSummary;
  readonly sensors: readonly SensorStatus[];
  readonly actuators: readonly ActuatorStatus[];
  readonly lockedOut: boolean;
  readonly firmware: FirmwareSummary;
  /** Things a person should know, in words, worst first. */
  readonly alerts: readonly string[];
}

export interface ConnectionStatus {
  /** `never`: nothing was acknowledged since the start. */
  readonly state: 'idle' | 'sending' | 'backing-off' | 'held';
  readonly reason?: string;
  readonly lastAcknowledgedAtMs?: number;
  readonly failures: number;
  readonly acknowledgedEntries: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  /** Sent in this UTC day, against `dailyBudgetBytes` where there is one. */
  readonly sentTodayBytes: number;
  readonly dailyBudgetBytes?: number;
}

export interface OutboxSummary {
  readonly heldEntries: number;
  readonly heldBytes: number;
  /** UTC epoch ms of the oldest entry that waits, where its time is known. */
  readonly oldestTs?: number;
  readonly hoursThatFit?: number;
  /** These and the next count for as long as the outbox is kept. */
  readonly rejected: number;
  readonly thinned: number;
  readonly dropped: number;
  /** Lost to damage on the disk. Absent in what an agent of an older release says, and so is the next. */
  readonly damaged?: number;
  /** UTC epoch ms of the last entry that was lost so. */
  readonly lastLost?: { readonly [loss in 'rejected' | 'thinned' | 'dropped' | 'damaged']?: number };
  readonly writtenBytes: number;
  /** Why nothing can be written, while that is so. */
  readonly fault?: string;
  /** By how much the disk has less free space than it is to have, while that is so. */
  readonly missingBytes?: number;
  /** Present while so many entries of earlier boots are held for a time that nobody may ever know. */
  readonly untimedEntries?: number;
  /** Present while the disk does not give so many segments of what waits. */
  readonly unreadSegments?: number;
  /** For how long the disk has not come back from a read, while that is so. */
  readonly hangingReadMs?: number;
}

/** Entries since start that were changed because the platform would have lost them without a word. */
export interface AdaptedSummary {
  /** Sent under another key: the platform keeps none that is blank, too long, or holds `<` or `{{…}}`. */
  readonly renamed: number;
  /** With the time at which they came: their source gave one that cannot be. */
  readonly retimed: number;
  /** Numbers that the platform can only keep as text. */
  readonly asText: number;
}

export interface SensorStatus {
  readonly name: string;
  readonly kind: string;
  readonly state: 'starting' | 'ok' | 'failing';
  readonly fault?: string;
  readonly readings: readonly { readonly key: string; readonly value: JsonValue; readonly unit?: string; readonly atMs: number }[];
}

export interface ActuatorStatus {
  readonly name: string;
  readonly kind: string;
  readonly value: JsonValue;
  readonly fault?: string;
}

export interface FirmwareSummary {
  readonly title?: string;
  readonly version: string;
  readonly state?: string;
  readonly offered?: string;
  /** 0 to 100. */
  readonly progressPercent?: number;
  readonly error?: string;
  /** What ended last of each kind of package, where it failed, until another update begins; times are UTC epoch ms. */
  readonly failed?: readonly { readonly title: string; readonly version: string; readonly reason?: string; readonly endedAtMs?: number }[];
}

/** In words, for every place that tells of it. */
export function failureText({ title, version, reason, endedAtMs }: NonNullable<FirmwareSummary['failed']>[number]): string {
  const at = endedAtMs === undefined ? '' : ` at ${new Date(endedAtMs).toISOString()}`;
  return `the update to ${title} ${version} failed${at}: ${reason ?? 'no reason is known'}`;
}
