/** The way of a command to the running agent. */
import type { Command } from 'commander';
import { peekFolders } from '../config/peek-folders.ts';
import { ControlClient } from '../control-socket/control-client.ts';
import { hasCode } from '../errors.ts';
import { systemClock } from '../host/clock.ts';
import { isJsonObject } from '../host/json.ts';
import type { Edge } from './edge.ts';
import { CommandError, EXIT } from './exit-code.ts';

export interface AgentFlags {
  readonly runFolder?: string;
  readonly config?: string;
}

/** Adds the options by which every such command finds its agent. */
export function addAgentOptions(command: Command): Command {
  return command
    .option('--run-folder <folder>', 'run folder of the agent (default: /run/turnstone, or what --config says)')
    .option('--config <file>', 'configuration of the agent, to find its run folder');
}

/** Connected, with the rights this user has. @throws CommandError with exit code 69 or 77. */
export async function connectAgent(
  flags: AgentFlags,
  { signal, environment }: Pick<Edge, 'signal' | 'environment'>,
): Promise<ControlClient> {
  const folder = flags.runFolder ?? (await peekFolders(flags.config, environment)).runFolder;
  try {
    return await ControlClient.connect({ folder, interrupted: signal });
  } catch (error) {
    if (hasCode(error, 'control-socket/no-permission')) throw new CommandError(error.message, { exitCode: EXIT.noPermission });
    if (hasCode(error, 'control-socket/not-running')) {
      const nextStep = 'start it (systemctl start turnstone), or name its --run-folder';
      throw new CommandError(`no agent answers in ${folder}`, { exitCode: EXIT.notRunning, nextStep, cause: error });
    }
    throw error;
  }
}

/** UTC epoch ms by what the agent believes, which may be the platform's dates where this machine's clock is wrong. */
export async function agentWallMs(agent: Pick<ControlClient, 'request'>): Promise<number> {
  const status = await agent.request('getStatus');
  const wallMs = isJsonObject(status) ? status.wallMs : undefined;
  return typeof wallMs === 'number' ? wallMs : systemClock.wallMs();
}
