/** The methods every agent has, as data: what they are called, what they take, and which part of the agent does the work. */
import { isJsonObject, type JsonObject, type JsonValue } from '../host/json.ts';
import type { ValueShape } from '../host/value-shape.ts';
import type { Reading } from '../sensors/sensor.ts';
import type { RpcMethod } from './rpc-method.ts';

/** What the agent hands across; each returns what the reply shows. */
export interface BuiltInWork {
  readonly getStatus: (signal: AbortSignal) => Promise<JsonObject> | JsonObject;
  /** @throws AgentError when there is no such sensor, or it does not answer. */
  readonly readSensor: (name: string, signal: AbortSignal) => Promise<readonly Reading[]>;
  readonly outboxStatus: (signal: AbortSignal) => Promise<JsonObject> | JsonObject;
  readonly setLogLevel: (level: string) => void;
  /** Begins an orderly end of the process, which systemd starts again. */
  readonly restart: () => void;
  readonly reboot: () => void;
  readonly diagnose: (signal: AbortSignal) => Promise<JsonObject> | JsonObject;
}

const NOTHING: ValueShape = { description: 'nothing' };
const READ_DEADLINE_MS = 8_000;

export function builtInMethods(work: BuiltInWork): readonly RpcMethod[] {
  return [
    {
      ...read('getStatus', 'How the agent is: version, uptime, links, counts.'),
      run: (_params, { signal }) => work.getStatus(signal),
    },
    {
      ...read('readSensor', 'Reads a sensor once, now.'),
      params: {
        type: 'object',
        properties: { name: { type: 'string', maxLength: 64, description: 'the sensor, as the configuration calls it' } },
        required: ['name'],
        additionalProperties: false,
      },
      run: async (params, { signal }) => readingsAsJson(await work.readSensor(textOf(params, 'name'), signal)),
    },
    {
      ...read('outboxStatus', 'What waits to be sent, and how much room is left.'),
      run: (_params, { signal }) => work.outboxStatus(signal),
    },
    {
      ...read('diagnose', 'What a technician would look at first: faults, versions, disks, clock, buses.'),
      run: (_params, { signal }) => work.diagnose(signal),
    },
    {
      ...read('setLogLevel', 'Sets how much is logged until the next restart.'),
      effect: 'set',
      params: {
        type: 'object',
        properties: { level: { type: 'string', enum: ['debug', 'info', 'warn', 'error'] } },
        required: ['level'],
        additionalProperties: false,
      },
      run: (params) => {
        work.setLogLevel(textOf(params, 'level'));
        return { level: textOf(params, 'level') };
      },
    },
    { ...endOfProcess('restart', 'Restarts the agent once the reply is sent.'), afterReply: work.restart },
    { ...endOfProcess('reboot', 'Reboots the machine once the reply is sent.'), afterReply: work.reboot },
  ];
}

function read(name: string, description: string): Omit<RpcMethod, 'run'> {
  return { name, description, params: NOTHING, effect: 'read', moves: false, deadlineMs: READ_DEADLINE_MS };
}

/** Safe states move on the way down and up, so lockout holds these back too. */
function endOfProcess(name: string, description: string): RpcMethod {
  return { name, description, params: NOTHING, effect: 'move', moves: true, deadlineMs: READ_DEADLINE_MS, run: () => ({ accepted: true }) };
}

/** Readings as replies show them. */
export function readingsAsJson(readings: readonly Reading[]): JsonValue {
  return readings.map(({ key, value, unit }) => ({ key, value, ...(unit === undefined ? {} : { unit }) }));
}

function textOf(params: JsonValue, key: string): string {
  return isJsonObject(params) && Object.hasOwn(params, key) ? String(params[key]) : '';
}
