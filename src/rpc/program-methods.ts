/** Methods of the configuration that are programs. */
import type { RpcConfig } from '../config/schema/agent-config.ts';
import { AgentError, refusal } from '../errors/agent-error.ts';
import type { HostMachine } from '../host/machine.ts';
import type { Operation } from '../operations/operation.ts';
import { fillArguments } from '../values/argument-template.ts';
import { isJsonObject, type JsonValue, parseJson } from '../values/json.ts';

export type ProgramMachine = Pick<HostMachine, 'clock' | 'runProgram'>;

/** Size of a program's output in a reply. */
const MAX_OUTPUT_BYTES = 16 * 1024;

/** Those entries of the configuration that are methods of their own for one fixed program. */
export function programMethods(
  configs: RpcConfig['methods'],
  { clock, runProgram }: ProgramMachine,
): readonly Operation[] {
  return Object.entries(configs).flatMap(([name, { command, deadlineMs, description, params: shape = {} }]) => {
    if (command === undefined) return [];
    const argumentsOf = (params: JsonValue): readonly string[] =>
      fillArguments(command.arguments, isJsonObject(params) ? params : {});
    const run: Operation['run'] = async (params, { signal }) => {
      const program = {
        file: command.program,
        args: argumentsOf(params),
        deadlineMs,
        maxOutputBytes: MAX_OUTPUT_BYTES,
      };
      const { exitCode, endedBySignal, stdout, stderr, cut } = await runProgram(program, clock, signal);
      if (exitCode === 0 && command.json) return outputOf(stdout, cut);
      if (exitCode === 0) return { stdout, stderr: stderr || undefined, cut: cut || undefined };
      const how = exitCode === undefined ? `was ended by ${endedBySignal ?? 'a signal'}` : `ended with ${exitCode}`;
      throw new AgentError('rpc/program-failed', `the program ${how}: ${stderr.trim().slice(0, 200)}`, {
        recovery: 'drop',
      });
    };
    return {
      name,
      description: description ?? `Runs ${command.program}.`,
      params: shape,
      deadlineMs,
      run,
      // A program's action is unknown: it counts as a movement unless the configuration says that twice does no harm.
      effect: command.idempotent ? 'set' : 'move',
      moves: true,
      bare: command.json,
      isDeclared: true,
      prepare: (params) => void argumentsOf(params),
    };
  });
}

/** @throws AgentError `rpc/no-json` (drop) for what is no whole JSON value. */
function outputOf(stdout: string, cut: boolean): JsonValue {
  try {
    if (!cut) return parseJson(stdout);
  } catch {
    // Told below, in the same words.
  }
  throw refusal('rpc/no-json', `the program prints no JSON of up to ${MAX_OUTPUT_BYTES} bytes`);
}
