/** A program whose output is the reading: started directly, never through a shell, bounded in time and output. */
import type { SensorConfigOf } from '../config/agent-config.ts';
import { runProgram } from '../host/run-program.ts';
import { excerpt, lineParser } from './line-format.ts';
import type { Reading, Sensor } from './sensor.ts';
import type { SensorDeps } from './sensor-deps.ts';
import { sensorFault } from './sensor-fault.ts';

export async function openCommand(config: SensorConfigOf<'command'>, { clock }: SensorDeps, _signal: AbortSignal): Promise<Sensor> {
  const { name, program, environment, deadlineMs, maxOutputBytes, format } = config;
  const parse = lineParser(config);
  return {
    name,
    read: async (signal) => {
      const run = { file: program, args: config.arguments, environment, deadlineMs, mostOutputBytes: maxOutputBytes };
      const { exitCode, stdout, stderr, cut } = await runProgram(run, clock, signal);
      if (exitCode !== 0) throw sensorFault('command-failed', `${program} ended with ${exitCode ?? 'a signal'}: ${excerpt(stderr)}`);
      if (cut) throw sensorFault('bad-reading', `${program} printed more than ${maxOutputBytes} bytes`);
      return parseOutput(stdout, format, parse);
    },
    close: async () => {},
  };
}

/** JSON may span lines; of anything else each line is read, and a key that comes again takes the later value. @throws AgentError `sensors/bad-line` (retry). */
function parseOutput(
  text: string,
  format: SensorConfigOf<'command'>['format'],
  parse: (line: string) => readonly Reading[],
): readonly Reading[] {
  const lines = format === 'json' ? [text] : text.split('\n').filter((line) => line.trim() !== '');
  const readings = new Map<string, Reading>();
  let fault: unknown;
  for (const line of lines) {
    try {
      for (const reading of parse(line)) readings.set(reading.key, reading);
    } catch (error) {
      fault = error; // headings and remarks between the values are usual
    }
  }
  if (readings.size === 0) throw fault ?? sensorFault('bad-line', 'the program printed nothing');
  return [...readings.values()];
}
