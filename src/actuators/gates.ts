/**
 * What keeps a movement from being made: the agent's stop, lockout, value, times, interlocks. Off passes all but the value and the least time
 * on that was asked for; a safe state passes all but the interlocks.
 */
import { AgentError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import { type ActuatorValue, isActive, type Writer } from './actuator.ts';
import { checkTimes, checkValue } from './actuator-limits.ts';
import { checkInterlocks } from './interlocks.ts';
import type { PinRecord } from './pin-record.ts';

export interface GatesDeps {
  readonly records: readonly PinRecord[];
  /** Whether someone works on the machine. */
  readonly locked: () => boolean;
  readonly closing: AbortSignal;
  readonly clock: Clock;
}

/** Who is stopped by lockout; a person on site holds the key. */
const REMOTE: ReadonlySet<Writer> = new Set(['rpc', 'shared', 'rule', 'restore']);

export class Gates {
  readonly #deps: GatesDeps;

  constructor(deps: GatesDeps) {
    this.#deps = deps;
  }

  /** All of them, before anything is claimed. @throws AgentError `actuators/…` that names the gate. */
  check(record: PinRecord, value: unknown, by: Writer): ActuatorValue {
    const checked = checkValue(record.settings, value);
    if (this.#deps.closing.aborted) throw stopping();
    this.permit(record, checked, by);
    checkTimes(record, checked, this.#deps.clock.monotonicMs());
    return checked;
  }

  /** Those that may close between the asking and the moving. @throws AgentError as `check` does. */
  permit(record: PinRecord, value: ActuatorValue, by: Writer): void {
    const { records, locked, closing } = this.#deps;
    if (closing.aborted && by !== 'safe-state') throw new AgentError('actuators/closing', 'the agent is stopping', { recovery: 'drop' });
    if (!isActive(value)) return;
    if (REMOTE.has(by) && locked())
      throw new AgentError('actuators/locked-out', `${record.settings.name} is not moved: the machine is locked out`, { recovery: 'hold' });
    checkInterlocks(record, records);
  }
}

function stopping(): AgentError {
  return new AgentError('actuators/closing', 'the agent is stopping', { recovery: 'drop' });
}
