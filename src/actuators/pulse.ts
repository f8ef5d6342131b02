/** One pulse: on, and off again whatever happens to the caller. Its end is a time on the pin's record, which only this pulse can set. */
import { untilAborted } from '../host/bounded-wait.ts';
import type { Movement } from './actuator-slot.ts';
import type { Pulse } from './claim.ts';
import type { Writer } from './kind/actuator.ts';
import type { Output } from './output.ts';

export interface PulseDeps {
  readonly move: (movement: Movement) => Promise<void>;
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
 * start. @throws as ActuatorSlot.move: its slot is empty then, and the output goes off where nothing else is filled.
 */
export async function pulse(output: Output, { durationMs, by }: PulseRequest, { move, closing }: PulseDeps): Promise<void> {
  const { promise: ended, resolve: onEnd } = Promise.withResolvers<void>();
  const mine: Pulse = { durationMs, onEnd };
  await output.pulse(by, {
    ended,
    move: () => move({ value: true, by, pulse: mine }),
    hasBegun: () => output.slot.record.lastBegun?.pulse === mine,
  });
  if (durationMs <= AWAITED_PULSE_MS) await untilAborted(ended, closing).catch(() => {});
}
