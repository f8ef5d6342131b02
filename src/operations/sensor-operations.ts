/** Sensors read from afar: each by its name, and by the methods that the configuration declares. */
import type { RpcMethodConfig } from '../config/schema/agent-config.ts';
import { refusal } from '../errors/agent-error.ts';
import type { Reading } from '../sensors/kind/sensor.ts';
import type { JsonValue } from '../values/json.ts';
import type { ShownReading } from './answers.ts';
import { type Operation, type OperationsOn, objectOf, QUESTION, SENSOR_NAME, textOf } from './operation.ts';

export interface ReadNow {
  /** @throws AgentError when there is no such sensor, or it does not answer. */
  readonly readNow: (name: string, signal: AbortSignal) => Promise<readonly Reading[]>;
}

export interface SentReadings {
  /** Returns readings of a sensor as the platform gets them, which is what a person at the device is shown. */
  readonly asSent: (sensor: string, readings: readonly Reading[]) => readonly ShownReading[];
}

export const SENSOR_OPERATIONS: OperationsOn<ReadNow & SentReadings> = {
  readSensor: ({ readNow, asSent }) => ({
    ...QUESTION,
    description: 'Reads a sensor once, now.',
    params: objectOf({ name: SENSOR_NAME }),
    askers: ['platform', 'site'],
    run: async (params, { asker, signal }) => {
      const name = textOf(params, 'name');
      return asker === 'platform'
        ? await readingsOf({ readNow }, name, signal)
        : asSent(name, await readNow(name, signal));
    },
  }),
};

export function declaredSensorMethods(
  configs: Readonly<Record<string, RpcMethodConfig>>,
  sampler: ReadNow,
): readonly Operation[] {
  return Object.entries(configs).flatMap(
    ([name, { sensor, key, send, sendHex, description = `Reads ${sensor} once, now.`, params = {}, deadlineMs }]) => {
      // A command to its device is no read.
      if (sensor === undefined || send !== undefined || sendHex !== undefined) return [];
      const run: Operation['run'] = (_params, { signal }) =>
        key === undefined ? readingsOf(sampler, sensor, signal) : keyValue(sampler, { sensor, key }, signal);
      return [{ ...QUESTION, name, description, params, deadlineMs, bare: key !== undefined, isDeclared: true, run }];
    },
  );
}

/** @throws AgentError `sensors/no-such-key` (drop) when the read gave no value of it. */
async function keyValue(
  sampler: ReadNow,
  { sensor, key }: { readonly sensor: string; readonly key: string },
  signal: AbortSignal,
): Promise<JsonValue> {
  const found = (await sampler.readNow(sensor, signal)).find((reading) => reading.key === key);
  if (found === undefined) throw refusal('sensors/no-such-key', `${sensor} gave no ${key}`);
  return found.value;
}

async function readingsOf(sampler: ReadNow, name: string, signal: AbortSignal): Promise<ShownReading[]> {
  const readings = await sampler.readNow(name, signal);
  return readings.map(({ key, value, unit }) => ({ key, value, ...(unit === undefined ? {} : { unit }) }));
}
