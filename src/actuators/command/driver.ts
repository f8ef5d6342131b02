/** Something only a program can move: started with a fixed argument list, the value as one argument. */
import { retryable } from '../../errors/agent-error.ts';
import type { Program } from '../../host/run-program.ts';
import { fillArguments } from '../../values/argument-template.ts';
import type { ActuatorDriver, ActuatorSettings, ActuatorValue } from '../kind/actuator.ts';
import type { DriverDeps, OpenDriver } from '../kind/definition.ts';
import type { CommandConfig } from './definition.ts';

const MAX_SHOWN_ERROR_LENGTH = 200;

export function opener(config: CommandConfig, { clock, runProgram }: DriverDeps): OpenDriver {
  const { program: file, timeoutMs: deadlineMs, readBack, valueType } = config;
  const run = async (program: Program, signal: AbortSignal): Promise<string> => {
    const { exitCode, stdout, stderr } = await runProgram(program, clock, signal);
    if (exitCode === 0) return stdout;
    const how = exitCode === undefined ? 'was ended by a signal' : `ended with ${exitCode}`;
    const said = stderr.trim().slice(0, MAX_SHOWN_ERROR_LENGTH);
    throw retryable('actuators/program-failed', `${program.file} ${how}${said === '' ? '' : `: ${said}`}`);
  };
  const driver: ActuatorDriver = {
    write: async (value, signal) =>
      void (await run({ file, args: fillArguments(config.arguments, { value }), deadlineMs }, signal)),
    ...(readBack && {
      read: async (signal) =>
        valueFrom(await run({ file: readBack.program, args: readBack.arguments, deadlineMs }, signal), valueType),
    }),
    close: async () => {},
  };
  return async () => driver;
}

function valueFrom(output: string, valueType: ActuatorSettings['valueType']): ActuatorValue {
  const text = output.trim();
  if (valueType === 'string') return text;
  if (valueType === 'number' && text !== '' && Number.isFinite(Number(text))) return Number(text);
  if (valueType === 'boolean' && /^(1|true|on)$/i.test(text)) return true;
  if (valueType === 'boolean' && /^(0|false|off)$/i.test(text)) return false;
  throw retryable('actuators/bad-read-back', `the program printed no ${valueType}`);
}
