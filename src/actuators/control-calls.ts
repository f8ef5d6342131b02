/** What the command line can have moved through the running agent. */
import type { ControlCalls } from '../control-socket/control-connection.ts';
import { jsonOf } from '../host/json.ts';
import { textIn } from '../host/request-params.ts';
import type { ActuatorControl } from './actuator-control.ts';

export function actuatorCalls(actuators: Pick<ActuatorControl, 'set'>): ControlCalls {
  return {
    methods: {
      setActuator: async (params, signal) => jsonOf(await actuators.set(textIn(params, 'name'), params.value, { by: 'local' }, signal)),
    },
  };
}
