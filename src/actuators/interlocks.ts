/** "Never both": an actuator is not activated while one that excludes it is, may be, or is about to be active. */
import { AgentError } from '../errors.ts';
import type { PinRecord } from './pin-record.ts';

/** @throws AgentError `actuators/interlocked` (retry) that names the other. */
export function checkInterlocks(pin: PinRecord, all: Iterable<PinRecord>): void {
  const other = excluderOf(pin, all);
  if (other === undefined) return;
  const why = other.value === undefined ? 'its state is not known' : 'it is active';
  throw new AgentError('actuators/interlocked', `${pin.settings.name} is never on together with ${other.settings.name}, and ${why}`, {
    recovery: 'retry',
  });
}

/** Whichever keeps it from being activated; undefined when nothing does. */
export function excluderOf(pin: PinRecord, all: Iterable<PinRecord>): PinRecord | undefined {
  const { name, neverWith } = pin.settings;
  for (const other of all) {
    const excluded = neverWith.includes(other.settings.name) || other.settings.neverWith.includes(name);
    if (excluded && other.mayBeActive) return other;
  }
  return undefined;
}
