/** What can be asked of the running agent on its two local sockets: looking is for everyone, changing for the service's group. */

import type { ControlMethod, ControlStream } from '../control-socket/control-connection.ts';
import { ControlServer } from '../control-socket/control-server.ts';
import { AgentError } from '../errors.ts';
import type { Clock } from '../host/clock.ts';
import type { JsonObject, JsonValue } from '../host/json.ts';
import { type AgentLog, LOG_LEVELS, type LogLevel } from '../host/log.ts';
import type { Sampler } from '../sensors/sampler.ts';
import type { AgentStatus } from '../status/agent-status.ts';

export interface LocalDoorsDeps {
  readonly runFolder: string;
  readonly clock: Clock;
  readonly log: AgentLog;
  readonly status: () => AgentStatus;
  readonly outboxStatus: () => JsonObject;
  readonly sampler: Sampler;
  readonly reload: () => Promise<JsonValue>;
  /** Doors that other parts of the agent add. */
  readonly methods?: Readonly<Record<string, ControlMethod>>;
  readonly readMethods?: Readonly<Record<string, ControlMethod>>;
  readonly readStreams?: Readonly<Record<string, ControlStream>>;
}

export async function openDoors(deps: LocalDoorsDeps, signal: AbortSignal): Promise<ControlServer> {
  const { runFolder, clock, log } = deps;
  return ControlServer.open(
    {
      folder: runFolder,
      clock,
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
