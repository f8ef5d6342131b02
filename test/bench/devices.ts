/**
 * Costs of many attached devices, against the same readings of few: memory, start, processor, a backlog's way out, the disk when one of them is
 * held for weeks, and delays of the others when some are in trouble.
 *
 *   npm run bench:devices [-- --json] [-- --devices 100] [-- --runs 5] [-- --for 60] [-- --entries 1000000] [-- --days 30] [-- --skip-agent]
 *     [-- --only held|start|memory|drain|load|faults]
 *
 * The agent is the bundle as a process of its own, before a sink, without TLS. `--skip-agent` leaves out what needs one that has `devices:`, and says so;
 * `--devices 0` gives all to the gateway, which every agent can.
 */
import { parseArgs } from 'node:util';
import { buildBundle, ownNativeModules } from '../../scripts/bundle.ts';
import { measureLoad, measureMemory, measureStart } from './devices-bench/agent-figures.ts';
import { Sink } from './devices-bench/agent-run.ts';
import { measureDrain } from './devices-bench/drain.ts';
import { measureFaults } from './devices-bench/faulty-devices.ts';
import { measureHeld } from './devices-bench/held-device.ts';

const { values: flags } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    'skip-agent': { type: 'boolean', default: false },
    devices: { type: 'string', default: '100' },
    runs: { type: 'string', default: '5' },
    for: { type: 'string', default: '60' },
    entries: { type: 'string', default: '1000000' },
    days: { type: 'string', default: '30' },
    only: { type: 'string' },
  },
});
const devices = Number(flags.devices);
/** The least that the same agent can have of them. */
const few = Math.min(1, devices);
/** Sets of keys in a backlog. */
const KEY_SETS = 100;

/** Bounds of the issue that this answers; a figure without one is only told. */
const BOUNDS: Readonly<Record<string, string>> = {
  heldBytesRatio: '<= 1.2',
  privateMbPer100Devices: '<= 6',
  startToFirstUploadRatio: '<= 1.5',
  drainRatioOneDevice: '>= 0.8',
  cpuPercent: '<= 12',
  p99RatioWithFaults: '<= 1.2',
};

type Part = 'held' | 'start' | 'memory' | 'drain' | 'load' | 'faults';
const isAsked = (part: Part): boolean =>
  flags.only === undefined ? part === 'held' || !flags['skip-agent'] : flags.only === part;

const figures: Record<string, number | string> = {};
if (isAsked('held')) Object.assign(figures, await measureHeld(Number(flags.days)));
if (flags['skip-agent']) figures.skipped = 'what needs an agent with devices (--skip-agent)';
else if (flags.only !== 'held') Object.assign(figures, await measureAgent());
if (!flags.json)
  for (const [name, value] of Object.entries(figures))
    console.log(`${name.padEnd(26)}${String(value).padStart(14)}   ${BOUNDS[name] ?? ''}`.trimEnd());
else console.log(JSON.stringify(figures));

async function measureAgent(): Promise<Record<string, number>> {
  await buildBundle(ownNativeModules());
  const sink = await Sink.open();
  const parts: Readonly<Record<Exclude<Part, 'held'>, () => Promise<object>>> = {
    start: () => startFigures(sink),
    memory: () => memoryFigures(sink),
    drain: () => drainFigures(sink),
    load: () => loadFigures(sink),
    faults: () => measureFaults(Number(flags.for)),
  };
  try {
    const found = { devices };
    for (const [part, measure] of Object.entries(parts))
      if (isAsked(part as Part)) Object.assign(found, await measure());
    return found;
  } finally {
    sink.close();
  }
}

async function startFigures(sink: Sink): Promise<Record<string, number>> {
  const start = await measureStart(sink, devices, Number(flags.runs));
  const startFew = await measureStart(sink, few, Number(flags.runs));
  return {
    firstUploadMs: rounded(start.firstUploadMs, 0),
    everyDeviceMs: rounded(start.everyDeviceMs, 0),
    startToFirstUploadRatio: rounded(start.firstUploadMs / startFew.firstUploadMs, 2),
  };
}

async function memoryFigures(sink: Sink): Promise<Record<string, number>> {
  const { privateMb, moreMb } = await measureMemory(sink, devices, Number(flags.runs));
  return {
    privateMb: rounded(privateMb, 1),
    privateMbPer100Devices: rounded(moreMb * (devices === 0 ? 1 : 100 / devices), 1),
  };
}

async function drainFigures(sink: Sink): Promise<Record<string, number>> {
  const backlog = { entries: Number(flags.entries), keySets: KEY_SETS };
  const drain = await measureDrain(sink, { ...backlog, devices });
  const drainFew = await measureDrain(sink, { ...backlog, devices: few });
  return {
    drainedPerSecond: rounded(drain.perSecond, 0),
    drainRatioOneDevice: rounded(drain.perSecond / drainFew.perSecond, 2),
    drainCpuSecondsPerMillion: rounded(drain.cpuSecondsPerMillion, 1),
    drainCpuRatioOneDevice: rounded(drainFew.cpuSecondsPerMillion / drain.cpuSecondsPerMillion, 2),
  };
}

async function loadFigures(sink: Sink): Promise<Record<string, number>> {
  const { valuesPerSecond, cpuPercent } = await measureLoad(sink, devices, Number(flags.for));
  return { valuesPerSecond: rounded(valuesPerSecond, 0), cpuPercent: rounded(cpuPercent, 1) };
}

function rounded(value: number, digits: number): number {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}
