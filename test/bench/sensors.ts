/**
 * 200 sensors at 1 Hz on the simulated board, which is a process of its own: missed periods, CPU of this process, and memory.
 *
 *   npm run bench:sensors [-- --json] [-- --for 600] [-- --sensors 200]
 *
 * The mix is that of a large gateway: of 20, six are meters by their models, four over TCP and two over ptys, of which four keys are read; four are
 * derived of such; the rest are contacts, small thermometers, BME280s, converters, one-wire, and single registers. What is measured is the sampler with
 * real drivers over the board's ports; a read that was due and did not come is missed, whether the sampler counted it or not.
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
import { systemClock } from '../../src/host/clock.ts';
import { systemFiles } from '../../src/host/files.ts';
import { silentLog } from '../../src/host/log.ts';
import { loadTwins } from '../../src/kinds/twins.ts';
import { samplerEntry } from '../../src/sensors/create-sensor.ts';
import { MeasuredValues } from '../../src/sensors/measured-values.ts';
import { Sampler } from '../../src/sensors/sampler.ts';
import { OF_THIS_MACHINE } from '../support/sensor-bench.ts';

const PERIOD_MS = 1_000;
const SETTLE_S = 5;
const { values: flags } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    for: { type: 'string', default: '60' },
    sensors: { type: 'string', default: '200' },
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

const folder = await mkdtemp(join(tmpdir(), 'turnstone-sensors-'));
const platform = { url: 'https://iot.example.org', accessToken: 'bench' };
const file = join(folder, 'turnstone.yaml');
const written = { version: 1, platform, sensors: Array.from({ length: count }, (_, at) => sensorNumber(at)) };
await writeFile(file, JSON.stringify(written), { mode: 0o600 });
const config = await loadConfig(file, { environment: {} });
const { sensors } = config;
const fitted = boardForConfig(config, await loadTwins());
const withPtys = { ...fitted, serial: fitted.serial?.map((port) => ({ ...port, pty: true })) };
await writeFile(join(folder, 'board.json'), JSON.stringify(withPtys));
const socket = join(folder, 'board.sock');
const board = spawn(
  process.execPath,
  [
    resolve(import.meta.dirname, '../../src/main.ts'),
    'board',
    '--socket',
    socket,
    '--config',
    join(folder, 'board.json'),
  ],
  { stdio: ['ignore', 'pipe', 'inherit'] },
);
await once(board.stdout, 'data');
const ports = boardPorts({ clock: systemClock, socketPath: socket });
let samples = 0;
const reads = new Map<string, number>();
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
const sampler = new Sampler(
  {
    clock: systemClock,
    log: silentLog,
    onSamples: (taken) => {
      samples += taken.length;
      values.recordSamples(taken);
    },
    onStateChange: (state) => values.recordState(state),
  },
  sensors.map((sensor) => samplerEntry(sensor, deps)),
);
try {
  sampler.start(new AbortController().signal);
  await systemClock.sleep(SETTLE_S * 1_000, new AbortController().signal);
  report(await measure());
} finally {
  await sampler.close();
  await ports.close();
  board.kill();
  await rm(folder, { recursive: true, force: true });
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
}

async function measure(): Promise<Figures> {
  for (const { name, reads: before } of sampler.states()) reads.set(name, before);
  samples = 0;
  const memoryBefore = await privateMb();
  const cpuBefore = process.cpuUsage();
  const startedMs = systemClock.monotonicMs();
  await systemClock.sleep(seconds * 1_000, new AbortController().signal);
  const elapsedMs = systemClock.monotonicMs() - startedMs;
  const { user, system } = process.cpuUsage(cpuBefore);
  const states = sampler.states();
  const done = states.reduce((sum, { name, reads: now }) => sum + now - (reads.get(name) ?? 0), 0);
  const due = Math.floor(elapsedMs / PERIOD_MS) * count;
  return {
    sensors: count,
    seconds: Math.round(elapsedMs / 1_000),
    samples,
    missedPercent: rounded(Math.max(0, (100 * (due - done)) / due), 2),
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
