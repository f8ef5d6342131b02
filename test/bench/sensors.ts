/**
 * 200 sensors at 1 Hz on the simulated board, which is a process of its own: missed periods, CPU of this process, and memory.
 *
 *   npm run bench:sensors [-- --json] [-- --for 600] [-- --sensors 200] [-- --more]
 *
 * The mix is that of a large gateway: of 20, six are meters by their models, four over TCP and two over ptys, of which four keys are read; four are
 * derived of such; the rest are contacts, small thermometers, BME280s, converters, one-wire, and single registers. What is measured is the sampler with
 * real drivers over the board's ports; a read that was due and did not come is missed, whether the sampler counted it or not.
 *
 * With `--more` the same mix is measured three times, in the middle with 20 topics of Debian's mosquitto at 1 Hz, ten channels of kernel chips and two
 * programs that print a line each second; `cpuOverMix` is the time of the processor over the mean of those without them. The broker and who publishes
 * run all the time: what else the machine does makes each call of the kernel dearer.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { boardForConfig } from '../../src/cli/board-for-config.ts';
import { loadConfig } from '../../src/config/read-config.ts';
import { boardPorts } from '../../src/hardware/board-client.ts';
import { LinuxMqtt } from '../../src/hardware/linux-mqtt.ts';
import { systemClock } from '../../src/host/clock.ts';
import { systemFiles } from '../../src/host/files.ts';
import { silentLog } from '../../src/host/log.ts';
import { loadTwins } from '../../src/kinds/twins.ts';
import { samplerEntry } from '../../src/sensors/create-sensor.ts';
import { MeasuredValues } from '../../src/sensors/measured-values.ts';
import { brokersOf } from '../../src/sensors/mqtt/brokers.ts';
import { Sampler } from '../../src/sensors/sampler.ts';
import { Mosquitto } from '../support/mosquitto.ts';
import { OF_THIS_MACHINE } from '../support/sensor-bench.ts';

const PERIOD_MS = 1_000;
const SETTLE_S = 5;
const TOPICS = 20;
const { values: flags } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    for: { type: 'string', default: '60' },
    sensors: { type: 'string', default: '200' },
    more: { type: 'boolean', default: false },
  },
});
const seconds = Number.parseFloat(flags.for);
const count = Number(flags.sensors);

const TCP_MODELS = ['eastron-sdm630', 'abb-b23', 'carlo-gavazzi-em24', 'siemens-pac2200'] as const;
const PTY_MODELS = ['eastron-sdm230', 'chint-dtsu666'] as const;
/** Keys of a meter that a dashboard shows. */
const ONLY = ['voltageL1', 'currentL1', 'powerTotal', 'energyImport'];
const FORMULAS = [
  'voltageL1 * currentL1',
  'powerTotal / 1000',
  'difference(voltageL1)',
  'integral(powerTotal)',
] as const;

/** One of each in turn; addresses repeat on other buses. */
function sensorNumber(at: number): object {
  const slot = at % 20;
  const group = Math.floor(at / 20);
  const prefix = `g${group}s${slot}.`;
  const kinds: readonly Record<string, unknown>[] = [
    ...TCP_MODELS.map((model, unit) => {
      const connection = { transport: 'tcp', host: `meters${group % 4}.local` };
      return { kind: 'modbus', connection, unitId: 1 + unit + 8 * group, model, only: ONLY };
    }),
    ...PTY_MODELS.map((model, unit) => {
      const connection = { transport: 'rtu', port: `/dev/ttyBENCH${group % 5}`, baudRate: 115_200 };
      return { kind: 'modbus', connection, unitId: 1 + unit + 8 * group, model, only: ONLY };
    }),
    ...FORMULAS.map((formula) => ({
      kind: 'derived',
      values: { made: formula.replace(/(?=(voltage|current|power)[LT])/g, `g${group}s0.`) },
    })),
    ...[0, 1, 2].map((line) => ({
      kind: 'gpio-input',
      line: { chip: `gpiochip${Math.floor(group / 16)}`, offset: (group % 16) * 4 + line },
    })),
    ...[0x48, 0x49].map((address) => ({ kind: 'tmp102', bus: group, address })),
    { kind: 'lm75', bus: group, address: 0x4c },
    { kind: 'bme280', bus: group, address: 0x76 },
    {
      kind: 'ads1115',
      bus: group,
      address: 0x4b,
      samplesPerSecond: 860,
      channels: { [`volts${at}`]: { input: 'A0' } },
    },
    { kind: 'ds18b20', id: `28-${(0x1000 + group).toString(16).padStart(12, '0')}` },
    {
      kind: 'modbus',
      connection: { transport: 'tcp', host: 'meter.local' },
      unitId: 1 + (group % 4),
      registers: { [`power${at}`]: { address: group * 2, type: 'uint32' } },
    },
  ];
  return { name: `s${at}`, period: '1s', prefix, ...kinds[slot] };
}

/** Twenty topics, ten channels, two programs. */
function moreSensors(): readonly object[] {
  const channels = Object.fromEntries(Array.from({ length: 5 }, (_, at) => [`voltage${at}`, `volts${at}`]));
  const line = 'while sleep 1; do echo "{\\"load\\": 1}"; done';
  return [
    ...Array.from({ length: TOPICS }, (_, at) => ({
      name: `m${at}`,
      kind: 'mqtt',
      broker: 'house',
      topic: `bench/${at}`,
      period: '10s',
      prefix: `m${at}.`,
      paths: { temperature: 'temperature', humidity: 'humidity' },
    })),
    ...['1-0048', '1-0049'].map((at, number) => ({
      name: `k${number}`,
      kind: 'iio',
      chip: 'ads1015',
      at,
      period: '1s',
      prefix: `k${number}.`,
      channels,
    })),
    ...[1, 2].map((number) => ({
      name: `p${number}`,
      kind: 'process',
      program: '/bin/sh',
      arguments: ['-c', line, `bench-${number}`],
      period: '10s',
      prefix: `p${number}.`,
    })),
  ];
}

if (flags.more) {
  const broker = await Mosquitto.open();
  await broker.start();
  const publisher = spawn(
    process.execPath,
    [join(import.meta.dirname, 'mqtt-publisher.ts'), broker.url, String(TOPICS)],
    { stdio: 'inherit' },
  );
  try {
    const before = await bench([]);
    const { cpuPercent, ...more } = await bench(moreSensors(), broker.url);
    const after = await bench([]);
    const mixPercent = rounded((before.cpuPercent + after.cpuPercent) / 2, 1);
    report({ ...more, cpuPercent, mixPercent, cpuOverMix: rounded(cpuPercent / mixPercent, 2) });
  } finally {
    publisher.kill();
    await broker.remove();
  }
} else {
  report(await bench([]));
}

async function bench(more: readonly object[], broker?: string): Promise<Figures> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-sensors-'));
  const file = join(folder, 'turnstone.yaml');
  const written = {
    version: 1,
    platform: { url: 'https://iot.example.org', accessToken: 'bench' },
    ...(broker === undefined ? {} : { brokers: [{ name: 'house', url: broker }] }),
    sensors: [...Array.from({ length: count }, (_, at) => sensorNumber(at)), ...more],
  };
  await writeFile(file, JSON.stringify(written), { mode: 0o600 });
  const config = await loadConfig(file, { environment: {} });
  const { sensors } = config;
  const fitted = boardForConfig(config, await loadTwins());
  const withPtys = { ...fitted, serial: fitted.serial?.map((port) => ({ ...port, pty: true })) };
  await writeFile(join(folder, 'board.json'), JSON.stringify(withPtys));
  const socket = join(folder, 'board.sock');
  const main = resolve(import.meta.dirname, '../../src/main.ts');
  const board = spawn(process.execPath, [main, 'board', '--socket', socket, '--config', join(folder, 'board.json')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(board.stdout, 'data');
  const simulated = boardPorts({ clock: systemClock, socketPath: socket });
  const mqtt = new LinuxMqtt({ clock: systemClock });
  const ports = broker === undefined ? simulated : { ...simulated, mqtt };
  const values = new MeasuredValues(() => sensors);
  const deps = {
    ...OF_THIS_MACHINE,
    values,
    ports,
    clock: systemClock,
    files: systemFiles,
    log: silentLog,
    stateFolder: folder,
  };
  const taken = new Map<string, number>();
  const sampler = new Sampler(
    {
      clock: systemClock,
      log: silentLog,
      onSamples: (samples) => {
        for (const { sensor } of samples) taken.set(sensor, (taken.get(sensor) ?? 0) + 1);
        values.recordSamples(samples);
      },
      onStateChange: (state) => values.recordState(state),
    },
    sensors.map((sensor) => samplerEntry(sensor, { ...deps, brokerOf: brokersOf(config) })),
  );
  try {
    sampler.start(new AbortController().signal);
    await systemClock.sleep(SETTLE_S * 1_000, new AbortController().signal);
    return await measure(sampler, taken);
  } finally {
    await sampler.close();
    await Promise.all([simulated.close(), mqtt.close()]);
    board.kill();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Figures {
  readonly sensors: number;
  readonly seconds: number;
  readonly samples: number;
  readonly missedPercent: number;
  readonly cpuPercent: number;
  readonly growthMb: number;
  readonly failing: number;
  readonly refused: number;
  readonly mixPercent?: number;
  readonly cpuOverMix?: number;
}

async function measure(sampler: Sampler, taken: Map<string, number>): Promise<Figures> {
  const reads = new Map(sampler.states().map(({ name, reads: before }) => [name, before]));
  taken.clear();
  const memoryBefore = await privateMb();
  const cpuBefore = process.cpuUsage();
  const startedMs = systemClock.monotonicMs();
  await systemClock.sleep(seconds * 1_000, new AbortController().signal);
  const elapsedMs = systemClock.monotonicMs() - startedMs;
  const { user, system } = process.cpuUsage(cpuBefore);
  const states = sampler.states();
  const asked = states.filter(({ name }) => !/^[mp]/.test(name));
  const speaking = states.filter(({ name }) => /^[mp]/.test(name));
  const readsDone = asked.reduce((sum, { name, reads: now }) => sum + now - (reads.get(name) ?? 0), 0);
  // A message of a topic has two values, a line one.
  const heard = speaking.reduce((sum, { name }) => sum + (taken.get(name) ?? 0) / (name.startsWith('m') ? 2 : 1), 0);
  const perSensor = Math.floor(elapsedMs / PERIOD_MS);
  // What speaks by itself has a second of its own: one message may lie on either side of the end.
  const due = perSensor * asked.length + (perSensor - 1) * speaking.length;
  const missed =
    Math.max(0, perSensor * asked.length - readsDone) + Math.max(0, (perSensor - 1) * speaking.length - heard);
  return {
    sensors: states.length,
    seconds: Math.round(elapsedMs / 1_000),
    samples: [...taken.values()].reduce((sum, each) => sum + each, 0),
    missedPercent: rounded((100 * missed) / due, 2),
    cpuPercent: rounded((user + system) / 10 / elapsedMs, 1),
    growthMb: rounded((await privateMb()) - memoryBefore, 1),
    failing: states.filter(({ state }) => state !== 'working').length,
    refused: states.filter(({ refused }) => refused.length > 0).length,
  };
}

/** Returns the memory of this process alone, after a forced collection. */
async function privateMb(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let at = 0; at < 3; at += 1) collect();
  const kilobytes = [
    ...(await readFile('/proc/self/smaps_rollup', 'utf8')).matchAll(/^Private_\w+:\s+(\d+) kB/gm),
  ].reduce((sum, [, kb]) => sum + Number(kb), 0);
  return kilobytes / 1024;
}

function report(figures: Figures): void {
  if (flags.json) process.stdout.write(`${JSON.stringify(figures)}\n`);
  else for (const [name, value] of Object.entries(figures)) process.stdout.write(`${name.padEnd(14)} ${value}\n`);
}

function rounded(value: number, digits: number): number {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}
