/** What a running agent says of itself: the one shape behind `turnstone status`, the RPC `getStatus`, the status page and the metrics. */
import type { JsonValue } from '../host/json.ts';

/** Times are monotonic ms since boot unless they say otherwise; `nowMs` is the instant of the status itself. */
export interface AgentStatus {
  readonly version: string;
  readonly nowMs: number;
  /** UTC epoch ms, by this machine's clock. */
  readonly wallMs: number;
  readonly bootId: string;
  readonly startedAtMs: number;
  readonly timeSynchronised: boolean;
  readonly configHash: string;
  readonly deviceName: string;
  readonly connection: ConnectionStatus;
  readonly outbox: OutboxSummary;
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
  readonly rejected: number;
  readonly thinned: number;
  readonly dropped: number;
  readonly writtenBytes: number;
  /** Why nothing can be written, while that is so. */
  readonly fault?: string;
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
}
