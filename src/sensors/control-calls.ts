/** Calls of the command line that read sensors through the running agent. */
import { sentReading } from '../config/keys/sent-reading.ts';
import type { SensorConfig } from '../config/schema/agent-config.ts';
import type { ControlCalls } from '../control-socket/control-connection.ts';
import { jsonOf } from '../values/json.ts';
import { textIn } from '../values/request-params.ts';
import type { Sampler } from './sampler.ts';

export function sensorCalls(sampler: Pick<Sampler, 'readNow'>, sensors: () => readonly SensorConfig[]): ControlCalls {
  const readSensor = async (name: string, signal: AbortSignal) => {
    const samples = await sampler.readNow(name, signal);
    const sensor = sensors().find((one) => one.name === name);
    return jsonOf(samples.map((sample) => sentReading(sensor, sample)));
  };
  return { methods: { readSensor: (params, signal) => readSensor(textIn(params, 'name'), signal) } };
}
