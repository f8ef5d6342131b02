/** An output of a program that is a driver for as long as it lives: told by a line on its standard input, which it answers. */
import { retryable } from '../../errors/agent-error.ts';
import { withinMs } from '../../host/bounded-wait.ts';
import { silentLog } from '../../host/log.ts';
import type { JsonValue } from '../../values/json.ts';
import type { ActuatorValue, LateAnswer } from '../kind/actuator.ts';
import { valueFor } from '../kind/actuator-value.ts';
import type { DriverDeps, OpenDriver } from '../kind/definition.ts';
import type { ProcessConfig } from './definition.ts';

export function opener(config: ProcessConfig, { ports, clock, log = silentLog }: DriverDeps): OpenDriver {
  const { name, program, member = name, timeoutMs, valueType, readBack } = config;
  return async () => {
    const share = ports.programs.open(config, log);
    let tellLate: LateAnswer = () => {};
    let told = 0;
    const write = (value: ActuatorValue, signal: AbortSignal): Promise<void> => {
      told += 1;
      const mine = told;
      const onLate = (state: JsonValue | undefined, refusal?: string): void => {
        const shown = state === undefined ? undefined : valueFor({ valueType }, state);
        // A newer command may change it again.
        if (mine === told && (shown !== undefined || refusal !== undefined)) tellLate(shown, refusal);
      };
      return withinMs(clock, timeoutMs, (within) => share.set(member, value, within, onLate), signal);
    };
    const read = async () => {
      const state = share.state(member);
      if (state === undefined)
        throw retryable('actuators/no-state', share.outage ?? `${program} has not told the state of ${member} yet`);
      const value = valueFor({ valueType }, state);
      if (value === undefined)
        throw retryable('actuators/bad-read-back', `${program} tells a state of ${member} that is no ${valueType}`);
      return value;
    };
    return {
      write,
      ...(readBack && { read }),
      onLateAnswer: (listener) => {
        tellLate = listener;
      },
      // One that does not answer may be in the middle of a movement.
      mendsItself: true,
      close: () => share.close(),
    };
  };
}
