/** One pulse: on, and off again whatever happens to the caller. Its end is a time on the pin's record, which only this pulse can set. */
import { hasCode } from '../errors.ts';
import { untilAborted } from '../host/bounded-wait.ts';
import type { Writer } from './actuator.ts';
import type { ActuatorSlot, Movement } from './actuator-slot.ts';
import type { Pulse } from './claim.ts';

export interface PulseDeps {
  readonly move: (movement: Movement) => Promise<void>;
  /** Until the hardware has taken it. */
  readonly switchOff: () => Promise<void>;
  /** Aborts when the agent stops, which sets its own state. */
  readonly closing: AbortSignal;
}

export interface PulseRequest {
  readonly durationMs: number;
  readonly by: Writer;
}

/** Longer pulses are answered when they have begun. */
const AWAITED_PULSE_MS = 1_000;

/**
 * Resolves when it has ended, or for pulses over a second when it has begun. After a kill its mark is left, for the stop hook and the next
 * start. @throws as ActuatorSlot.move, with the actuator switched off.
 */
export async function pulse({ record }: ActuatorSlot, { durationMs, by }: PulseRequest, deps: PulseDeps): Promise<void> {
  const { promise: ended, resolve: onEnd } = Promise.withResolvers<void>();
  const mine: Pulse = { durationMs, onEnd };
  try {
    await deps.move({ value: true, by, pulse: mine });
  } catch (error) {
    // It may have moved before it failed: a pulse that nobody ends is worse than one switching-off too many. Who went first knows better.
    if (record.lastBegun?.pulse === mine && !hasCode(error, 'actuators/overridden')) await deps.switchOff();
    throw error;
  }
  if (durationMs <= AWAITED_PULSE_MS) await untilAborted(ended, deps.closing).catch(() => {});
}
