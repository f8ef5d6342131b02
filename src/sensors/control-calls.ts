/** Calls of the command line that read sensors through the running agent. */
import type { ControlCalls } from '../control-socket/control-connection.ts';
import { jsonOf } from '../host/json.ts';
import { textIn } from '../host/request-params.ts';
import type { Sampler } from './sampler.ts';

export function sensorCalls(sampler: Pick<Sampler, 'readNow'>): ControlCalls {
  return {
    methods: { readSensor: async (params, signal) => jsonOf(await sampler.readNow(textIn(params, 'name'), signal)) },
  };
}
