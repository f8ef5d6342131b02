/** "Never both": an actuator is not activated while one that excludes it is, may be, or is about to be active. */
import { AgentError } from '../errors.ts';
import type { ActuatorSlot } from './actuator-slot.ts';

/** @throws AgentError `actuators/interlocked` (retry) that names the other. */
export function checkInterlocks(slot: ActuatorSlot, all: Iterable<ActuatorSlot>): void {
  const { name, neverWith } = slot.settings;
  for (const other of all) {
    const excluded = neverWith.includes(other.settings.name) || other.settings.neverWith.includes(name);
    if (other === slot || !excluded || !other.maybeActive) continue;
    const why = other.state.value === undefined ? 'its state is not known' : 'it is active';
    throw new AgentError('actuators/interlocked', `${name} is never on together with ${other.settings.name}, and ${why}`, {
      recovery: 'retry',
    });
  }
}
