/** Calls of the command line to the running agent: sets and releases an output, and tells why it is as it is. */
import type { ControlCalls } from '../control-socket/control-connection.ts';
import { jsonOf } from '../host/json.ts';
import { numberIn, textIn } from '../host/request-params.ts';
import { reasonedState } from '../operations/output-operations.ts';
import type { ActuatorControl } from './actuator-control.ts';

export function actuatorCalls(actuators: Pick<ActuatorControl, 'set' | 'release' | 'read' | 'find'>): ControlCalls {
  return {
    readMethods: {
      getActuator: async (params, signal) => await reasonedState(actuators, textIn(params, 'name'), signal),
    },
    methods: {
      setActuator: async (params, signal) => {
        const command = {
          by: 'local' as const,
          forMs: params.forMs === undefined ? undefined : numberIn(params, 'forMs'),
        };
        return jsonOf(await actuators.set(textIn(params, 'name'), params.value, command, signal));
      },
      releaseActuator: async (params) => jsonOf(await actuators.release(textIn(params, 'name'))),
    },
  };
}

/** Outputs as the page sets them: an operator on site, but for the lockout, as whoever knows the PIN may be anywhere in the network. */
export function pageOutputs(actuators: Pick<ActuatorControl, 'check' | 'set' | 'release' | 'find'>) {
  return {
    set: async (name: string, value: unknown, forMs: number | undefined, signal: AbortSignal) => {
      actuators.check(name, value, 'rpc');
      return await actuators.set(name, value, { by: 'local' as const, forMs }, signal);
    },
    release: (name: string) => actuators.release(name),
    settings: (name: string) => actuators.find(name)?.settings,
  };
}
