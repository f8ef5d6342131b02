/** What can be asked of the running agent on its two local sockets: looking is for everyone, changing for the service's group. */

import type { ControlMethod, ControlStream } from '../control-socket/control-connection.ts';
import { AgentError, hasCode, messageOf } from '../errors.ts';
import type { JsonObject, JsonValue } from '../host/json.ts';
import { type AgentLog, LOG_LEVELS, type LogLevel } from '../host/log.ts';
import type { Sampler } from '../sensors/sampler.ts';
import type { AgentStatus } from '../status/agent-status.ts';
import type { AlertList } from './alert-list.ts';
import type { Held, Machine } from './machine.ts';

export interface LocalDoorsDeps {
  readonly runFolder: string;
  readonly machine: Pick<Machine, 'clock' | 'files' | 'listen'>;
  readonly log: AgentLog;
  readonly alerts: AlertList;
  readonly status: () => AgentStatus;
  readonly outboxStatus: () => JsonObject;
  readonly sampler: Sampler;
  readonly reload: () => Promise<JsonValue>;
  /** Doors that other parts of the agent add. */
  readonly methods?: Readonly<Record<string, ControlMethod>>;
  readonly readMethods?: Readonly<Record<string, ControlMethod>>;
  readonly readStreams?: Readonly<Record<string, ControlStream>>;
}

const ALERT = 'control-socket';
const LISTEN_AGAIN_MS = 30_000;

/** A run folder that is full or cannot be written is no reason not to measure: the sockets come when it can. @throws AgentError (stop). */
export async function openDoors(deps: LocalDoorsDeps, signal: AbortSignal): Promise<Held> {
  const { machine, alerts } = deps;
  let held: Held | undefined;
  let cancelTry = (): void => {};
  let isClosed = false;
  const open = async (): Promise<void> => {
    try {
      const opened = await listen(deps, signal);
      alerts.clear(ALERT);
      held = opened;
      if (isClosed) await opened.close();
    } catch (error) {
      if (!hasCode(error, 'control-socket/cannot-listen')) throw error;
      alerts.raise(ALERT, `commands on this machine do not reach the agent: ${messageOf(error)}`);
      if (!isClosed) cancelTry = machine.clock.after(LISTEN_AGAIN_MS, () => void open().catch(() => {}));
    }
  };
  await open();
  return {
    close: async () => {
      isClosed = true;
      cancelTry();
      await held?.close();
    },
  };
}

function listen(deps: LocalDoorsDeps, signal: AbortSignal): Promise<Held> {
  const { runFolder, machine, log } = deps;
  return machine.listen(
    {
      folder: runFolder,
      clock: machine.clock,
      files: machine.files,
      log,
      readMethods: {
        getStatus: () => deps.status() as unknown as JsonObject,
        outboxStatus: () => deps.outboxStatus(),
        memory: (params) => memory(params.collect === true),
        ...deps.readMethods,
      },
      readStreams: deps.readStreams ?? {},
      methods: {
        reload: () => deps.reload(),
        readSensor: async (params, callSignal) => (await deps.sampler.readNow(text(params, 'name'), callSignal)) as unknown as JsonValue,
        setLogLevel: (params) => {
          log.level = logLevel(params);
          return { level: log.level };
        },
        ...deps.methods,
      },
    },
    signal,
  );
}

/** A collection can be forced only where Node was started with --expose-gc, as the benchmarks do. */
function memory(collect: boolean): JsonObject {
  if (collect) globalThis.gc?.();
  return { ...process.memoryUsage() };
}

function text(params: JsonObject, name: string): string {
  const value = params[name];
  if (typeof value !== 'string') throw new AgentError('agent/bad-request', `${name} is needed, as text`, { recovery: 'drop' });
  return value;
}

function logLevel(params: JsonObject): LogLevel {
  const level = LOG_LEVELS.find((one) => one === params.level);
  if (level === undefined) throw new AgentError('agent/bad-request', `level is one of ${LOG_LEVELS.join(', ')}`, { recovery: 'drop' });
  return level;
}
