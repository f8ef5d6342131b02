/** View of the page: the agent's status, with readings as the platform sees them, and facts that only people at the device want to know. */
import type { JsonValue } from '../values/json.ts';
import type {
  ConnectionStatus,
  FirmwareSummary,
  OutboxSummary,
  SensorStatus,
  ToldStatus,
} from './shape/agent-status.ts';

type Untold = 'bootId' | 'configHash' | 'configFileHash';
type Widened = 'connection' | 'outbox' | 'sensors' | 'firmware';

export interface StatusView extends Omit<ToldStatus, Untold | Widened> {
  readonly connection: ConnectionStatus & { readonly latencyMs?: number };
  readonly outbox: OutboxSummary & { readonly lanes: Readonly<Record<string, number>>; readonly ratePerS: number };
  /** Keys are as at the platform. */
  readonly sensors: readonly SensorStatus[];
  readonly firmware: FirmwareSummary & { readonly history: readonly JsonValue[] };
  /** Number of the newest event of the timeline; 0 without any. */
  readonly timelineSeq: number;
  readonly provisioning: { readonly phase: string; readonly source?: string };
}
