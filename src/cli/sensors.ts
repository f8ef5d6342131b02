/** `turnstone sensors`: which sensors there are and what they show; `read NAME` reads one now. */

import type { Command } from 'commander';
import type { AgentConfig } from '../config/agent-config.ts';
import { DEFAULT_CONFIG_FILE } from '../config/peek-folders.ts';
import { loadConfig } from '../config/read-config.ts';
import { withinDeadline } from '../hardware/deadline.ts';
import { openPorts } from '../hardware/open-ports.ts';
import { systemClock } from '../host/clock.ts';
import { systemFiles } from '../host/files.ts';
import { actAsOwnerOf } from '../host/folder-owner.ts';
import { HostMetrics, type HostMetricsOptions } from '../host/host-metrics.ts';
import { type JsonValue, stringifyJson } from '../host/json.ts';
import { silentLog } from '../host/log.ts';
import { runProgram } from '../host/run-program.ts';
import type { AgentStatus, SensorStatus } from '../status/agent-status.ts';
import { type AgentFlags, addAgentOptions, connectAgent } from './agent-connection.ts';
import type { Edge } from './edge.ts';
import { CommandError, EXIT } from './exit-code.ts';
import { printable, styleFor } from './style.ts';
import { columns } from './table.ts';
import { shortAge, valueText } from './value-text.ts';

type SensorFlags = AgentFlags & { readonly json?: boolean };

/** One value of a reading, as the agent and a driver both give it. */
interface ShownReading {
  readonly key: string;
  readonly value: JsonValue;
  readonly unit?: string;
}

const EXAMPLES = `
Examples:
  $ turnstone sensors
  $ turnstone sensors read roof
  $ turnstone sensors read roof --config gateway.yaml --json

A running agent is asked; when none runs, "read" opens the sensor itself.`;
const READ_EXAMPLES = `
Examples:
  $ turnstone sensors read roof
  $ turnstone sensors read roof --json`;

export function addSensorsCommand(program: Command, edge: Edge): void {
  const sensors = program.command('sensors').description('list the sensors of the running agent, or read one now');
  addAgentOptions(sensors)
    .option('--json', 'print as JSON')
    .addHelpText('after', EXAMPLES)
    .action((flags: SensorFlags) => list(flags, edge));
  addAgentOptions(sensors.command('read').description('read one sensor now').argument('<name>', 'its name in the configuration'))
    .option('--json', 'print as JSON')
    .addHelpText('after', READ_EXAMPLES)
    .action((name: string, _flags: SensorFlags, command: Command) => read(name, command.optsWithGlobals<SensorFlags>(), edge));
}

async function list(flags: SensorFlags, edge: Edge): Promise<void> {
  const agent = await connectAgent(flags, edge);
  const status = (await agent.request('getStatus').finally(() => agent.close())) as unknown as AgentStatus;
  if (flags.json === true) edge.stdout.write(`${stringifyJson(status.sensors as unknown as JsonValue)}\n`);
  else edge.stdout.write(sensorTable(status, edge));
}

function sensorTable({ sensors, nowMs }: AgentStatus, edge: Edge): string {
  const { red, green, dim } = styleFor(edge.stdout, edge.environment);
  if (sensors.length === 0) return 'no sensor is configured\n';
  const paint: Readonly<Record<SensorStatus['state'], (text: string) => string>> = { ok: green, failing: red, starting: dim };
  const rows = sensors.flatMap(({ name, kind, state, fault, readings }) => {
    const said = `${paint[state](state)}${fault === undefined ? '' : `: ${printable(fault)}`}`;
    const [first, ...others] = readings.map(({ key, value, unit, atMs }) => [
      printable(key),
      valueText(value, unit),
      shortAge(nowMs - atMs),
    ]);
    return [[name, kind, ...(first ?? ['', '', '']), said], ...others.map((reading) => ['', '', ...reading, ''])];
  });
  return columns([['SENSOR', 'KIND', 'KEY', 'VALUE', 'AGE', 'STATE'], ...rows], edge.stdout.columns);
}

async function read(name: string, flags: SensorFlags, edge: Edge): Promise<void> {
  const readings = await readFromAgent(name, flags, edge).catch((error: unknown) => {
    if (error instanceof CommandError && error.exitCode === EXIT.notRunning) return readDirectly(name, flags, edge);
    throw error;
  });
  if (flags.json === true) edge.stdout.write(`${stringifyJson(readings as unknown as JsonValue)}\n`);
  else
    edge.stdout.write(
      columns(
        readings.map(({ key, value, unit }) => [printable(key), valueText(value, unit)]),
        edge.stdout.columns,
      ),
    );
}

async function readFromAgent(name: string, flags: SensorFlags, edge: Edge): Promise<readonly ShownReading[]> {
  const agent = await connectAgent(flags, edge);
  const answer = await agent.request('readSensor', { name }).finally(() => agent.close());
  const readings = Array.isArray(answer) ? answer : ((answer as { readonly readings?: JsonValue } | null)?.readings ?? []);
  return readings as unknown as readonly ShownReading[];
}

/** No agent holds the bus: the driver is opened for this one reading. */
async function readDirectly(name: string, flags: SensorFlags, edge: Edge): Promise<readonly ShownReading[]> {
  const config = await loadConfig(flags.config ?? DEFAULT_CONFIG_FILE, { environment: edge.environment });
  const sensorConfig = sensorNamed(name, config);
  const { createSensor } = await import('../sensors/create-sensor.ts');
  const ports = openPorts({ clock: systemClock, hardware: config.hardware });
  // A timer of ours, as one of AbortSignal's keeps no process alive: a driver that never answers would end it.
  const expired = new AbortController();
  const cancel = systemClock.after(sensorConfig.deadlineMs, () => expired.abort());
  const signal = AbortSignal.any([edge.signal, expired.signal]);
  try {
    await actAsOwnerOf(config.stateFolder);
    const deps = {
      ...{ ports, clock: systemClock, files: systemFiles, runProgram, log: silentLog, stateFolder: config.stateFolder },
      openHostMetrics: (options: HostMetricsOptions) => new HostMetrics(options),
    };
    const what = `sensor ${name}`;
    const sensor = await withinDeadline(createSensor(sensorConfig, deps, signal), what, signal);
    const readings = await withinDeadline(sensor.read(signal), what, signal);
    for (const { key, fault } of sensor.refused?.() ?? [])
      edge.stderr.write(`turnstone: no ${printable(key)}: ${printable(fault.message)}\n`);
    await withinDeadline(sensor.close(), what, signal).catch(() => {});
    return readings;
  } finally {
    cancel();
    await ports.close();
  }
}

function sensorNamed(name: string, { sensors }: AgentConfig) {
  const found = sensors.find((sensor) => sensor.name === name);
  if (found !== undefined) return found;
  throw new CommandError(`there is no sensor ${name}`, {
    exitCode: EXIT.usage,
    nextStep: `the configuration has ${sensors.map((sensor) => sensor.name).join(', ') || 'none'}`,
  });
}
