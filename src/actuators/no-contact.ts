/** Notices that the platform has not been heard for as long as an actuator may be left alone, once per silence. */
import type { Clock } from '../host/clock.ts';
import type { ActuatorSettings, ActuatorValue } from './actuator.ts';

export interface NoContactDeps {
  readonly settings: readonly ActuatorSettings[];
  readonly clock: Clock;
  readonly onLost: (name: string, value: ActuatorValue) => void;
}

export interface ContactWatch {
  /** The platform was heard just now. */
  heard(): void;
  /** Idempotent. */
  close(): void;
}

/** Silence is counted from the start, so that a gateway which never reaches its platform is safe too. */
export function watchContact({ settings, clock, onLost }: NoContactDeps): ContactWatch {
  let heardAtMs = clock.monotonicMs();
  const cancels = new Map<string, () => void>();
  const watched = settings.flatMap(({ name, safe }) => (safe.noContact === undefined ? [] : [{ name, ...safe.noContact }]));
  const arm = (actuator: (typeof watched)[number], inMs: number): void => {
    cancels.set(
      actuator.name,
      clock.after(inMs, () => {
        const leftMs = heardAtMs + actuator.afterMs - clock.monotonicMs();
        if (leftMs > 0) return arm(actuator, leftMs);
        cancels.delete(actuator.name);
        onLost(actuator.name, actuator.value);
      }),
    );
  };
  for (const actuator of watched) arm(actuator, actuator.afterMs);
  return {
    heard: () => {
      heardAtMs = clock.monotonicMs();
      for (const actuator of watched) if (!cancels.has(actuator.name)) arm(actuator, actuator.afterMs);
    },
    close: () => {
      for (const cancel of cancels.values()) cancel();
      watched.length = 0;
    },
  };
}
