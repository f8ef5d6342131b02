/** An output of a program that is a driver for as long as it lives: told by a line on its standard input, which it answers. */
import { retryable } from '../../errors/agent-error.ts';
import { withinMs } from '../../host/bounded-wait.ts';
import { silentLog } from '../../host/log.ts';
import { valueFor } from '../kind/actuator-value.ts';
import type { DriverDeps, OpenDriver } from '../kind/definition.ts';
import type { ProcessConfig } from './definition.ts';

export function opener(config: ProcessConfig, { ports, clock, log = silentLog }: DriverDeps): OpenDriver {
  const { name, program, member = name, timeoutMs, valueType, readBack } = config;
  return async () => {
    const share = ports.programs.open(config, log);
    const read = async () => {
      const told = share.state(member);
      if (told === undefined)
        throw retryable('actuators/no-state', share.outage ?? `${program} has not told the state of ${member} yet`);
      const value = valueFor({ valueType }, told);
      if (value === undefined)
        throw retryable('actuators/bad-read-back', `${program} tells a state of ${member} that is no ${valueType}`);
      return value;
    };
    return {
      write: (value, signal) => withinMs(clock, timeoutMs, (within) => share.set(member, value, within), signal),
      ...(readBack && { read }),
      close: () => share.close(),
    };
  };
}
