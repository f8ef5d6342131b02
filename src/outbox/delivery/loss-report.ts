/**
 * Telemetry of losses: totals of entries that were thinned, dropped or damaged, whenever they have grown, over restarts. Alarms, so that a
 * full outbox takes them too, and they are the first to arrive.
 */
import type { Clock } from '../../host/clock.ts';
import { joinedWhileUnderWay } from '../../host/shared-work.ts';
import { SELF } from '../../values/self.ts';
import type { TelemetryEntry } from '../format/telemetry-entry.ts';
import { type DeliveryState, REPORTED } from './delivery-state.ts';

const KEYS = { thinned: 'outboxThinned', dropped: 'outboxDropped', damaged: 'outboxDamaged' } as const;

export interface LossReportDeps {
  readonly clock: Clock;
  readonly state: DeliveryState;
  readonly append: (entries: readonly TelemetryEntry[]) => Promise<void>;
}

/** Appends what was lost since the last report, each time it is called; one that is not taken is made again the next time. */
export function lossReport({ clock, state, append }: LossReportDeps): () => Promise<void> {
  return joinedWhileUnderWay(async () => {
    const { thinned, dropped, damaged } = state.counters;
    const now = { thinned, dropped, damaged };
    const taken = { device: SELF, bootId: clock.bootId, monotonicMs: clock.monotonicMs(), class: 'alarm' } as const;
    const grown = REPORTED.filter((loss) => now[loss] > state.reported[loss]);
    if (grown.length === 0) return;
    const entries = grown.map((loss) => ({ ...taken, key: KEYS[loss], value: now[loss] }));
    await append(entries).then(
      () => {
        state.reported = now;
        state.dirty = true;
      },
      () => {},
    );
  });
}
