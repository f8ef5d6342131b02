/** An actuator's driver without a board: what every configuration has, and ports that a test makes up. */
import type { ActuatorDriver } from '../../src/actuators/kind/actuator.ts';
import type { DriverDeps, OpenDriver } from '../../src/actuators/kind/definition.ts';
import type { Ports } from '../../src/hardware/ports.ts';
import { type Clock, systemClock } from '../../src/host/clock.ts';
import { silentLog } from '../../src/host/log.ts';
import { runProgram } from '../../src/host/run-program.ts';

const never = new AbortController().signal;

export const COMMON = {
  name: 'a',
  enabled: true,
  desiredKey: 'a',
  stateKey: 'aState',
  telemetry: true,
  restore: false,
  safe: {},
  limits: {},
  interlocks: [],
  operatorUntil: 'ruleChange' as const,
} as const;

/** Opens what is asked for with these ports alone. */
export function opensWith<C>(opener: (config: C, deps: DriverDeps) => OpenDriver) {
  return (config: C, ports: object = {}, clock: Clock = systemClock): Promise<ActuatorDriver> =>
    opener(config, { ports: ports as Ports, clock, runProgram, log: silentLog })(never);
}
