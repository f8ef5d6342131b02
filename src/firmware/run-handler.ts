/** The fixed command that installs a verified file on what is attached, one at a time on this machine: two of them may share a bus. */
import { basename } from 'node:path';
import type { FirmwareHandlerConfig } from '../config/schema/agent-config.ts';
import { refusal } from '../errors/agent-error.ts';
import type { HostMachine } from '../host/machine.ts';
import { fillArguments } from '../values/argument-template.ts';
import type { JsonObject } from '../values/json.ts';
import type { UpdateTurns } from './update-turns.ts';

export interface RunHandlerDeps extends Pick<HostMachine, 'clock' | 'runProgram'> {
  readonly installs: Pick<UpdateTurns, 'next'>;
}

/**
 * Runs a handler's command.
 *
 * @param words values of `{words}` in its arguments.
 * @throws AgentError `firmware/handler-failed` (drop) with what it said last.
 */
export async function runHandler(
  handler: FirmwareHandlerConfig,
  words: JsonObject,
  { clock, runProgram, installs }: RunHandlerDeps,
  signal: AbortSignal,
): Promise<void> {
  const args = fillArguments(handler.arguments, words);
  const turn = await installs.next(signal);
  const program = { file: handler.program, args, deadlineMs: handler.timeoutMs };
  const outcome = await runProgram(program, clock, signal).finally(turn.end);
  if (outcome.exitCode === 0) return;
  const said = outcome.stderr.trim().split('\n').at(-1)?.slice(0, 200) ?? '';
  const ended =
    outcome.exitCode === undefined ? `was ended by ${outcome.endedBySignal}` : `ended with ${outcome.exitCode}`;
  throw refusal('firmware/handler-failed', `${basename(handler.program)} ${ended}: ${said}`);
}
