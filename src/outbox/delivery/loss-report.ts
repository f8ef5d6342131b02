/**
 * What was lost is telemetry: totals of entries that were thinned, dropped or damaged, whenever they have grown, over restarts. Alarms, so that a
 * full outbox takes them too, and they are the first to arrive.
 */
import type { Clock } from '../../host/clock.ts';
import type { TelemetryEntry } from '../format/telemetry-entry.ts';
import { type DeliveryState, REPORTED } from './delivery-state.ts';

const KEYS = { thinned: 'outboxThinned', dropped: 'outboxDropped', damaged: 'outboxDamaged' } as const;

export interface LossReportDeps {
  readonly clock: Clock;
  readonly state: Pick<DeliveryState, 'counters' | 'reported' | 'noteReported'>;
  readonly append: (entries: readonly TelemetryEntry[]) => Promise<void>;
}

export class LossReport {
  readonly #deps: LossReportDeps;
  #isUnderWay = false;

  constructor(deps: LossReportDeps) {
    this.#deps = deps;
  }

  /** Appends what was lost since the last report; one that is not taken is made again the next time. */
  async make(): Promise<void> {
    if (this.#isUnderWay) return;
    const { clock, state, append } = this.#deps;
    const now = { ...state.counters };
    const taken = { device: 'self', bootId: clock.bootId, monotonicMs: clock.monotonicMs(), class: 'alarm' } as const;
    const entries = REPORTED.filter((loss) => now[loss] > state.reported[loss]).map((loss) => ({
      ...taken,
      key: KEYS[loss],
      value: now[loss],
    }));
    if (entries.length === 0) return;
    this.#isUnderWay = true;
    await append(entries).then(
      () => state.noteReported(now),
      () => {},
    );
    this.#isUnderWay = false;
  }
}
