/** One pulse: on, and off again whatever happens to the caller. */
import { hasCode, messageOf } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { Log } from '../host/log.ts';
import type { Writer } from './actuator.ts';
import type { ActuatorSlot } from './actuator-slot.ts';

export interface PulseDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Aborts when the agent stops, which sets its own state. */
  readonly closing: AbortSignal;
}

export interface PulseRequest {
  readonly durationMs: number;
  readonly by: Writer;
}

/** Longer pulses are answered when they have begun. */
const AWAITED_PULSE_MS = 1_000;
/** How soon an end that failed is tried again. */
const AGAIN_AFTER_MS = 100;

/**
 * Resolves when it has ended, or for pulses over a second when it has begun. After a kill the safe states for crash and start take the
 * place of its end. @throws as ActuatorSlot.move, with the actuator switched off.
 */
export async function pulse(slot: ActuatorSlot, { durationMs, by }: PulseRequest, deps: PulseDeps, signal: AbortSignal): Promise<void> {
  slot.pulsing = true;
  try {
    await slot.move({ value: true, by }, AbortSignal.any([signal, deps.closing]));
  } catch (error) {
    slot.pulsing = false;
    // It may have moved before it failed: a pulse that nobody ends is worse than one switching-off too many. A safe state knows better.
    if (!hasCode(error, 'actuators/overridden')) await switchOff(slot, slot.movements, deps);
    throw error;
  }
  const mine = slot.movements;
  const ended = deps.clock.sleep(durationMs, deps.closing).then(() => switchOff(slot, mine, deps));
  if (durationMs <= AWAITED_PULSE_MS) await ended;
}

/** Tries until it is off: unless someone else has moved it since, or the agent stops. */
async function switchOff(slot: ActuatorSlot, movement: number, { clock, log, closing }: PulseDeps): Promise<void> {
  while (!closing.aborted) {
    await slot.settled();
    if (slot.movements !== movement) break;
    try {
      slot.pulsing = false;
      await slot.move({ value: false, by: slot.state.by ?? 'safe-state' }, closing);
      break;
    } catch (error) {
      slot.pulsing = true;
      log.warn({ actuator: slot.settings.name, error: messageOf(error) }, 'a pulse was not ended');
      await clock.sleep(AGAIN_AFTER_MS, closing);
    }
  }
  if (!closing.aborted) slot.pulsing = false;
}
