/** The sensors of the running agent, and a reading of one: by the agent, or by its driver, opened for it where no agent holds the bus. */

import { sentReading } from '../config/keys/sent-reading.ts';
import { loadConfig } from '../config/read-config.ts';
import type { AgentConfig, SensorConfig } from '../config/schema/agent-config.ts';
import { retryable } from '../errors/agent-error.ts';
import { withinDeadline } from '../hardware/deadline.ts';
import { openPorts } from '../hardware/open-ports.ts';
import { withinMs } from '../host/bounded-wait.ts';
import { systemClock } from '../host/clock.ts';
import { systemFiles } from '../host/files.ts';
import { actAsOwnerOf } from '../host/folder-owner.ts';
import { HostMetrics, type HostMetricsOptions } from '../host/host-metrics.ts';
import { silentLog } from '../host/log.ts';
import { runProgram } from '../host/run-program.ts';
import { printable } from '../names/printable.ts';
import { operationsOf } from '../operations/operation-table.ts';
import type { Reading, Sensor } from '../sensors/kind/sensor.ts';
import type { AgentStatus } from '../status/shape/agent-status.ts';
import type { AgentFiles } from './agent-calls.ts';
import type { Call } from './command.ts';
import type { ReadCall } from './commands/status.ts';
import type { Edge } from './edge.ts';
import { usageError } from './exit-code.ts';
import type { Printer } from './printer.ts';
import { kindText, shortAge, stateText, valueText } from './value-text.ts';

/** The longest time for which somebody waits for a sensor that speaks by itself. */
const MAX_SPEECH_MS = 30_000;

export async function listSensors({ agent, print }: Pick<Call, 'agent' | 'print'>): Promise<void> {
  const status = await (await agent()).ask('getStatus');
  print.result(status.sensors, () => sensorTable(status, print));
}

export async function readSensor({ args, agent, print }: ReadCall): Promise<void> {
  const readings = await (await agent()).ask('readSensor', args);
  if (readings.length === 0)
    throw retryable('sensors/silent', `${args.name} speaks by itself, and no reading has come from it yet`);
  print.result(readings, () =>
    print.table(readings.map(({ key, value, unit }) => [printable(key), valueText(value, unit)])),
  );
}

/** No agent holds the bus: a driver is opened for each reading. */
export async function openSensors(configFile: string, edge: Edge): Promise<AgentFiles> {
  const config = await loadConfig(configFile, { environment: edge.environment });
  return {
    operations: operationsOf({
      sensors: {
        readNow: (name) => readDirectly(sensorNamed(name, config), config, edge),
        asSent: (name, readings) => readings.map((reading) => sentReading(sensorNamed(name, config), reading)),
      },
    }),
    close: async () => {},
  };
}

function sensorTable({ sensors, nowMs }: AgentStatus, print: Printer): string {
  if (sensors.length === 0) return 'no sensor is configured\n';
  const rows = sensors.flatMap((sensor) => {
    const readings = sensor.readings.map(({ key, value, unit, atMs }) => [
      printable(key),
      valueText(value, unit),
      shortAge(nowMs - atMs),
    ]);
    const [first = ['', '', ''], ...others] = readings;
    const head = [sensor.name, kindText(sensor), ...first, stateText(sensor, print.style)];
    return [head, ...others.map((reading) => ['', '', ...reading, ''])];
  });
  return print.table([['SENSOR', 'KIND', 'KEY', 'VALUE', 'AGE', 'STATE'], ...rows]);
}

async function readDirectly(sensorConfig: SensorConfig, config: AgentConfig, edge: Edge): Promise<readonly Reading[]> {
  const readings = await readOnce(sensorConfig, config, edge, {
    before: () => actAsOwnerOf(config.stateFolder),
    speechMs: Math.min(sensorConfig.periodMs + sensorConfig.deadlineMs, MAX_SPEECH_MS),
  });
  const { SensorConversion } = await import('../sensors/conversion/sensor-conversion.ts');
  const { conversionsOf } = await import('../sensors/create-sensor.ts');
  const conversion = new SensorConversion(conversionsOf(sensorConfig.keys), systemClock);
  const converted = conversion.convertSome(readings);
  for (const { key, fault } of conversion.refusedBeside()) tellRefused(key, fault, edge);
  return converted;
}

interface ReadOnce {
  /** Done once the ports are there. */
  readonly before?: () => Promise<void>;
  /** Time for a sensor that speaks by itself to say something. */
  readonly speechMs?: number;
}

/** Opens a sensor's driver for one reading, and closes it; within its deadline, and the time for its speech. */
export async function readOnce(
  sensorConfig: SensorConfig,
  config: Pick<AgentConfig, 'hardware' | 'stateFolder' | 'brokers'>,
  edge: Pick<Edge, 'stderr' | 'signal'>,
  { before = async () => {}, speechMs = 0 }: ReadOnce = {},
): Promise<readonly Reading[]> {
  const { createSensor } = await import('../sensors/create-sensor.ts');
  const { hardware, stateFolder } = config;
  const ports = openPorts({ clock: systemClock, hardware });
  // Words and prints of a user's own driver are for the person who tries it.
  const info = (fields: { readonly said?: string }, message: string): void => {
    if (fields.said !== undefined) edge.stderr.write(`turnstone: ${message}: ${printable(fields.said)}\n`);
  };
  const deps = {
    ports,
    clock: systemClock,
    files: systemFiles,
    runProgram,
    log: { ...silentLog, info },
    stateFolder,
    brokerOf: async (name: string) => (await import('../sensors/mqtt/brokers.ts')).brokersOf(config)(name),
    openHostMetrics: (options: HostMetricsOptions) => new HostMetrics(options),
  };
  const what = `sensor ${sensorConfig.name}`;
  const read = async (signal: AbortSignal): Promise<readonly Reading[]> => {
    await before();
    const sensor = await withinDeadline(createSensor(sensorConfig, deps, signal), what, signal);
    const known = await withinDeadline(sensor.read(signal), what, signal);
    const isAwaited = known.length === 0 && speechMs > 0;
    const readings = isAwaited ? await firstSpoken(sensor, speechMs, edge.signal) : known;
    for (const { key, fault } of sensor.refused?.() ?? []) tellRefused(key, fault, edge);
    await withinDeadline(sensor.close(), what, signal).catch(() => {});
    return readings;
  };
  // A timer of ours, as one of AbortSignal's keeps no process alive: a driver that never answers would end it.
  return withinMs(systemClock, sensorConfig.deadlineMs + speechMs, read, edge.signal).finally(() => ports.close());
}

/** Resolves with the first readings that a sensor gives by itself, or with none when none come in time. */
async function firstSpoken(sensor: Sensor, ms: number, signal: AbortSignal): Promise<readonly Reading[]> {
  const { promise, resolve } = Promise.withResolvers<readonly Reading[]>();
  const end = sensor.subscribe?.((readings) => {
    if (readings.length > 0) resolve(readings);
  });
  const over = (): void => resolve([]);
  const cancel = systemClock.after(ms, over);
  signal.addEventListener('abort', over, { once: true });
  try {
    return await promise;
  } finally {
    end?.();
    cancel();
    signal.removeEventListener('abort', over);
  }
}

function tellRefused(key: string, { message }: Error, { stderr }: Pick<Edge, 'stderr'>): void {
  stderr.write(`turnstone: no ${printable(key)}: ${printable(message)}\n`);
}

function sensorNamed(name: string, { sensors }: AgentConfig) {
  const found = sensors.find((sensor) => sensor.name === name);
  if (found !== undefined) return found;
  const names = sensors.map((sensor) => sensor.name).join(', ') || 'none';
  throw usageError(`there is no sensor ${name}`, { nextStep: `the configuration has ${names}` });
}
