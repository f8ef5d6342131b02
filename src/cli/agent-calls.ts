/** Calls of a command to the agent: over its control socket, or, where no agent runs, by the same operations on its files. */
import { DEFAULT_CONFIG_FILE } from '../config/fields/default-places.ts';
import { namedFolders } from '../config/peek-config.ts';
import { ControlClient } from '../control-socket/control-client.ts';
import { UNIT } from '../doctor/checks/checkup.ts';
import { type StoppedUnit, stoppedUnit } from '../doctor/checks/stopped-unit.ts';
import { hasCode } from '../errors/agent-error.ts';
import { systemClock } from '../host/clock.ts';
import { MachineFacts } from '../host/machine-facts.ts';
import type { Answers, Events, OperationName } from '../operations/answers.ts';
import { openLocalDoor } from '../operations/local-door.ts';
import type { Operation } from '../operations/operation.ts';
import { type JsonObject, parseJson, stringifyJson } from '../values/json.ts';
import type { Edge } from './edge.ts';
import { CommandError, EXIT } from './exit-code.ts';

export interface AgentFlags {
  readonly runFolder?: string | undefined;
  readonly config?: string | undefined;
}

/** Calls to an agent of this release: connecting refuses an agent whose calls differ. */
export interface AgentCalls {
  /** True when an agent answers: only a running one sends anything, and takes changes up by itself. */
  readonly isRunning: boolean;
  ask<Name extends OperationName>(method: Name, params?: JsonObject, options?: AskOptions): Promise<Answers[Name]>;
  /** Calls back with one event after the other until the stream ends, or the signal aborts. */
  subscribe<Name extends keyof Events>(
    method: Name,
    params: JsonObject,
    onEvent: (event: Events[Name]) => void | Promise<void>,
    signal: AbortSignal,
  ): Promise<void>;
  close(): Promise<void>;
}

interface AskOptions {
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
}

/** Operations on the files where no agent runs; those that change them keep one from starting while they are open. */
export interface AgentFiles {
  readonly operations: readonly Operation[];
  close(): Promise<void>;
}

/** @throws CommandError with exit code 69 or 77; without `openFiles` where no agent runs, too. */
export async function reachAgent(
  flags: AgentFlags,
  edge: Edge,
  openFiles?: (configFile: string, edge: Edge) => Promise<AgentFiles>,
): Promise<AgentCalls> {
  const folder = flags.runFolder ?? (await namedFolders(flags.config, edge.environment)).runFolder;
  try {
    return overSocket(await ControlClient.connect({ folder, interrupted: edge.signal }));
  } catch (error) {
    if (hasCode(error, 'control-socket/no-permission'))
      throw new CommandError(error.message, { exitCode: EXIT.noPermission });
    if (!hasCode(error, 'control-socket/not-running')) throw error;
    if (openFiles !== undefined)
      return overFiles(await openFiles(flags.config ?? DEFAULT_CONFIG_FILE, edge), edge.signal);
    throw notRunning(folder, await stoppedService(flags, edge.signal), error);
  }
}

/** Returns the error of a command that finds no agent, with the next step. */
export function notRunning(folder: string, stopped: StoppedUnit | undefined, cause: unknown): CommandError {
  const reason = stopped === undefined ? '' : `: ${stopped.reason}`;
  const nextStep = stopped?.remedy ?? 'start it (sudo systemctl start turnstone), or name its --run-folder';
  return new CommandError(`no agent answers in ${folder}${reason}`, { exitCode: EXIT.notRunning, nextStep, cause });
}

/** Words of systemd on the installed service; undefined for an agent of another folder, and where systemd does not answer. */
async function stoppedService(flags: AgentFlags, signal: AbortSignal): Promise<StoppedUnit | undefined> {
  if (flags.runFolder !== undefined || flags.config !== undefined) return undefined;
  const unit = await new MachineFacts({ clock: systemClock }).unit(UNIT, signal);
  return unit === undefined ? undefined : stoppedUnit(unit);
}

/** One answer of the agent in a run folder. @throws AgentError as `ControlClient`. */
export async function askAgent<Name extends OperationName>(folder: string, method: Name): Promise<Answers[Name]> {
  const agent = overSocket(await ControlClient.connect({ folder }));
  return agent.ask(method).finally(agent.close);
}

/** UTC epoch ms by what the agent believes, which may be the platform's dates where this machine's clock is wrong. */
export async function agentWallMs(agent: AgentCalls): Promise<number> {
  const status = agent.isRunning ? await agent.ask('getStatus') : undefined;
  return status?.wallMs ?? systemClock.wallMs();
}

function overSocket(client: ControlClient): AgentCalls {
  return {
    isRunning: true,
    ask: async (method, params, options) => (await client.request(method, params, options)) as never,
    subscribe: async (method, params, onEvent, signal) => {
      let taking: Promise<void> = Promise.resolve();
      await client.subscribe(method, params, (event) => (taking = taking.then(() => onEvent(event as never))), signal);
      await taking;
    },
    close: () => client.close(),
  };
}

function overFiles({ operations, close }: AgentFiles, interrupted: AbortSignal): AgentCalls {
  const door = openLocalDoor('site', { operations, locked: () => false, tell: () => {} });
  return {
    isRunning: false,
    ask: async (method, params = {}, { deadlineMs } = {}) => {
      const signal =
        deadlineMs === undefined ? interrupted : AbortSignal.any([interrupted, AbortSignal.timeout(deadlineMs)]);
      return (await door.ask(method, asSent(params), signal)) as never;
    },
    subscribe: async (method, params, onEvent, signal) => {
      await door.ask(method, asSent(params), signal, async (event) => onEvent(event as never));
    },
    close,
  };
}

/** Returns the params as the socket carries them: undefined members are missing. */
function asSent(params: JsonObject): JsonObject {
  return parseJson(stringifyJson(params)) as JsonObject;
}
