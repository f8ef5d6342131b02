/** A program whose output is the reading: started directly, never through a shell, bounded in time and output. */
import { excerpt, openLineParser } from '../families/lines/line-format.ts';
import { parseOutput } from '../families/lines/output.ts';
import { sorted } from '../kind/outcome.ts';
import type { Refusal, Sensor } from '../kind/sensor.ts';
import type { SensorDeps } from '../kind/sensor-deps.ts';
import { sensorFault } from '../kind/sensor-fault.ts';
import type { CommandConfig } from './definition.ts';

export async function open(
  config: CommandConfig,
  { clock, runProgram }: SensorDeps,
  _signal: AbortSignal,
): Promise<Sensor> {
  const { name, program, environment, deadlineMs, maxOutputBytes, format, encoding, goodStatus } = config;
  const parse = await openLineParser(config);
  let refused: readonly Refusal[] = [];
  return {
    name,
    read: async (signal) => {
      const run = { file: program, args: config.arguments, environment, deadlineMs, maxOutputBytes, encoding };
      const { exitCode, stdout, stderr, cut } = await runProgram(run, clock, signal);
      if (exitCode === undefined || !goodStatus.includes(exitCode))
        throw sensorFault('command-failed', `${program} ended with ${exitCode ?? 'a signal'}: ${excerpt(stderr)}`);
      if (cut) throw sensorFault('bad-reading', `${program} printed more than ${maxOutputBytes} bytes`);
      const given = sorted(parseOutput(stdout, format, parse));
      refused = given.refused;
      return given.readings;
    },
    refused: () => refused,
    close: async () => {},
  };
}
