/** Methods of the configuration that are programs. */
import type { RpcMethodConfig } from '../config/agent-config.ts';
import { AgentError } from '../errors.ts';
import { fillArguments } from '../host/argument-template.ts';
import { isJsonObject, type JsonValue } from '../host/json.ts';
import type { HostMachine } from '../host/machine.ts';
import type { RpcMethod } from './rpc-method.ts';

export type ProgramMachine = Pick<HostMachine, 'clock' | 'runProgram'>;

/** Of a program's output, in a reply. */
const MAX_OUTPUT_BYTES = 16 * 1024;

/** Those entries of the configuration that are methods of their own for one fixed program. */
export function programMethods(configs: Readonly<Record<string, RpcMethodConfig>>, machine: ProgramMachine): readonly RpcMethod[] {
  return Object.entries(configs).flatMap(([name, config]) =>
    config.command === undefined ? [] : [programMethod(name, config, config.command, machine)],
  );
}

function programMethod(
  name: string,
  config: RpcMethodConfig,
  command: NonNullable<RpcMethodConfig['command']>,
  { clock, runProgram }: ProgramMachine,
): RpcMethod {
  const argumentsOf = (params: JsonValue): readonly string[] => fillArguments(command.arguments, isJsonObject(params) ? params : {});
  return {
    name,
    description: config.description ?? `Runs ${command.program}.`,
    params: config.params ?? {},
    // What a program does nobody knows: it counts as a movement unless the configuration says that twice does no harm.
    effect: command.idempotent ? 'set' : 'move',
    moves: true,
    deadlineMs: config.deadlineMs,
    prepare: (params) => {
      argumentsOf(params);
      return undefined;
    },
    run: async (params, { signal }) => {
      const { deadlineMs } = config;
      const program = { file: command.program, args: argumentsOf(params), deadlineMs, maxOutputBytes: MAX_OUTPUT_BYTES };
      const { exitCode, endedBySignal, stdout, stderr, cut } = await runProgram(program, clock, signal);
      if (exitCode === 0) return { stdout, ...(stderr === '' ? {} : { stderr }), ...(cut ? { cut } : {}) };
      const how = exitCode === undefined ? `was ended by ${endedBySignal ?? 'a signal'}` : `ended with ${exitCode}`;
      throw new AgentError('rpc/program-failed', `the program ${how}: ${stderr.trim().slice(0, 200)}`, { recovery: 'drop' });
    },
  };
}
