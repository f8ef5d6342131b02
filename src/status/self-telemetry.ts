/** The metrics as telemetry of the device itself, for fleets that nobody scrapes: at the period in force, which may change while it runs. */
import type { Clock } from '../host/clock.ts';
import type { TelemetryEntry } from '../outbox/outbox.ts';
import { SELF } from '../values/self.ts';
import type { Metric } from './metrics.ts';

export interface SelfTelemetryDeps {
  readonly clock: Clock;
  /** Undefined while none are wanted. */
  readonly periodMs: () => number | undefined;
  readonly metrics: () => readonly Metric[];
  readonly append: (entries: readonly TelemetryEntry[]) => void;
}

/** How soon a setting that is switched on takes effect. */
const LOOK_AGAIN_MS = 1_000;
/** Parts of a second, and of any other unit, that a report tells: more digits are paid for and tell nothing. */
const PARTS = 1_000;

export class SelfTelemetry {
  readonly #deps: SelfTelemetryDeps;
  #lastMs: number;
  #cancel: () => void;

  constructor(deps: SelfTelemetryDeps) {
    this.#deps = deps;
    this.#lastMs = deps.clock.monotonicMs();
    this.#cancel = deps.clock.after(LOOK_AGAIN_MS, () => this.#look());
  }

  close(): void {
    this.#cancel();
  }

  #look(): void {
    const { clock, periodMs } = this.#deps;
    const period = periodMs();
    const nowMs = clock.monotonicMs();
    if (period !== undefined && nowMs - this.#lastMs >= period) {
      this.#lastMs = nowMs;
      this.#report(nowMs);
    }
    const untilNextMs = period === undefined ? LOOK_AGAIN_MS : this.#lastMs + period - nowMs;
    this.#cancel = clock.after(Math.max(1, Math.min(LOOK_AGAIN_MS, untilNextMs)), () => this.#look());
  }

  #report(monotonicMs: number): void {
    const { bootId } = this.#deps.clock;
    const entries = this.#deps.metrics().flatMap((metric) =>
      metric.samples.flatMap(({ labels, value }): TelemetryEntry[] => {
        const key = telemetryKey(metric, labels);
        return key === undefined || !Number.isFinite(value)
          ? []
          : [{ device: SELF, key, value: Math.round(value * PARTS) / PARTS, bootId, monotonicMs, class: 'regular' }];
      }),
    );
    this.#deps.append(entries);
  }
}

/** `turnstone_outbox_held_entries` → `outboxHeldEntries`; labels follow an underscore. Readings are telemetry already, build facts are attributes. */
export function telemetryKey(
  { name, inTelemetry }: Metric,
  labels: Readonly<Record<string, string>> = {},
): string | undefined {
  if (inTelemetry === false) return undefined;
  const words = name.replace(/^turnstone_/, '').split('_');
  const camel = words
    .map((word, index) => (index === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)))
    .join('');
  return [camel, ...Object.values(labels)].join('_');
}
