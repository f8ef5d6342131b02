/** Claim on a pin, until it is done with: a value, and the pulse that begins with it. */
import type { ActuatorValue } from './kind/actuator.ts';

/** One pulse; the end of another is none of its business. */
export interface Pulse {
  readonly durationMs: number;
  /** Called once it no longer has a say: switched off, or taken over by who switched on. */
  readonly onEnd: () => void;
}

/** A value that the pin will have, has, or may yet get from a write that nobody waits for any longer. */
export interface Claim {
  readonly value: ActuatorValue;
  readonly pulse: Pulse | undefined;
}
