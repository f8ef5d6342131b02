/**
 * What was lost is telemetry: totals of entries that were thinned, dropped or damaged, whenever they have grown. Alarms, so that a full outbox
 * takes them too, and they are the first to arrive.
 */
import type { Clock } from '../host/clock.ts';
import type { DeliveryState, OutboxCounters } from './delivery-state.ts';
import type { TelemetryEntry } from './telemetry-entry.ts';

const KEYS = { thinned: 'outboxThinned', dropped: 'outboxDropped', damaged: 'outboxDamaged' } as const;

export class LossReport {
  readonly #clock: Clock;
  readonly #state: DeliveryState;
  #reported: Readonly<OutboxCounters>;

  constructor(deps: { readonly clock: Clock; readonly state: DeliveryState }) {
    this.#clock = deps.clock;
    this.#state = deps.state;
    this.#reported = deps.state.countersAtOpen;
  }

  /** Entries that say what was lost since the last call; none when nothing was. */
  next(): TelemetryEntry[] {
    const before = this.#reported;
    const now = { ...this.#state.counters };
    this.#reported = now;
    const taken = { device: 'self', bootId: this.#clock.bootId, monotonicMs: this.#clock.monotonicMs(), class: 'alarm' } as const;
    return (Object.keys(KEYS) as (keyof typeof KEYS)[])
      .filter((counter) => now[counter] > before[counter])
      .map((counter) => ({ ...taken, key: KEYS[counter], value: now[counter] }));
  }
}
