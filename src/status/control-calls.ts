/** Calls of the command line to the agent as a whole: its status, its faults, its log level, its memory. */
import type { SensorConfig } from '../config/schema/agent-config.ts';
import type { ControlCalls } from '../control-socket/control-connection.ts';
import { jsonOf } from '../host/json.ts';
import { type AgentLog, LOG_LEVELS } from '../host/log.ts';
import { badRequest } from '../host/request-params.ts';
import type { AskedForStatus } from '../operations/status-operations.ts';
import { sentSensors } from './status-of.ts';
import type { StatusPublisher } from './status-publisher.ts';

export interface StatusCallsDeps extends AskedForStatus {
  readonly page: Pick<StatusPublisher, 'url'>;
  readonly log: AgentLog;
  /** Sensors as they are configured now. */
  readonly sensors: () => readonly SensorConfig[];
}

export function statusCalls({ status, diagnose, page, log, sensors }: StatusCallsDeps): ControlCalls {
  return {
    readMethods: {
      getStatus: () => {
        const now = status();
        return jsonOf({ ...now, sensors: sentSensors(now.sensors, sensors()) });
      },
      statusPage: () => ({ url: page.url ?? null }),
      memory: ({ collect }) => {
        // Only where Node was started with --expose-gc, as the benchmarks do.
        if (collect === true) globalThis.gc?.();
        return { ...process.memoryUsage() };
      },
    },
    methods: {
      diagnose: (_params, signal) => diagnose(signal),
      setLogLevel: (params) => {
        const level = LOG_LEVELS.find((one) => one === params.level);
        if (level === undefined) throw badRequest(`level is one of ${LOG_LEVELS.join(', ')}`);
        log.level = level;
        return { level };
      },
    },
  };
}
