/** What the page shows: the agent's status, with readings as the platform sees them, and what only people at the device want to know. */
import type { JsonValue } from '../host/json.ts';
import type { ActuatorStatus, ConnectionStatus, FirmwareSummary, OutboxSummary, SensorStatus } from './agent-status.ts';

export interface StatusView {
  readonly version: string;
  /** Monotonic, for ages. */
  readonly nowMs: number;
  readonly wallMs: number;
  readonly startedAtMs: number;
  readonly deviceName: string;
  readonly timeSynchronised: boolean;
  readonly lockedOut: boolean;
  readonly alerts: readonly string[];
  readonly connection: ConnectionStatus & { readonly latencyMs?: number };
  readonly outbox: OutboxSummary & { readonly lanes: Readonly<Record<string, number>>; readonly ratePerS: number };
  readonly sensors: readonly (Omit<SensorStatus, 'readings'> & { readonly readings: readonly ReadingView[] })[];
  readonly actuators: readonly ActuatorStatus[];
  readonly firmware: FirmwareSummary & { readonly history: readonly JsonValue[] };
  readonly provisioning: { readonly phase: string; readonly source?: string };
}

export interface ReadingView {
  /** As at the platform. */
  readonly key: string;
  readonly value: JsonValue;
  readonly unit?: string;
  readonly atMs: number;
}
