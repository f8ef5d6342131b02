/** The sensors of the running agent, and a reading of one: by the agent, or by its driver, opened for it where no agent holds the bus. */

import { loadConfig } from '../config/read-config.ts';
import type { AgentConfig, SensorConfig } from '../config/schema/agent-config.ts';
import { withinDeadline } from '../hardware/deadline.ts';
import { openPorts } from '../hardware/open-ports.ts';
import { withinMs } from '../host/bounded-wait.ts';
import { systemClock } from '../host/clock.ts';
import { systemFiles } from '../host/files.ts';
import { actAsOwnerOf } from '../host/folder-owner.ts';
import { HostMetrics, type HostMetricsOptions } from '../host/host-metrics.ts';
import { jsonOf } from '../host/json.ts';
import { silentLog } from '../host/log.ts';
import { runProgram } from '../host/run-program.ts';
import type { AgentStatus, SensorStatus } from '../status/shape/agent-status.ts';
import type { AgentFiles } from './agent-calls.ts';
import type { Call } from './command.ts';
import type { ReadCall } from './commands/status.ts';
import type { Edge } from './edge.ts';
import { usageError } from './exit-code.ts';
import { type Printer, printable } from './printer.ts';
import { kindText, shortAge, stateText, valueText } from './value-text.ts';

/** One value of a reading, as the agent and a driver both give it. */
type ShownReading = Omit<SensorStatus['readings'][number], 'atMs'>;

export async function listSensors({ agent, print }: Pick<Call, 'agent' | 'print'>): Promise<void> {
  const status = await (await agent()).ask<AgentStatus>('getStatus');
  print.result(status.sensors, () => sensorTable(status, print));
}

export async function readSensor({ args, agent, print }: ReadCall): Promise<void> {
  const readings = await (await agent()).ask<readonly ShownReading[]>('readSensor', args);
  print.result(readings, () =>
    print.table(readings.map(({ key, value, unit }) => [printable(key), valueText(value, unit)])),
  );
}

/** No agent holds the bus: a driver is opened for each reading. */
export async function openSensors(configFile: string, edge: Edge): Promise<AgentFiles> {
  const config = await loadConfig(configFile, { environment: edge.environment });
  return {
    readMethods: { readSensor: async ({ name }) => jsonOf(await readDirectly(String(name), config, edge)) },
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

async function readDirectly(name: string, config: AgentConfig, edge: Edge): Promise<readonly ShownReading[]> {
  return readOnce(sensorNamed(name, config), config, edge, () => actAsOwnerOf(config.stateFolder));
}

/** Opens a sensor's driver for one reading, and closes it; within its deadline. `before` is done once the ports are there. */
export async function readOnce(
  sensorConfig: SensorConfig,
  { hardware, stateFolder }: Pick<AgentConfig, 'hardware' | 'stateFolder'>,
  edge: Pick<Edge, 'stderr' | 'signal'>,
  before = async (): Promise<void> => {},
): Promise<readonly ShownReading[]> {
  const { createSensor } = await import('../sensors/create-sensor.ts');
  const ports = openPorts({ clock: systemClock, hardware });
  // Words and prints of a user's own driver are for the person who tries it.
  const info = (fields: { readonly said?: string }, message: string): void => {
    if (fields.said !== undefined) edge.stderr.write(`turnstone: ${message}: ${printable(fields.said)}\n`);
  };
  const deps = {
    ...{ ports, clock: systemClock, files: systemFiles, runProgram, log: { ...silentLog, info }, stateFolder },
    openHostMetrics: (options: HostMetricsOptions) => new HostMetrics(options),
  };
  const what = `sensor ${sensorConfig.name}`;
  const read = async (signal: AbortSignal): Promise<readonly ShownReading[]> => {
    await before();
    const sensor = await withinDeadline(createSensor(sensorConfig, deps, signal), what, signal);
    const readings = await withinDeadline(sensor.read(signal), what, signal);
    for (const { key, fault } of sensor.refused?.() ?? [])
      edge.stderr.write(`turnstone: no ${printable(key)}: ${printable(fault.message)}\n`);
    await withinDeadline(sensor.close(), what, signal).catch(() => {});
    return readings;
  };
  // A timer of ours, as one of AbortSignal's keeps no process alive: a driver that never answers would end it.
  return withinMs(systemClock, sensorConfig.deadlineMs, read, edge.signal).finally(() => ports.close());
}

function sensorNamed(name: string, { sensors }: AgentConfig) {
  const found = sensors.find((sensor) => sensor.name === name);
  if (found !== undefined) return found;
  const names = sensors.map((sensor) => sensor.name).join(', ') || 'none';
  throw usageError(`there is no sensor ${name}`, { nextStep: `the configuration has ${names}` });
}
