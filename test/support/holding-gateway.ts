/**
 * A Modbus gateway on a clock of the test, with the two rules of real ones: a request that waits is sent on although its client hung up, and
 * it may be sent on after a later request of a newer connection. It stands in for the transport of one output: registers, and a hold.
 */
import type { ActuatorDriver, ActuatorValue } from '../../src/actuators/kind/actuator.ts';
import { retryable } from '../../src/errors/agent-error.ts';
import type { FakeClock } from './fake-clock.ts';

export interface HoldingGateway extends ActuatorDriver {
  /** What stands in the unit. */
  shown: ActuatorValue;
  /** Holds the next write for so long after its client gave up; undefined: it is answered at once. */
  holdMs: number | undefined;
  /** Reads are answered, refused by the unit for good, or not answered. */
  reads: 'answered' | 'refused' | 'silent';
  /** Writes as they reached the unit. */
  readonly arrived: ActuatorValue[];
}

export function holdingGateway(clock: FakeClock, shown: ActuatorValue, { readBack = true } = {}): HoldingGateway {
  const arrive = (value: ActuatorValue): void => {
    gateway.arrived.push(value);
    gateway.shown = value;
  };
  const read = async (): Promise<ActuatorValue> => {
    if (gateway.reads === 'silent') throw retryable('hardware/deadline', 'no answer within the deadline');
    if (gateway.reads === 'refused')
      throw Object.assign(retryable('hardware/modbus-exception', 'illegal data address'), { recovery: 'drop' });
    return gateway.shown;
  };
  const gateway: HoldingGateway = {
    shown,
    holdMs: undefined,
    reads: 'answered',
    arrived: [],
    readLate: read,
    ...(readBack && { read }),
    write: async (value) => {
      const { holdMs } = gateway;
      if (holdMs === undefined) return arrive(value);
      gateway.holdMs = undefined;
      clock.after(holdMs, () => arrive(value));
      throw retryable('hardware/outcome-unknown', 'no answer, and the write may still arrive');
    },
    close: async () => {},
  };
  return gateway;
}
